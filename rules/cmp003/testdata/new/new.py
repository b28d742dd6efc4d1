# torch: >=2.6
import torch


@torch.compile
def scaled(x: torch.Tensor, alpha):
    return x * alpha


def train(loader, model, opt, total):
    model.cuda()
    for step, x in enumerate(loader):
        loss = scaled(x.cuda(), step / total).mean()
        loss = scaled(loss, step)  # want "`step` changes"
        loss.backward()
        opt.step()
