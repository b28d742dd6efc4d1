"""A small Trainer: callbacks, a registry, decorated hooks, gradient clipping, an average of the weights."""
import contextlib
import functools
import time
from dataclasses import dataclass, field

import torch

HOOKS = ("on_fit_start", "on_batch_start", "on_loss", "on_backward_end", "on_step_end", "on_fit_end")


@dataclass
class Config:
    device: str = "cuda"
    steps: int = 6
    lr: float = 3e-4
    clip: float = 1.0
    accumulate: int = 2
    dtype: torch.dtype = torch.bfloat16
    tags: dict = field(default_factory=dict)


def every(n):
    """Runs a hook on every n-th step only."""

    def decorate(hook):
        @functools.wraps(hook)
        def wrapper(self, trainer, *args, **kwargs):
            if trainer.step % n:
                return None
            return hook(self, trainer, *args, **kwargs)

        return wrapper

    return decorate


def timed(method):
    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        begun = time.perf_counter()
        try:
            return method(self, *args, **kwargs)
        finally:
            self.spent[method.__name__] = self.spent.get(method.__name__, 0.0) + time.perf_counter() - begun

    return wrapper


class Callback:
    def on_fit_start(self, trainer):
        pass

    def on_batch_start(self, trainer, batch):
        pass

    def on_loss(self, trainer, loss):
        pass

    def on_backward_end(self, trainer):
        pass

    def on_step_end(self, trainer):
        pass

    def on_fit_end(self, trainer):
        pass


class Average(Callback):
    """An exponential average of the weights."""

    def __init__(self, decay=0.99):
        self.decay = decay
        self.shadow = {}

    def on_fit_start(self, trainer):
        for name, parameter in trainer.model.named_parameters():
            self.shadow[name] = parameter.detach().clone()

    @torch.no_grad()
    def on_step_end(self, trainer):
        for name, parameter in trainer.model.named_parameters():
            old = self.shadow[name]
            old.mul_(self.decay)
            old.add_(parameter, alpha=1 - self.decay)


class Meter(Callback):
    def __init__(self):
        self.total = None
        self.count = 0

    def on_loss(self, trainer, loss):
        value = loss.detach().float()
        self.total = value if self.total is None else self.total + value
        self.count += 1

    @every(2)
    def on_step_end(self, trainer):
        mean = (self.total / self.count).item()
        trainer.log(loss=mean, lr=trainer.scheduler.get_last_lr()[0])
        self.total, self.count = None, 0


class GuardNaN(Callback):
    def on_backward_end(self, trainer):
        bad = torch.zeros((), device=trainer.config.device)
        for parameter in trainer.model.parameters():
            if parameter.grad is None:
                continue
            bad = bad + (~torch.isfinite(parameter.grad)).sum()
        if bad > 0:
            trainer.optimizer.zero_grad()
            raise FloatingPointError("a gradient is not finite")


class Trainer:
    def __init__(self, model, config, callbacks=()):
        self.config = config
        self.model = model.to(config.device)
        self.callbacks = list(callbacks)
        self.optimizer, self.scheduler = self.configure()
        self.step = 0
        self.spent = {}
        self.history = []

    def configure(self):
        decay, plain = [], []
        for parameter in self.model.parameters():
            (decay if parameter.ndim > 1 else plain).append(parameter)
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=self.config.lr)
        return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))

    def log(self, **values):
        self.history.append(values)

    def emit(self, hook, *args):
        assert hook in HOOKS
        for callback in self.callbacks:
            getattr(callback, hook)(self, *args)

    @contextlib.contextmanager
    def precision(self):
        with torch.autocast(self.config.device, dtype=self.config.dtype):
            yield

    def compute_loss(self, batch):
        raise NotImplementedError

    def move(self, batch):
        return {key: value.to(self.config.device, non_blocking=True) for key, value in batch.items()}

    @timed
    def forward_backward(self, batch):
        batch = self.move(batch)
        self.emit("on_batch_start", batch)
        with self.precision():
            loss = self.compute_loss(batch)
        self.emit("on_loss", loss)
        (loss / self.config.accumulate).backward()
        return loss

    @timed
    def optimize(self):
        self.emit("on_backward_end")
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.emit("on_step_end")

    def fit(self, loader):
        self.emit("on_fit_start")
        batches = iter(loader)
        while self.step < self.config.steps:
            for _ in range(self.config.accumulate):
                batch = next(batches)
                self.forward_backward(batch)
            self.optimize()
        self.emit("on_fit_end")
        return self.history
