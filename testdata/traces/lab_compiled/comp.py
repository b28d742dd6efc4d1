import os, sys, torch, torch.nn as nn, torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        h = self.norm(x)
        h = F.gelu(self.up(h))
        return x + self.down(h)


class Net(nn.Module):
    def __init__(self, dim=256, depth=3):
        super().__init__()
        self.stem = nn.Linear(dim, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        x = self.stem(x)
        x = x * torch.sigmoid(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@torch.compile
def smooth(loss, x):
    y = torch.tanh(x) * 2
    return loss + (y * y).mean()


def broken(x):
    y = torch.sin(x) + 1
    print("break")
    return torch.cos(y) * 3


def main(out, mode):
    torch.manual_seed(0)
    net = Net().cuda()
    if mode == "whole":
        net = torch.compile(net)
    elif mode == "blocks":
        for b in net.blocks:
            b.compile()
    elif mode == "graphs":
        net = torch.compile(net, mode="reduce-overhead")
    fn = torch.compile(broken)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=3, warmup=2, active=2, repeat=1),
                 on_trace_ready=lambda p: p.export_chrome_trace(out), record_shapes=True, with_stack=True) as prof:
        for step in range(7):
            x = torch.randn(64, 256, device="cuda")
            y = net(x)
            loss = F.cross_entropy(y, torch.zeros(64, dtype=torch.long, device="cuda"))
            loss = smooth(loss, x)
            loss = loss + fn(x).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
            prof.step()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
