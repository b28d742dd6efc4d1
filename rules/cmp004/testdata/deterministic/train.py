import torch
import torchvision
from torchvision import transforms

torch.backends.cudnn.deterministic = True
crop = transforms.RandomResizedCrop(224)


def main(loader):
    model = torchvision.models.resnet50().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
