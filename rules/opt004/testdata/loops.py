import torch


@torch.no_grad()
def update_ema(ema, model, decay):
    for e, p in zip(ema.parameters(), model.parameters()):  # want "e.mul_(decay)"
        e.mul_(decay).add_(p, alpha=1 - decay)


def penalty(model):
    total = 0.0
    for name, p in model.named_parameters():  # want
        total = total + p.pow(2).sum()
    return total


def count(model):
    n = 0
    for p in model.parameters():
        n += p.numel()
    return n


def freeze(model):
    for p in model.parameters():
        p.requires_grad = False
        p.grad = None


def norms(model):
    total = 0.0
    for p in model.parameters():
        total += p.grad.norm().item() ** 2
    return total


def rarely(model):
    for p in model.parameters():
        p.data.clamp_(-1, 1)


def train(model, ema, loader):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(loader):
        loss = model(x.cuda()).mean() + penalty(model)
        loss.backward()
        for p in model.parameters():  # want
            p.grad.data.clamp_(-1, 1)
        opt.step()
        update_ema(ema, model, 0.999)
        count(model)
        freeze(model)
        norms(model)
        if step % 100 == 0:
            rarely(model)
