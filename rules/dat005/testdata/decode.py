import io

import cv2
import torch
import torchvision
from PIL import Image
from PIL import Image as PILImage
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")  # want "Image.open(self.paths[index])"
        return self.transform(image)


class Helped(Dataset):
    def __getitem__(self, index):
        return load(self.paths[index])


def load(path):
    with open(path, "rb") as f:
        return PILImage.open(io.BytesIO(f.read()))  # want


class WithWorkers(Dataset):
    def __getitem__(self, index):
        return cv2.imread(self.paths[index])


class UnknownWorkers(Dataset):
    def __getitem__(self, index):
        return cv2.imread(self.paths[index])


class NeverLoaded(Dataset):
    def __getitem__(self, index):
        return cv2.imread(self.paths[index])


class Preloaded(Dataset):
    def __init__(self, paths):
        self.images = [Image.open(p) for p in paths]

    def __getitem__(self, index):
        return self.images[index]


def train(model, opt, workers, paths):
    model = model.cuda()
    for x in DataLoader(Photos(), batch_size=8):
        model(x.cuda()).mean().backward()
        opt.step()
    for x in DataLoader(Helped(), batch_size=8, num_workers=0):
        model(x.cuda()).mean().backward()
        opt.step()
    for x in DataLoader(WithWorkers(), batch_size=8, num_workers=4):
        model(x.cuda()).mean().backward()
        opt.step()
    for x in DataLoader(UnknownWorkers(), batch_size=8, num_workers=workers):
        model(x.cuda()).mean().backward()
        opt.step()
    for x in DataLoader(Preloaded(paths), batch_size=8):
        model(x.cuda()).mean().backward()
        opt.step()
    images = [Image.open(p) for p in paths]
    for step, path in enumerate(paths):
        x = torchvision.io.read_image(path)  # want "torchvision.io.read_image(path)"
        if step % 100 == 0:
            sample = Image.open(path)
        model(x.cuda()).mean().backward()
        opt.step()


@torch.no_grad()
def predict(model, paths):
    for path in paths:
        model(torchvision.io.read_image(path).cuda())
