import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, dim, vocab=50257):
        super().__init__()
        self.a = nn.Linear(300, 512)  # want "in_features=300"
        self.b = nn.Linear(512, 50257, bias=False)  # want "50264"
        self.c = nn.Linear(512, 10)  # want hint
        self.d = nn.Linear(512, 1)
        self.e = nn.Linear(dim, vocab)
        self.f = nn.Linear(512, 1024)
        self.g = nn.Linear(in_features=3, out_features=64)
        self.h = nn.Linear(dim // 3, 4 * dim)

    def forward(self, x):
        with torch.autocast("cuda"):
            return self.b(self.a(x))
