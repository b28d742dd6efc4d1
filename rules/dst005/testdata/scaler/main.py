import torch
import torch.distributed as dist
import torch.nn as nn


class NativeScaler:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def all_reduce_mean(x):
    world = dist.get_world_size()
    if world > 1:
        x_reduce = torch.tensor(x).cuda()
        dist.all_reduce(x_reduce)  # want "dist.all_reduce(x_reduce)"
        x_reduce /= world
        return x_reduce.item()
    return x


def train_one_epoch(model, optimizer, loader, loss_scaler, writer):
    for step, x in enumerate(loader):
        loss = model(x.cuda()).mean()
        loss_value = loss.item()
        loss_scaler(loss, optimizer)
        reduced = all_reduce_mean(loss_value)
        if step % 20 == 0:
            writer.add_scalar("loss", reduced, step)


def main(loader, writer):
    model = nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    loss_scaler = NativeScaler()
    train_one_epoch(model, optimizer, loader, loss_scaler, writer)
