import torch
from torch import Tensor


class Sorts(torch.nn.Module):
    def forward(self, x, attr: Tensor):
        out = x * attr
        rows = torch.ones(3, device="cuda")
        if isinstance(attr, (list, tuple)):
            return [e * 2 for e in attr]
        if isinstance(out, dict):
            for value in out.values():
                x = x + value
        for row in rows:  # want
            x = x + row
        return x
