"""An MLP-mixer on noise, trained by a subclass of the small Trainer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from engine import Average, Callback, Config, GuardNaN, Meter, Trainer, every


class Mix(nn.Module):
    def __init__(self, dim, hidden, drop=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        h = self.up(self.norm(x))
        h = F.gelu(h)
        return self.drop(self.down(h))


class Block(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.tokens = Mix(tokens, tokens * 2)
        self.channels = Mix(dim, dim * 4)
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x):
        x = x + self.scale[0] * self.tokens(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.scale[1] * self.channels(x)
        return x


class Mixer(nn.Module):
    def __init__(self, classes=100, dim=512, patch=16, size=128, depth=3):
        super().__init__()
        tokens = (size // patch) ** 2
        self.stem = nn.Conv2d(3, dim, patch, stride=patch)
        self.blocks = nn.Sequential(*[Block(tokens, dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.stem(images).flatten(2).transpose(1, 2)
        x = self.blocks(x)
        return self.head(self.norm(x).mean(dim=1))


class Noise(torch.utils.data.IterableDataset):
    def __init__(self, batch, size, classes):
        self.batch, self.size, self.classes = batch, size, classes

    def __iter__(self):
        generator = torch.Generator().manual_seed(1)
        while True:
            images = torch.rand(self.batch, 3, self.size, self.size, generator=generator)
            labels = torch.randint(self.classes, (self.batch,), generator=generator)
            yield {"images": images, "labels": labels}


class Classify(Trainer):
    def __init__(self, *args, smoothing=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.smoothing = smoothing
        self.mean = torch.tensor([0.48, 0.46, 0.41], device=self.config.device).view(1, 3, 1, 1)
        self.std = torch.tensor([0.23, 0.22, 0.23], device=self.config.device).view(1, 3, 1, 1)

    def compute_loss(self, batch):
        images = (batch["images"] - self.mean) / self.std
        if self.step % 2 == 0:
            images = torch.flip(images, dims=[3])
        else:
            images = images + 0.01 * torch.randn_like(images)
        logits = self.model(images)
        loss = F.cross_entropy(logits, batch["labels"], label_smoothing=self.smoothing)
        penalty = sum(p.square().mean() for p in self.model.head.parameters())
        return loss + 1e-4 * penalty


class Accuracy(Callback):
    def __init__(self):
        self.labels = None

    def on_batch_start(self, trainer, batch):
        self.labels = batch["labels"]

    @every(1)
    def on_step_end(self, trainer):
        model = trainer.model
        was_training = model.training
        model.eval()
        with torch.no_grad():
            probe = torch.rand(8, 3, 128, 128, device=trainer.config.device)
            guess = model(probe).argmax(dim=-1)
            right = (guess == self.labels[:8]).float().mean()
        if was_training:
            model.train()
        trainer.log(right=right.item())


def main():
    torch.manual_seed(0)
    config = Config()
    loader = torch.utils.data.DataLoader(Noise(64, 128, 100), batch_size=None)
    trainer = Classify(Mixer(), config, callbacks=[Meter(), Average(), GuardNaN(), Accuracy()])
    print(trainer.fit(loader)[-1])


if __name__ == "__main__":
    main()
