"""A training to be watched: argv[1] steps, argv[2] what happens in them, words with commas between."""
import os
import signal
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

what = sys.argv[2].split(",")
own = profile(activities=[ProfilerActivity.CPU])


def happen(step, loss):
    if step in (40, 41) and "nan" in what:
        loss = loss * float("nan")
    if step in (50, 70, 90, 110) and "slow" in what:
        time.sleep(0.4)
    if step == 60 and "signal" in what:
        os.kill(os.getpid(), signal.SIGUSR2)
    if step == 60 and "launcher" in what:  # as the user would, to the command
        os.kill(os.getppid(), signal.SIGUSR2)
        time.sleep(0.6)
    if step == 80 and "file" in what:
        open(os.path.join(os.environ["CAPTURES"], "capture-now"), "w").close()
        time.sleep(0.3)
    if step == 30 and "full" in what:  # a file where the folder was: writing fails for root too
        os.rmdir(os.environ["CAPTURES"])
        open(os.environ["CAPTURES"], "w").close()
    if step == 35 and "own" in what:
        own.start()
    if step == 55 and "own" in what:
        own.stop()
        print("own profiler saw", sum(e.name == "aten::addmm" for e in own.events()), "ops")
    if step == 62 and "raise" in what:
        raise ValueError("as the script would")
    return loss


model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(int(sys.argv[1])):
    loss = model(torch.randn(4, 8)).square().mean()
    loss = happen(step, loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained", step + 1, "hooked", "recorder" in torch.autograd.backward.__code__.co_filename)
