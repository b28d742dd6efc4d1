import torch
from ignite.engine import Engine, Events
from transformers import TrainerCallback


def create_trainer(model, optimizer, criterion):
    model = model.cuda()

    def update(engine, batch):
        x, y = batch
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        return loss.item()  # want "update"

    def measure(engine, batch):
        return model(batch.cuda()).mean().item()

    return Engine(update), Engine(measure)
