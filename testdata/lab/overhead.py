"""Step times of a small GPU loop: run without and under the recorder, the medians of the steps after
the window should be the same. Prints the step times in microseconds as JSON."""
import json
import statistics
import sys
import time

import torch


def main(steps):
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(20)]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    data = torch.randn(64, 256, device=device)
    took = []
    for _ in range(steps):
        begun = time.perf_counter()
        model(data).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()
        took.append((time.perf_counter() - begun) * 1e6)
    print(json.dumps({
        "before_window_us": round(statistics.median(took[20:100]), 1),
        "after_window_us": round(statistics.median(took[150:]), 1),
        "profiler_set": sys.getprofile() is not None,
    }))


main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
