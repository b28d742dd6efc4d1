import time

import torch
import torch.nn as nn


def early(x):
    model = nn.Linear(8, 8).cuda()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    y = model(x)
    end.record()
    print(start.elapsed_time(end))  # want "end.synchronize()"
    return y


def good(x):
    model = nn.Linear(8, 8).cuda()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    y = model(x)
    end.record()
    torch.cuda.synchronize()
    a = start.elapsed_time(end)
    start.record()
    model(x)
    end.record()
    end.synchronize()
    b = start.elapsed_time(end)
    end.record()
    value = model(x).mean().item()
    return a + b + start.elapsed_time(end) + value


def untimed(x):
    model = nn.Linear(8, 8).cuda()
    start = torch.cuda.Event()  # want "enable_timing=True"
    end = torch.cuda.Event(enable_timing=False)  # want "enable_timing=True"
    start.record()
    model(x)
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def host():
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()  # want "only host work"
    time.sleep(1)
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def handed(start, end, log):
    log(start.elapsed_time(end))
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    return events[0].elapsed_time(events[1])
