import torch
import torch.nn as nn


def train(model, loader, opt):
    model = model.cuda()
    criterion = nn.CrossEntropyLoss()
    total, kept, parts = 0.0, [], []
    n = 0
    for epoch in range(3):
        running = 0
        history = []
        for x, y in loader:
            loss = criterion(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss  # want "`running` keeps `loss`"
            total += loss * x.size(0)  # want
            history.append(loss)  # want "history"
            kept.append(loss.item())
            kept.append(loss.detach())
            total += loss.item()
            total += float(loss)
            total += loss.data
            with torch.no_grad():
                total += loss
            n += x.size(0)
    return total, kept


def accumulates(model, loader, opt):
    model = model.cuda()
    for batch in loader:
        loss = 0
        for x in batch:
            loss += model(x.cuda()).mean()
        loss.backward()
        opt.step()


def summed(model, loader, opt):
    model = model.cuda()
    for batch in loader:
        losses = []
        for x in batch:
            losses.append(model(x.cuda()).mean())
        loss = sum(losses)
        loss.backward()
        opt.step()
