import torch.nn as nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(64, 511)  # want


class Tied:
    pass
