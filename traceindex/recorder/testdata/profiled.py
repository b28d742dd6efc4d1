"""A script with a profiler of its own: argv[1] is the step at which it starts, argv[2] the one at which it stops."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile

start, stop = int(sys.argv[1]), int(sys.argv[2])
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
own = profile(activities=[ProfilerActivity.CPU])
for step in range(10):
    if step == start:
        own.start()
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    if step == stop:
        own.stop()
        print("own profiler saw", sum(e.name == "aten::addmm" for e in own.events()), "forwards")
