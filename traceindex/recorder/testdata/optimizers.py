"""Loops whose steps are not one plain Optimizer.step each; argv[1] names one. Each does 8 rounds."""
import sys

import torch


class Wrapping(torch.optim.Optimizer):
    """Steps another optimizer within its own step, as sharpness-aware ones do."""

    def __init__(self, params, inner):
        super().__init__(params, {})
        self.inner = inner

    def step(self, closure=None):
        self.inner.step()
        self.inner.step()


class Plain:
    """No torch optimizer at all."""

    def __init__(self, params):
        self.params = list(params)

    @torch.no_grad()
    def step(self):
        for p in self.params:
            p -= 0.1 * p.grad


def run(what):
    a, b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def backward():
        b(a(torch.randn(3, 4))).sum().backward()

    first = torch.optim.SGD(a.parameters(), lr=0.01)
    second = torch.optim.Adam(b.parameters(), lr=0.01)
    nested = Wrapping(a.parameters(), torch.optim.SGD(a.parameters(), lr=0.01))
    scheduler = torch.optim.lr_scheduler.StepLR(first, 2)
    plain = Plain(a.parameters())
    lbfgs = torch.optim.LBFGS(b.parameters(), max_iter=2)
    bound = second.step
    for i in range(8):
        backward()
        if what == "two":
            first.step()
            second.step()
        elif what == "nested":
            nested.step()
        elif what == "scheduled":
            first.step()
            scheduler.step()
        elif what == "closure":

            def closure():
                lbfgs.zero_grad()
                loss = b(torch.ones(2, 4)).square().sum()
                loss.backward()
                return loss

            lbfgs.step(closure)
        elif what == "bound":
            bound()
        elif what == "phases":
            (first if i < 3 else second).step()
        elif what == "none":
            plain.step()


run(sys.argv[1])
