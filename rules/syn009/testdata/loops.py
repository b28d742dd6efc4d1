import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        h = self.fc(x)
        lengths = (h > 0).sum(1)
        for t in range(int(lengths.max())):  # want "range"
            h = h + t
        for t in range(lengths.max().item()):  # want "range"
            h = h + t
        for v in lengths:  # want "lengths"
            h = h + v
        for t in range(h.shape[1]):
            h = h + t
        for part in h.split(3):
            h = h + part
        for part in h.unbind(0):
            h = h + part
        for layer in self.layers:
            h = layer(h)
        for o in (h, lengths):
            h = h + o
        outs = [h, h]
        for o in outs:
            h = h + o
        return h


model = Net().cuda()
