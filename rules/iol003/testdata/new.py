# torch: >=2.6
import torch


def f(path):
    a = torch.load(path)
    b = torch.load(path, weights_only=False)  # want info
    return a, b
