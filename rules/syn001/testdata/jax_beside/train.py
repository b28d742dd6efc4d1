import torch


def train(model, opt, loader):
    model = model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        loss.item()  # want
