"""Two epochs of four batches from a loader that takes 3 ms an item."""
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        time.sleep(0.003)
        return torch.randn(4)


model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(Slow(), batch_size=2)
for epoch in range(2):
    for batch in loader:
        model(batch).square().mean().backward()
        optimizer.step()
