import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        h = self.fc(x)
        if h.shape[0] > 4:
            scale = h.abs().max().item()  # want "h.abs().max().item()"
            h = h / scale
        n = float(x.shape[-1])
        return h / math.sqrt(n)


def train(dataset, args):
    model = Net().cuda()
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters())
    loader = DataLoader(dataset, batch_size=4)
    total = 0.0
    for epoch in range(10):
        running = 0.0
        for step, (images, labels) in enumerate(loader):
            first = labels[0].item()
            images, labels = images.cuda(), labels.cuda()
            logits = model(images)
            loss = criterion(logits, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()  # want "loss.item()"
            value = float(loss)  # want "float(loss)"
            correct = (logits.argmax(1) == labels).sum()
            hits = correct.item()  # want "correct.item()"
            ids = logits.argmax(1).tolist()  # want "tolist()"
            count = int(correct)  # want "int(correct)"
            both = loss.item() + correct.item()  # want "loss.item()", "correct.item()"
            detached = loss.detach().item()  # want
            on_host = loss.cpu()
            late = on_host.item()
            width = int(images.size(0))
            wide = float(images.shape[1])
            scalar = np.float32(3.0).item()
            array = np.zeros(3)
            mean = array.mean().item()
            plain = float(args.lr)
            host = torch.zeros(3)
            host_value = host.sum().item()
            if step % 50 == 0:
                print(loss.item())
            if not step % args.log_every:
                print(loss.item())
            if (step + 1) % 100 == 0 or step == len(loader) - 1:
                total += loss.item()
            should_log = step % 20 == 0
            if should_log:
                print(loss.item())
            shown = loss.item() if step % 10 == 0 else None
            step % 10 == 0 and print(loss.item())
            if args.debug:
                print(loss.item())
            if step % 100:
                continue
            print(loss.item())
        total += loss.item()
    print(total, loss.item())


def evaluate(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for images, labels in loader:
            out = model(images.cuda())
            total += F.cross_entropy(out, labels.cuda()).item()
    return total
