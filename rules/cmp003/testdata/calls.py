import torch
import torch.nn as nn


@torch.compile
def scaled(x: torch.Tensor, alpha):
    return x * alpha


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.calls = 0
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, step=0):
        self.calls += 1  # want "self.calls += 1"
        self.seen += 1
        return self.fc(x) * step


def train(loader, total, args):
    model = torch.compile(Net().cuda())
    plain = Net().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    tick = 0
    for step, x in enumerate(loader):
        x = x.cuda()
        tick += 1
        alpha = step / total
        y = scaled(x, alpha)  # want "alpha"
        y = scaled(y, args.alpha)
        y = scaled(y, torch.tensor(alpha))
        y = scaled(y, total)
        z = model(y, step)  # want "an int is a constant"
        z = model(z, step=tick)  # want "`tick` changes every step"
        z = plain(z, step)
        loss = z.mean()
        w = scaled(z, loss.item())  # want "loss.item()"
        if step % 100 == 0:
            scaled(z, step)
        loss.backward()
        opt.step()
    return w


def sizes(steps):
    model = torch.compile(nn.Sequential(nn.Linear(8, 8)).cuda())
    net = torch.compile(Net().cuda())
    free = torch.compile(Net().cuda(), dynamic=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        rows = 512 + 64 * (step % 3)
        x = torch.randn(rows, 8, device="cuda")
        fixed = torch.randn(512, 8, device="cuda")
        loss = net(x).mean() + net(fixed).mean() + free(x).mean()  # want info "changes with `step`"
        loss.backward()
        opt.step()
