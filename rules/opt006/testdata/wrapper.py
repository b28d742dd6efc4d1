import torch
import torch.nn.functional as F


class Wrapper(torch.nn.Module):
    def forward(self, x, weight, max_norm=None):
        x = F.embedding(x, weight, max_norm=self.base.max_norm)
        y = F.embedding(x, weight, max_norm=max_norm)
        return F.embedding(x.cuda(), weight, max_norm=1.0)  # want
