import torch


def train(model, loader, opt):
    model = model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        if loss > 10:
            print("large", loss)
        print("loss", loss)  # want
