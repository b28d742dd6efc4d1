import torch


def grad_norm(model):
    total = 0.0
    for p in model.parameters():
        if p.grad is not None:
            total += p.grad.norm().item() ** 2  # want "once per parameter"
    return total ** 0.5


def named(model):
    out = {}
    for name, p in model.named_parameters():
        out[name] = float(p.grad.abs().max())  # want
        size = int(p.numel())
        shape = tuple(p.shape)
    return out


def comprehension(model):
    return sum(p.grad.data.norm(2).item() ** 2 for p in model.parameters() if p.grad is not None)  # want


def listed(model):
    parameters = [p for p in model.parameters() if p.grad is not None]
    total = 0
    for p in parameters:
        total += p.grad.detach().data.norm(2).item()  # want
    return total


def good(model):
    grads = [p.grad for p in model.parameters()]
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads))).item()


def rarely(model):
    return [p.grad.norm().item() for p in model.parameters()]


def never(model):
    return [p.grad.norm().item() for p in model.parameters()]


def train(model, loader):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        grad_norm(model)
        named(model)
        comprehension(model)
        listed(model)
        good(model)
        if step % 50 == 0:
            rarely(model)
        opt.step()
        opt.zero_grad()
