import torch
import torch.nn as nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.conv(x).mean()


def main(dataset, device):
    model = Net().cuda()
    model = model.to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in DataLoader(dataset, num_workers=2):
        images = images.to(device)
        loss = model(images)  # want "the weights are in channels_last"
        loss.backward()
        opt.step()
