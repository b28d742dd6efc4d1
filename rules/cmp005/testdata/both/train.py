import torch
import torchvision
from torch.utils.data import DataLoader


def main(dataset, device):
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in DataLoader(dataset, num_workers=2):
        images = images.to(device, memory_format=torch.channels_last)
        model(images).mean().backward()
        opt.step()
