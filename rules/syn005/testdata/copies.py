import numpy as np
import torch


def train(model, loader, opt):
    model = model.cuda()
    outputs = []
    for step, (x, y) in enumerate(loader):
        out = model(x.cuda())
        loss = out.mean()
        loss.backward()
        opt.step()
        outputs.append(out.detach().cpu())  # want "out.detach().cpu()"
        outputs.append(out.detach().cpu().numpy())  # want "cpu()"
        outputs.append(out.detach().to("cpu"))  # want
        outputs.append(out.to(torch.device("cpu")))  # want
        outputs.append(y.numpy())
        outputs.append(y.cpu())
        outputs.append(np.asarray(y))
        value = loss.detach().cpu().item()
        outputs.append(out.detach())
        if step % 10 == 0:
            outputs.append(out.cpu())
        later = out.detach().to("cpu", non_blocking=True)
    return torch.cat(outputs).cpu()


def unknown(things, opt):
    for thing in things:
        thing.loss.backward()
        opt.step()
        thing.out.cpu()


def evaluate(model, loader):
    model = model.cuda()
    with torch.no_grad():
        return [model(x.cuda()).cpu() for x in loader]
