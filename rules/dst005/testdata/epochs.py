# A loop over epochs that warms up with one step is still a loop over epochs.
import torch
import torch.distributed as dist


class Trainer:
    def iterate(self, x):
        loss = self.model(x.cuda()).mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def feed(self, loader):
        for x in loader:
            self.iterate(x)

    def optimize(self, loader):
        self.feed(loader)

    def preallocate(self):
        self.iterate(torch.ones(8))


def save_checkpoint(model):
    dist.barrier()
    torch.save(model.state_dict(), "last.pt")


def main(trainer: Trainer, loader, epochs):
    trainer = Trainer()
    for epoch in range(epochs):
        trainer.preallocate()
        trainer.optimize(loader)
        dist.barrier()
    for step, x in enumerate(loader):
        trainer.iterate(x)
        save_checkpoint(trainer.model)
    for step, x in enumerate(loader):
        trainer.iterate(x)
        dist.barrier()  # want
