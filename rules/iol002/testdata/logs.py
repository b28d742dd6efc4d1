import matplotlib.pyplot as plt
import torch
import wandb
from torch.utils.tensorboard import SummaryWriter


def train(model, loader, opt):
    model = model.cuda()
    writer = SummaryWriter()
    for step, x in enumerate(loader):
        out = model(x.cuda())
        out.mean().backward()
        opt.step()
        writer.add_image("x", x[0], step)  # want "writer.add_image"
        for name, p in model.named_parameters():
            writer.add_histogram(name, p, step)  # want "a histogram"
        wandb.log({"x": wandb.Image(x)})  # want "wandb.Image"
        plt.savefig("x.png")  # want
        if step % 100 == 0:
            writer.add_figure("f", plt.figure(), step)
            wandb.log({"x": wandb.Image(x)})
        writer.add_text("a", "b")
    writer.add_histogram("w", model.weight)
