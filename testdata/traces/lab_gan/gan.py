"""A conditional GAN with two optimizers, loss scaling, spectral norm and a gradient penalty."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm

SIZE, NOISE, CLASSES = 32, 64, 10


class ConditionalNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, affine=False)
        self.gain = nn.Embedding(CLASSES, channels)
        self.shift = nn.Embedding(CLASSES, channels)

    def forward(self, x, y):
        gain, shift = 1 + self.gain(y), self.shift(y)
        return torch.addcmul(shift[..., None, None], self.norm(x), gain[..., None, None])


class Up(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.norm1, self.norm2 = ConditionalNorm(cin), ConditionalNorm(cout)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x, y):
        h = F.interpolate(F.leaky_relu(self.norm1(x, y), 0.2), scale_factor=2)
        h = self.conv1(h)
        h = self.conv2(F.leaky_relu(self.norm2(h, y), 0.2))
        return h + self.skip(F.interpolate(x, scale_factor=2))


class Generator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.width = width
        self.start = nn.Linear(NOISE, 4 * 4 * 4 * width)
        self.ups = nn.ModuleList([Up(4 * width, 4 * width), Up(4 * width, 2 * width), Up(2 * width, width)])
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, z, y):
        x = self.start(z).view(len(z), 4 * self.width, 4, 4)
        for up in self.ups:
            x = up(x, y)
        return torch.tanh(self.out(x))


class Critic(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        widths = [3, width, 2 * width, 4 * width]
        self.layers = nn.ModuleList(
            spectral_norm(nn.Conv2d(a, b, 4, stride=2, padding=1)) for a, b in zip(widths[:-1], widths[1:])
        )
        self.label = nn.Embedding(CLASSES, widths[-1])
        self.out = nn.Linear(widths[-1], 1)

    def forward(self, x, y):
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
        x = x.sum(dim=(2, 3))
        return self.out(x).squeeze(1) + (x * self.label(y)).sum(1)


def penalty(critic, real, fake, y):
    mix = torch.rand(len(real), 1, 1, 1, device=real.device)
    point = torch.lerp(real, fake.float(), mix).requires_grad_(True)
    score = critic(point, y)
    (grad,) = torch.autograd.grad(score.sum(), point, create_graph=True)
    norm = grad.flatten(1).norm(dim=1)
    return (norm - 1).square().mean()


class Pool:
    """Hands back an old picture half of the time."""

    def __init__(self, size):
        self.size, self.kept = size, []

    def query(self, images):
        if len(self.kept) < self.size:
            self.kept.extend(images.detach().unbind(0))
            return images
        out = []
        for i, image in enumerate(images):
            if i % 2 == 0:
                old = self.kept[i % self.size]
                self.kept[i % self.size] = image.detach()
                out.append(old)
            else:
                out.append(image)
        return torch.stack(out)


def main():
    torch.manual_seed(0)
    generator, critic = Generator().cuda(), Critic().cuda()
    opt_c = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.9), foreach=False)
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10)
    pool = Pool(24)
    for step in range(6):
        real = torch.rand(16, 3, SIZE, SIZE, device="cuda") * 2 - 1
        y = torch.randint(CLASSES, (16,), device="cuda")
        z = torch.randn(16, NOISE, device="cuda")

        with torch.autocast("cuda", dtype=torch.float16):
            fake = generator(z, y)
            scores = critic(real, y), critic(pool.query(fake.detach()), y)
            hinge = F.relu(1 - scores[0]).mean() + F.relu(1 + scores[1]).mean()
        if step % 2 == 0:
            hinge = hinge + 10.0 * penalty(critic, real, fake.detach(), y)
        opt_c.zero_grad()
        scaler.scale(hinge).backward()
        scaler.step(opt_c)

        for p in critic.parameters():
            p.requires_grad_(False)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = -critic(fake, y).mean()
        opt_g.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt_g)
        nn.utils.clip_grad_value_(generator.parameters(), 0.5)
        scaler.step(opt_g)
        scaler.update()
        for p in critic.parameters():
            p.requires_grad_(True)
        print(step, float(hinge), float(loss), scaler.get_scale())


if __name__ == "__main__":
    main()
