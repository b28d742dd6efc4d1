import numpy as np
import torch
from torch.utils.data import Dataset


class Noisy(Dataset):
    def __init__(self):
        self.once = torch.from_numpy(np.zeros(3))

    def __getitem__(self, i):
        a = torch.from_numpy(np.random.randn(3))  # want "np.random.randn(3)"
        b = torch.tensor(np.random.rand(3))  # want
        c = torch.from_numpy(np.random.randn(3)).float()
        d = torch.tensor(np.random.rand(3), dtype=torch.float32)
        e = torch.from_numpy(np.random.randn(3).astype(np.float32))
        f = torch.from_numpy(np.random.randint(0, 3, 4))
        g = torch.from_numpy(np.zeros(3, dtype=np.float32))
        h = torch.from_numpy(self.items[i])
        noise = np.random.normal(size=3)
        k = torch.from_numpy(noise)  # want
        m = torch.from_numpy(np.zeros(3, np.float32))
        return a


def train(model, loader, opt):
    for x in loader:
        w = torch.as_tensor(np.ones(3)).cuda()  # want
        model(x.cuda()).mean().backward()
        opt.step()
