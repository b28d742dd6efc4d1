import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.conv(x).mean()


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(x).mean()


def main(root):
    steps = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
    loader = DataLoader(datasets.ImageFolder(root, steps), num_workers=4)
    model, plain = Net().cuda(), Plain().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = plain(x.cuda()) + model(x.cuda())  # want "model(x.cuda())"
        loss.backward()
        opt.step()
