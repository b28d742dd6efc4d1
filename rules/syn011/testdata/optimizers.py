import math

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import Optimizer as BaseOptimizer


class Clipped(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, debug=False):
        super().__init__(params, dict(lr=lr, max_norm=1.0))
        self.debug = debug

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                norm = grad.norm()
                if norm.item() > group["max_norm"]:  # want "norm.item()"
                    grad.mul_(group["max_norm"] / norm)
                if norm > group["max_norm"]:  # want "branches"
                    grad.mul_(group["max_norm"] / norm)
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                state["step"] += 1
                avg = state["exp_avg"]
                avg.mul_(0.9).add_(grad, alpha=0.1)
                size = float(group["lr"]) / math.sqrt(state["step"])
                peak = float(avg.abs().max())  # want "float(avg.abs().max())"
                print(norm)  # want "prints"
                if self.debug:
                    print(norm.item())
                if torch.isnan(grad).any():  # want "branches"
                    continue
                if grad.is_sparse:
                    raise RuntimeError("sparse")
                if p.numel() > 1 and grad.dim() > 1:
                    size = size * 2
                p.add_(avg, alpha=-size)
                torch.cuda.synchronize()  # want "torch.cuda.synchronize()"
        return loss


class Inherits(Clipped):
    def step(self, closure=None):
        torch.cuda.synchronize()  # want "in every optimizer step"
        super().step(closure)


class Lion(Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self._update(p, group)

    def _update(self, p, group):
        scale = p.norm().item()  # want "p.norm().item()"
        p.data.add_(p.grad, alpha=-group["lr"] / scale)


class CpuStep(BaseOptimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["step"] = torch.tensor(0.0)
                state["step"] += 1
                step = state["step"].item()
                p.add_(p.grad, alpha=-group["lr"] / step)

    def norms(self):
        return [p.grad.norm().item() for g in self.param_groups for p in g["params"]]


class Scheduler:
    def step(self, loss):
        self.best = min(self.best, loss.item())


class NotOne(torch.nn.Module):
    def step(self, x):
        return self.fc(x).item()
