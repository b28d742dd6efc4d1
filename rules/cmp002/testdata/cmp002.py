import torch
import torch.nn as nn
import torch.nn.functional as F


class Gated(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, dim)

    def forward(self, x):
        h = F.silu(self.a(x))
        if h.sum().item() < 0:  # want "h.sum().item()"
            h = -h
        if x.shape[0] > 4:
            h = h * 2
        if torch.isnan(h).any():  # want "torch.where"
            h = torch.zeros_like(h)
        assert (h > -1e9).all()
        if not torch.compiler.is_compiling():
            print(h.mean().item())
        scale = float(x.shape[-1])
        self.note(h)
        return h / scale

    @torch.compiler.disable
    def note(self, h):
        print(h.mean().item())


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Gated(8) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return helper(x)


def helper(x):
    print("helper", x.shape)  # want "print"
    return x * value_of(x.mean())


def value_of(t):
    if torch.compiler.is_compiling():
        return t
    return t.item()


class Eager(nn.Module):
    def forward(self, x):
        print("eager")
        return x * x.mean().item()


@torch.compile(fullgraph=True)
def strict(x: torch.Tensor):
    return x * x.max().item()  # want "raises an error"


def main(loader):
    model = torch.compile(Stack().cuda())
    eager = Eager().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        x = x.cuda()
        loss = strict(eager(model(x))).mean()
        loss.backward()
        opt.step()
        print(loss.item())
