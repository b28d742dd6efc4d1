import torch
import torch.nn as nn


def micro_batches(model: nn.Module, batches, optimizer):
    model = model.to("cuda")
    accum = 4
    total = 0.0
    for i, (x, y) in enumerate(batches):
        x, y = x.to("cuda"), y.to("cuda")
        loss = nn.functional.mse_loss(model(x), y) / accum
        loss.backward()
        total += loss.item()  # want
        if (i + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()  # want
    return total


def outer_step(model, data, opt):
    model = model.cuda()
    for step in range(100):
        for micro in range(4):
            loss = model(data[step, micro].cuda()).mean()
            (loss / 4).backward()
        opt.step()
        opt.zero_grad()
        last = loss.item()  # want "every training step"
        rank = torch.distributed.get_rank()
        if rank == 0:
            shown = loss.item()  # want
    return last


def never_trains(model, data):
    model = model.cuda()
    for x in data:
        score = model(x.cuda()).sum().item()
    return score


def unknown(things, opt):
    for thing in things:
        thing.loss.backward()
        opt.step()
        a = thing.value.item()
        b = thing.item()
        c = float(thing.other)
