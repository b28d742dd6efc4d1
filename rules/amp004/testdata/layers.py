import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            with torch.autocast("cuda", dtype=torch.bfloat16):  # want "once per layer"
                x = layer(x)
        for layer in self.layers:
            x = x + 1
            with torch.autocast("cuda", dtype=torch.bfloat16):  # want
                x = layer(x)
        with torch.autocast("cuda"):
            for layer in self.layers:
                with torch.autocast("cuda"):
                    x = layer(x)
        for layer in self.layers:
            with torch.autocast("cuda", enabled=False):
                x = layer(x)
        for i in range(3):
            with torch.autocast("cuda"):
                x = x * i
        return x


def train(model, loader, opt):
    for x in loader:
        for micro in x.chunk(2):
            with torch.autocast("cuda"):
                loss = model(micro.cuda()).mean()
            loss.backward()
        opt.step()
