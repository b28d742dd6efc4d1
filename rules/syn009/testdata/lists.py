import torch


def reduce_all(tensors):
    for t in tensors:
        t.mul_(0.5)
    return tensors


class Many(torch.nn.Module):
    def forward(self, x):
        out, extra = self.model(x)
        if extra:
            extra = [e * 2 for e in extra]
        return reduce_all([x.cuda()])[0]
