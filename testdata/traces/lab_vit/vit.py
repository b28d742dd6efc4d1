"""A vision transformer seen through many wrappers, with distillation from a frozen twin."""
import contextlib
import copy
import functools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from wrappers import Chain, DropPath, Hooked, LowRank, keep_dtype, with_defaults


@keep_dtype
def layer_scale(x, gamma):
    return x * gamma


def attention(q, k, v, bias=None, impl="math"):
    if impl == "fused":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    return scores.softmax(-1) @ v


@with_defaults(heads=6)
class SelfAttention(nn.Module):
    takes = 2

    def __init__(self, dim, heads, impl="math"):
        super().__init__()
        self.heads = heads
        self.qkv = LowRank(nn.Linear(dim, 3 * dim))
        self.proj = nn.Linear(dim, dim)
        self.attend = functools.partial(attention, impl=impl)
        self.norm_q, self.norm_k = nn.LayerNorm(dim // heads), nn.LayerNorm(dim // heads)

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.heads, -1).transpose(1, 2)

    def forward(self, x, bias):
        q, k, v = map(self.split, self.qkv(x).chunk(3, dim=-1))
        q, k = self.norm_q(q), self.norm_k(k)
        y = self.attend(q, k, v, bias=bias)
        y = y.transpose(1, 2).flatten(2)
        return self.proj(y)


class MLP(nn.Module):
    activations = {"gelu": F.gelu, "relu2": lambda x: F.relu(x).square(), "silu": F.silu}

    def __init__(self, dim, ratio=4, act="gelu"):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, ratio * dim), LowRank(nn.Linear(ratio * dim, dim))
        self.act = self.activations[act]

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Scaled(nn.Module):
    takes = 2

    def __init__(self, dim, module, init=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.module = module
        self.gamma = nn.Parameter(torch.full((dim,), init))

    def forward(self, x, bias=None):
        x = self.norm(x)
        extra = () if bias is None else (bias,)
        return layer_scale(self.module(x, *extra), self.gamma)


class ViT(nn.Module):
    def __init__(self, dim=384, depth=4, size=160, patch=16, classes=50):
        super().__init__()
        self.patch = nn.Sequential(nn.Conv2d(3, dim, patch, patch), nn.Flatten(2))
        self.side = size // patch
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, self.side**2 + 1, dim) * 0.02)
        self.bias = nn.Embedding((2 * self.side - 1) ** 2, 6)
        self.register_buffer("index", self._index(self.side), persistent=False)
        blocks = []
        for i in range(depth):
            impl = "fused" if i % 2 else "math"
            mix = DropPath(Scaled(dim, SelfAttention(dim, impl=impl)), 0.1 * i)
            mix.takes = 2
            blocks.append(mix)
            blocks.append(DropPath(Scaled(dim, MLP(dim, act=("gelu", "relu2", "silu")[i % 3])), 0.1))
        self.blocks = Chain(*blocks)
        self.head = Hooked(nn.Linear(dim, classes), before=lambda x: (x[:, 0],), after=lambda y: y.float())

    @staticmethod
    def _index(side):
        grid = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
        delta = grid[:, :, None] - grid[:, None, :] + side - 1
        return delta[0] * (2 * side - 1) + delta[1]

    def relative(self):
        table = self.bias(self.index).permute(2, 0, 1)
        return F.pad(table, (1, 0, 1, 0))[None]

    def tokens(self, images):
        x = self.patch(images).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1)
        return x + self.pos

    def forward(self, images, return_features=False):
        x = self.tokens(images)
        bias = self.relative().to(x.dtype)
        x = self.blocks(x, bias)
        logits = self.head(x)
        return (logits, x) if return_features else logits


@contextlib.contextmanager
def frozen(model):
    flags = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    try:
        with torch.no_grad():
            yield model
    finally:
        for p, flag in zip(model.parameters(), flags):
            p.requires_grad_(flag)


class Distil:
    def __init__(self, student, temperature=2.0, momentum=0.99):
        self.student = student
        self.teacher = copy.deepcopy(student).eval()
        self.temperature, self.momentum = temperature, momentum

    def views(self, images):
        yield images
        yield torch.roll(images, shifts=(8, 8), dims=(2, 3)) if images.shape[0] % 2 == 0 else images.flip(3)

    def __call__(self, images, labels):
        with frozen(self.teacher) as teacher:
            targets = [(teacher(view) / self.temperature).softmax(-1) for view in self.views(images)]
        losses = {}
        for name, view in zip(("plain", "shifted"), self.views(images)):
            logits, features = self.student(view, return_features=True)
            losses[name] = F.cross_entropy(logits, labels)
            losses[name + "_kd"] = -(targets[0 if name == "shifted" else 1] * logits.log_softmax(-1)).sum(-1).mean()
            if name == "plain":
                losses["spread"] = 0.01 * features.var(dim=0).clamp_max(1.0).mean().neg()
        return sum(losses.values()), losses

    @torch.no_grad()
    def follow(self):
        pairs = zip(self.teacher.parameters(), self.student.parameters())
        for teacher, student in pairs:
            teacher.lerp_(student, 1 - self.momentum)


def main():
    torch.manual_seed(0)
    model = ViT().cuda()
    task = Distil(model)
    named = dict(model.named_parameters())
    slow = [p for n, p in named.items() if n.endswith("bias") or "norm" in n]
    fast = [p for n, p in named.items() if not (n.endswith("bias") or "norm" in n)]
    optimizer = torch.optim.AdamW([{"params": fast}, {"params": slow, "weight_decay": 0}], lr=1e-3)
    step_fn, clear = optimizer.step, optimizer.zero_grad
    for step in range(6):
        images = torch.randn(32, 3, 160, 160).cuda()
        labels = torch.randint(50, (32,)).to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=step > 0):
            loss, parts = task(images, labels)
        loss.backward()
        step_fn()
        clear()
        task.follow()
        if step % 3 == 2:
            print({k: round(v.item(), 3) for k, v in parts.items()})


if __name__ == "__main__":
    main()
