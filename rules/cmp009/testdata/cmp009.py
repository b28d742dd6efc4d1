import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x, w):
        h = self.fc(x)
        y = torch.zeros_like(h)
        for i in range(h.shape[0]):  # want "y[i]"
            y[i] = h[i] * h[i] + 1
        for i in range(h.shape[0]):  # want "y[i, j]"
            for j in range(h.shape[1]):
                y[i, j] = torch.exp(h[i, j])
        for i in range(h.shape[0]):
            y[i] = y[i - 1] * h[i]
        for i in range(h.shape[0]):
            y[i] = self.fc(h[i])
        state = h[0]
        for i in range(h.shape[0]):
            state = self.cell(h[i], state)
            y[i] = state
        for i in range(3):
            y[i] = h[i] * 2
        for i in range(h.shape[0]):
            y[i] = h[i]
        for i in range(h.shape[0]):
            if i > 2:
                y[i] = h[i] * 2
        return y


def host(values):
    out = [0] * len(values)
    for i in range(len(values)):
        out[i] = values[i] * 2
    return out


model = Net().cuda()
