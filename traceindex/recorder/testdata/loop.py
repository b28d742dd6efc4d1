"""Trains for a number of steps; a keyword for each thing that a test wants of it."""
import os
import signal
import sys

import torch
from torch import nn


def loss_of(model, x):
    hidden = model(x)
    squared = torch.relu(hidden) * 2
    return squared.sum()


def train(steps, then):
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps):
        loss = loss_of(model, torch.randn(4, 8))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        then(step)
    hooked = type(optimizer).step.__code__.co_filename
    print("profiling", sys.getprofile(), "hooked", "recorder" in hooked, flush=True)


def then(step):
    if what == "raise" and step == 4:
        raise ValueError("as the script would")
    if what == "exit" and step == 4:
        sys.exit(7)
    if what == "kill" and step == 4:
        os.kill(os.getpid(), signal.SIGTERM)
    if what == "wait" and step == 4:
        print("waiting", flush=True)
        signal.pause()


what = sys.argv[2] if len(sys.argv) > 2 else ""
train(int(sys.argv[1]), then)
