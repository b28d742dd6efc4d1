import torch
import torchvision
from torch.utils.data import DataLoader


def main(dataset, device, prepare, format):
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(dataset, num_workers=2):
        images = prepare(batch).to(memory_format=format)
        model(images).mean().backward()
        opt.step()
