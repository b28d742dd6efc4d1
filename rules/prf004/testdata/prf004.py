import time

import torch
import torch.nn as nn


def timed(model, x):
    return model(x).mean().item()


def train(loader, unknown, log):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(4, 8, device="cuda")
    epoch_start = time.time()
    for batch in loader:
        t0 = time.time()
        out = model(batch.cuda())
        forward = time.time() - t0  # want "time.time() - t0"
        t1 = time.perf_counter()
        loss = out.mean()
        loss.backward()
        opt.step()
        t2 = time.perf_counter()
        log(t2 - t1)  # want "t2 - t1"
        t3 = time.time()
        loss = model(batch.cuda()).mean()
        value = loss.item()
        step = time.time() - t3
        t4 = time.time()
        loss = model(batch.cuda()).mean()
        torch.cuda.synchronize()
        step = time.time() - t4
        t5 = time.time()
        unknown(model, batch)
        model(x)
        step = time.time() - t5
        t6 = time.time()
        timed(model, x)
        model(x)
        step = time.time() - t6
        t7 = time.time()
        rows = [len(batch) for _ in range(3)]
        step = time.time() - t7
        print(forward, value, step, rows)
    print(time.time() - epoch_start)


def bench():
    model = nn.Linear(8, 8).cuda()
    x = torch.randn(4, 8, device="cuda")
    start = time.time()
    for _ in range(100):
        y = model(x)
    print("took", time.time() - start)  # want "model(x)"
    return y


def on_cpu():
    model = nn.Linear(8, 8)
    x = torch.randn(4, 8)
    start = time.time()
    model(x)
    print(time.time() - start)
