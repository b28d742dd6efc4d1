import torch
import torchvision
from torch.utils.data import DataLoader


def main(dataset, device):
    model = torchvision.models.resnet50().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in DataLoader(dataset, num_workers=2):
        images = images.to(device, memory_format=torch.channels_last)
        loss = model(images).mean()  # want "the weights are not"
        loss.backward()
        opt.step()
