"""Trains a small model until it is interrupted; the loss of step 100 is NaN."""
import itertools
import time

import torch

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in itertools.count():
    loss = model(torch.randn(4, 8)).square().mean()
    if step == 100:
        loss = loss * float("nan")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 100:
        model.reset_parameters()
    time.sleep(0.02)
