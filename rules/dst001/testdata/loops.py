import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def build(rank):
    dist.init_process_group("nccl")
    return DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])


def micro(rank, data):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for i in range(4):
            loss = model(data[i]).mean()
            loss.backward()  # want "loss.backward()"
        opt.step()
        opt.zero_grad()


def counted(rank, loader, accum):
    model = build(rank)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, batch in enumerate(loader):
        loss = model(batch).mean() / accum
        # the mean over the micro-batches
        loss.backward()  # want "(i + 1) % accum == 0"
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()


def scaled(rank, loader, args):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for i, batch in enumerate(loader):
        last = (i + 1) % args.accumulation_steps == 0
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        scaler.scale(loss).backward()  # want "scaler.scale(loss).backward()"
        if last:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()


def every_batch(rank, loader):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


def epochs(rank, loader):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sched = torch.optim.lr_scheduler.StepLR(opt, 10)
    for epoch in range(10):
        for i, batch in enumerate(loader):
            loss = model(batch).mean()
            loss.backward()
            opt.step()
            if i % 100 == 0:
                print(i)
        sched.step()


def with_no_sync(rank, data):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for i in range(3):
            with model.no_sync():
                model(data[i]).mean().backward()
        model(data[3]).mean().backward()
        opt.step()


def switched(rank, data, accum):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for i in range(accum):
            model.require_backward_grad_sync = i == accum - 1
            loss = model(data[i]).mean()
            loss.backward()
        opt.step()


def own_context(rank, data, accum, maybe_sync):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for i in range(accum):
            with maybe_sync(model, i == accum - 1):
                loss = model(data[i]).mean()
                loss.backward()
        opt.step()


def one_gpu(data):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for i in range(4):
            loss = model(data[i]).mean()
            loss.backward()
        opt.step()


def unknown_model(model, opt, data):
    for step in range(100):
        for i in range(4):
            loss = model(data[i]).mean()
            loss.backward()
        opt.step()


def stepped_elsewhere(rank, data, clip_and_step):
    model = DDP(nn.Linear(8, 8).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
        for batch in data:
            loss = model(batch).mean()
            loss.backward()
            clip_and_step(model, opt)
        opt.step()


def perhaps_distributed(rank, data, distributed):
    model = nn.Linear(8, 8).cuda()
    if distributed:
        model = DDP(model, device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for i in range(4):
            loss = model(data[i]).mean()
            loss.backward()  # want "no_sync()"
        opt.step()


def half_precision_step(model, batch, scale):
    loss = model(batch).mean() / scale
    loss.backward()
    return loss.detach()


def whole_step(model, opt, batch):
    model(batch).mean().backward()
    opt.step()
    opt.zero_grad()


def own_rounds(model, batches):
    for batch in batches:
        with model.no_sync():
            model(batch).mean().backward()


def in_a_helper(rank, loader, accum):
    model = build(rank)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, batch in enumerate(loader):
        half_precision_step(model, batch, accum)  # want "half_precision_step(model, batch, accum)"
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()


def helpers_that_step(rank, loader):
    model = build(rank)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        for batch in loader:
            whole_step(model, opt, batch)
        opt.step()


def helpers_that_know(rank, loader, accum):
    model = build(rank)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        for batches in loader:
            own_rounds(model, batches)
        opt.step()
