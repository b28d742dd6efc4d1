# Another model in every turn: each has to be compiled.
import torch


def compare(sizes, loader):
    for size in sizes:
        model = torch.nn.Linear(size, size).cuda()
        model = torch.compile(model)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()


def again(model, loader, opt):
    for x in loader:
        fast = torch.compile(model)  # want
        fast(x.cuda()).mean().backward()
        opt.step()
