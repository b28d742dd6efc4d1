"""What watching costs a step on a GPU: blocks of steps with and without it, in turn in one process.

Needs the module beside it: stepline record --python-api > stepline_recorder.py
"""
import statistics
import tempfile
import time

import torch

import stepline_recorder as stepline


def layers(count, width):
    return torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(count)]).cuda()


def loops():
    """Name, model, batch, steps in a block."""
    yield "launch-bound", layers(20, 256), torch.randn(64, 256, device="cuda"), 100
    torch.set_float32_matmul_precision("high")
    yield "GPU-bound", layers(8, 4096), torch.randn(8192, 4096, device="cuda"), 12


torch.manual_seed(0)
for name, model, data, steps in loops():
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    watcher = stepline.watch(tempfile.mkdtemp(), when=["step>1000*p95", "nan"], signal=None)

    def block(watched):
        """Microseconds a step."""
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(steps):
            loss = model(data).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if watched:
                watcher.step(loss=loss)
        torch.cuda.synchronize()
        return (time.perf_counter() - begun) / steps * 1e6

    block(True)
    block(False)
    took = {True: [], False: []}
    for pair in range(24):
        for watched in (bool(pair % 2), not pair % 2):
            took[watched].append(block(watched))
    ratios = [a / b for a, b in zip(took[True], took[False])]
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    print(
        "%s: %.1f us a step without, %.1f with (medians); %.4f +- %.4f times (mean of pairs, standard error)"
        % (name, statistics.median(took[False]), statistics.median(took[True]), statistics.mean(ratios), error)
    )
    loss = model(data).square().mean().detach()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(2000):
        watcher.step(loss=loss)
    print("  watcher.step(loss) alone: %.1f us" % ((time.perf_counter() - begun) / 2000 * 1e6))
    watcher.__exit__(None, None, None)
