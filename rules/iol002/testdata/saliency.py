# backward() alone: gradients to look at, no training.
import torch
from torch.utils.tensorboard import SummaryWriter


def saliency(model, loader):
    writer = SummaryWriter()
    model = model.cuda()
    for x in loader:
        x = x.cuda().requires_grad_()
        model(x).max().backward()
        writer.add_image("saliency", x.grad)
