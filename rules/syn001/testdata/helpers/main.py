import numpy as np
import torch
from torch import nn

import metrics
from metrics import accuracy, after_training, on_numpy, rarely


def train(model, loader):
    model = model.cuda()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (images, labels) in enumerate(loader):
        images, labels = images.cuda(), labels.cuda()
        logits = model(images)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        acc = accuracy(logits, labels)
        on_numpy(np.zeros(4))
        if step % 100 == 0:
            metrics.rarely(logits)
            rarely(logits)
    return after_training(logits)
