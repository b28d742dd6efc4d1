"""Two training loops, each with one mistake and without it, for measuring what mending saves.

pair.py loader WORKERS OUT    a loader that makes its batches with NumPy on the main process, or in WORKERS processes
pair.py ddp sync|no_sync OUT  gradient accumulation under DistributedDataParallel, reducing in every micro-batch or in the last

Prints the mean step in milliseconds, measured without a profiler, then records STEPS steps into OUT (unless it is "-").
"""
import contextlib
import json
import os
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        signal = rng.standard_normal(4096).astype(np.float32)
        for _ in range(4):
            signal = np.convolve(signal, np.ones(33, np.float32) / 33, mode="same")
        return torch.from_numpy(signal), index % 10


class Net(nn.Module):
    def __init__(self, width=4096):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4096, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))

    def forward(self, x):
        return self.body(x)


def steps_of(name, variant, device):
    model = Net().to(device)
    criterion = nn.CrossEntropyLoss()
    if name == "loader":
        loader = DataLoader(Waves(), batch_size=64, num_workers=int(variant), pin_memory=True)
        opt = torch.optim.SGD(model.parameters(), lr=1e-3)
        while True:
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                loss.backward()
                opt.step()
                opt.zero_grad()
                yield
    model = DDP(model)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    accum = 4
    x = torch.randn(256, 4096, device=device)
    y = torch.randint(0, 10, (256,), device=device)
    while True:
        for micro in range(accum):
            skip = variant == "no_sync" and micro < accum - 1
            with model.no_sync() if skip else contextlib.nullcontext():
                loss = criterion(model(x), y)
                (loss / accum).backward()
        opt.step()
        opt.zero_grad()
        yield


def main(name, variant, out):
    rank = int(os.environ.get("RANK", 0))
    if name == "ddp":
        dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    step = steps_of(name, variant, torch.device("cuda", rank))
    for _ in range(12):
        next(step)
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(20):
            next(step)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 20 * 1e3)
    if rank == 0:
        print("RESULT " + json.dumps({"pair": name, "variant": variant, "step_ms": times}), flush=True)
    if out != "-":
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True) as prof:
            for i in range(3):
                with torch.profiler.record_function(f"ProfilerStep#{i}"):
                    next(step)
            torch.cuda.synchronize()
        prof.export_chrome_trace(f"{out}.rank{rank}.trace.json.gz" if name == "ddp" else f"{out}.trace.json.gz")
    if name == "ddp":
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
