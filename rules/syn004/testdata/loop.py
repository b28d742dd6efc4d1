import time

import torch
from torch.cuda import synchronize


def train(model, loader, opt, debug=False):
    model = model.cuda()
    for step, x in enumerate(loader):
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        torch.cuda.synchronize()  # want "torch.cuda.synchronize()"
        torch.cuda.synchronize(device=0)  # want
        synchronize()  # want
        torch.cuda.current_stream().synchronize()  # want
        torch.accelerator.synchronize()  # want
        if step % 100 == 0:
            torch.cuda.synchronize()
        if debug:
            torch.cuda.synchronize()
        if loss.requires_grad: torch.cuda.synchronize()  # want
    torch.cuda.synchronize()


def only_statement(model, loader, opt):
    model = model.cuda()
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
        if x is not None:
            # wait for everything
            torch.cuda.synchronize()  # want


def timed(model, loader, opt):
    model = model.cuda()
    times = []
    for x in loader:
        torch.cuda.synchronize()
        started = time.perf_counter()
        model(x.cuda()).mean().backward()
        opt.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)


def with_events(model, loader, opt):
    model = model.cuda()
    for x in loader:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        model(x.cuda()).mean().backward()
        opt.step()
        end.record()
        torch.cuda.synchronize()
        print(start.elapsed_time(end))


def benchmark(model, xs):
    for x in xs:
        model(x.cuda())
        torch.cuda.synchronize()


def shadowed(torch, model, loader, opt):
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
        torch.cuda.synchronize()
