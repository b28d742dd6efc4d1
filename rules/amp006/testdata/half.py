import torch
import torch.nn as nn


def train(loader, teacher):
    model = nn.Linear(4, 4).cuda().half()  # want "line 11"
    frozen = nn.Linear(4, 4).cuda().half()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        target = frozen(x.cuda())
        with torch.autocast("cuda"):
            loss = (model(x.cuda()) - target).mean()
        loss.backward()
        opt.step()


def separate(loader):
    model = nn.Linear(4, 4).cuda()
    model.half()  # want
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()


def infer(x):
    model = nn.Linear(4, 4).cuda().half()
    with torch.autocast("cuda"):
        return model(x)


def no_amp(loader):
    model = nn.Linear(4, 4).cuda().half()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x.cuda().half()).mean().backward()
        opt.step()
