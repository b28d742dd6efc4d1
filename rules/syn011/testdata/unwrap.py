import torch


def value(x):
    return x.item() if isinstance(x, torch.Tensor) else x


class Own(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                step = value(self.state[p]["norm"])
                p.add_(p.grad, alpha=-p.grad.norm().item())  # want
