import torch


def train(model, loader, keep):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(loader):
        opt.zero_grad(set_to_none=False)  # want "opt.zero_grad(set_to_none=False)"
        model.zero_grad(False)  # want
        opt.zero_grad()
        opt.zero_grad(set_to_none=True)
        opt.zero_grad(set_to_none=keep)
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
    opt.zero_grad(set_to_none=False)


def reads(model, loader):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        opt.zero_grad(set_to_none=False)
        for p in model.parameters():
            p.grad.add_(p.data, alpha=0.01)
        model(x.cuda()).mean().backward()
        opt.step()


def accumulates(model, loader, accum):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad(set_to_none=False)  # want
