"""A loop of one's own: no optimizer of torch's, steps told to the watcher; argv[1] is the folder, argv[2] a word."""
import sys

import torch

import stepline_recorder as stepline

weights = torch.randn(8, requires_grad=True)
with stepline.watch(sys.argv[1], when="nan", steps=2, settle=0, signal=None) as w:
    for step in range(30):
        loss = (weights * torch.randn(8)).sum()
        if step in (10, 11):
            loss = loss / 0 * 0
        loss.backward()
        with torch.no_grad():
            weights -= 0.01 * torch.nan_to_num(weights.grad)
            weights.grad = None
        w.step(loss=loss)
        if step == 20:
            w.capture("the test")
        if step == 25 and sys.argv[2] == "raise":
            raise ValueError("as the script would")
print("captures", len(w.captures))
