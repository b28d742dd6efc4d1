import torch
from torch.utils.tensorboard import SummaryWriter


def train(model, loader, opt):
    model = model.cuda()
    writer = SummaryWriter()
    for step, batch in enumerate(loader):
        batch = batch.to("cuda")
        loss = model(batch).mean()
        loss.backward()
        opt.step()
        writer.add_scalar("nodes", float(batch.num_nodes()), step)
        writer.add_scalar("loss", loss, step)  # want
