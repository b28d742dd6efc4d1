"""Times steps and reads losses without making the training wait for the GPU.

A step's time is taken between two CUDA events where the GPU is in use, and read once the second
one has passed, a step or more later; elsewhere from the host's clock. A loss on the GPU is copied
to pinned host memory behind the work that makes it, and read once the step's event has passed.
Nothing here synchronises.
"""
import bisect
import collections
import functools
import math
import re
import time

PENDING = 64  # losses under way at once; more are left out


class Clock:
    """Tells steps' times, each as soon as it is known without waiting."""

    def __init__(self, torch):
        self.torch = torch
        self.events = collections.deque()  # (number of the step that ended, event)
        self.spare = []
        self.last = None  # the host's time of the last step's end
        self.on_gpu = False
        self.broken = False  # events cannot be used here
        self.passed = 0  # number of the last step that has ended on the GPU

    def name(self):
        return "cuda events" if self.on_gpu else "host"

    def tick(self, number):
        """Step `number` has been launched; returns [(number, seconds)] of steps known to have ended."""
        now = time.perf_counter()
        last, self.last = self.last, now
        if not self.on_gpu and not self.broken and _gpu_in_use(self.torch):
            self.on_gpu = True
        if self.on_gpu:
            try:
                return self._tick_on_gpu(number)
            except Exception:  # events of two devices, a lost context: the host's clock remains
                self.on_gpu, self.broken = False, True
                self.events.clear()
        self.passed = number
        return [] if last is None else [(number, now - last)]

    def _tick_on_gpu(self, number):
        if capturing(self.torch):  # asking for an event would end the capture of a CUDA graph
            return []
        event = self.spare.pop() if self.spare else self.torch.cuda.Event(enable_timing=True)
        event.record()
        events = self.events
        events.append((number, event))
        known = []
        while len(events) > 1 and events[1][1].query():
            first, begun = events.popleft()
            ended, end = events[0]
            if ended == first + 1:
                known.append((ended, begun.elapsed_time(end) / 1e3))
            self.spare.append(begun)
            self.passed = ended
        return known


class Losses:
    """Takes each step's loss as it is made and tells its value once that is on the host."""

    def __init__(self, torch, clock):
        self.torch = torch
        self.clock = clock
        self.known = []
        self.pending = collections.deque()  # (number of the step, pinned copy)
        self.spare = {}  # dtype -> pinned scalars

    def take(self, number, loss):
        """The loss of the step that will end as `number`."""
        torch = self.torch
        if not isinstance(loss, torch.Tensor):
            self.known.append((number, float(loss)))
            return
        if loss.numel() != 1 or not loss.is_floating_point():
            return
        if loss.device.type == "cpu":
            self.known.append((number, loss.item()))
            return
        if loss.device.type != "cuda" or not self.clock.on_gpu and not _gpu_in_use(torch) or self.clock.broken or capturing(torch):
            return
        if len(self.pending) >= PENDING:
            return
        spare = self.spare.setdefault(loss.dtype, [])
        copy = spare.pop() if spare else torch.empty((), dtype=loss.dtype, pin_memory=True)
        loss = loss.detach()
        copy.copy_(loss.reshape(()) if loss.dim() else loss, non_blocking=True)
        self.pending.append((number, copy))

    def tell(self):
        """[(number, value)] of the losses that have come to the host since the last call."""
        known, self.known = self.known, []
        while self.pending and self.pending[0][0] <= self.clock.passed:
            number, copy = self.pending.popleft()
            known.append((number, copy.item()))
            self.spare[copy.dtype].append(copy)
        return known


def _gpu_in_use(torch):
    return torch.cuda.is_initialized()


def capturing(torch):
    """Whether the current stream captures a CUDA graph. (A torch without CUDA cannot be asked.)"""
    ask = getattr(torch.cuda, "is_current_stream_capturing", None)
    return bool(ask and torch.cuda.is_initialized() and ask())


def hook_backward(torch, replace, take):
    """Has take(tensor) called with what the script calls backward() on, before it runs.

    Tensor.backward() and torch.autograd.backward() come through here; torch.autograd.grad() does not.
    """
    original = torch.autograd.backward
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)

    @functools.wraps(original)
    def backward(tensors, *args, **kwargs):
        if not compiling():
            take(tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None))
        return original(tensors, *args, **kwargs)

    replace(torch.autograd, "backward", backward)


# ---- what is usual


class Baseline:
    """The last steps' times: their quantiles are what a step is held against."""

    def __init__(self, size):
        self.size = size
        self.recent = collections.deque()
        self.sorted = []

    def __len__(self):
        return len(self.recent)

    def add(self, seconds):
        if len(self.recent) == self.size:
            del self.sorted[bisect.bisect_left(self.sorted, self.recent.popleft())]
        self.recent.append(seconds)
        bisect.insort(self.sorted, seconds)

    def quantile(self, share):
        return self.sorted[max(0, math.ceil(share * len(self.sorted)) - 1)]

    def mean(self):
        return sum(self.recent) / len(self.recent)


class StepCondition:
    """`step>1.2*p95`, `step>2*median`, `step>250ms`: when a step is called slow."""

    _form = re.compile(r"step\s*>\s*(?:(\d+(?:\.\d+)?)\s*\*\s*)?(?:p(\d{1,2})|(median|mean)|(\d+(?:\.\d+)?)\s*(us|ms|s))\Z")

    def __init__(self, text):
        found = self._form.match(text)
        if not found:
            raise ValueError(
                "%r is no condition: write nan, step>1.2*p95 (or p50, median, mean), or step>250ms (or us, s)" % text
            )
        factor, percentile, average, number, unit = found.groups()
        self.text = text
        self.factor = float(factor or 1)
        self.share = int(percentile) / 100 if percentile else 0.5 if average == "median" else None
        if self.factor == 0 or number and float(number) == 0:
            raise ValueError(
                "%r holds for every step: give a factor and a time above 0, as in step>1.2*p95 or step>250ms" % text
            )
        self.fixed = float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit] if number else None

    def threshold(self, baseline):
        """In seconds; the baseline holds at least one step."""
        if self.fixed is not None:
            return self.factor * self.fixed
        if self.share is None:
            return self.factor * baseline.mean()
        return self.factor * baseline.quantile(self.share)


def conditions(texts):
    """The StepConditions among the texts, and whether losses are looked at."""
    if isinstance(texts, str):
        texts = [texts]
    parts = [part.strip() for text in texts for part in re.split("[,|]", text)]
    return [StepCondition(part) for part in parts if part != "nan"], "nan" in parts
