"""A language model with routed experts, rotary positions, checkpointing and a loss of its own."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        scale = x.float().pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(scale + self.eps).type_as(x)
        return x * self.weight


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, value):
        ctx.save_for_backward(gate, value)
        return F.silu(gate) * value

    @staticmethod
    def backward(ctx, grad):
        gate, value = ctx.saved_tensors
        sigmoid = torch.sigmoid(gate)
        silu = gate * sigmoid
        grad_value = grad * silu
        grad_gate = grad * value * (sigmoid + silu * (1 - sigmoid))
        return grad_gate, grad_value


def rotary_table(length, dim, device, base=10000.0):
    frequency = base ** (-torch.arange(0, dim, 2, device=device).float() / dim)
    angle = torch.outer(torch.arange(length, device=device).float(), frequency)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.size = dim // heads
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(dim, 2 * kv_heads * self.size, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x, table):
        b, t, c = x.shape
        q = self.q(x).view(b, t, self.heads, self.size)
        k, v = self.kv(x).view(b, t, 2, self.kv_heads, self.size).unbind(2)
        q, k = (rotate(part, *(half.unsqueeze(1) for half in table)) for part in (q, k))
        repeat = self.heads // self.kv_heads
        if repeat > 1:
            k = k.repeat_interleave(repeat, dim=2)
            v = v.repeat_interleave(repeat, dim=2)
        q, k, v = [part.transpose(1, 2) for part in (q, k, v)]
        y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down(SwiGLU.apply(gate, value))


class Routed(nn.Module):
    def __init__(self, dim, hidden, experts, top, capacity=1.5):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(experts))
        self.shared = Expert(dim, hidden)
        self.top = top
        self.capacity = capacity
        self.aux = None
        self.register_buffer("load", torch.zeros(experts))

    def balance(self, probabilities, chosen):
        one_hot = F.one_hot(chosen, len(self.experts)).float()
        share = one_hot.sum(1).mean(0)
        if self.training:
            self.load.lerp_(share, 0.1)
        return len(self.experts) * (share * probabilities.mean(0)).sum()

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        probabilities = self.router(x).float().softmax(dim=-1)
        weight, chosen = probabilities.topk(self.top, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        self.aux = self.balance(probabilities, chosen)
        limit = math.ceil(self.capacity * x.shape[0] * self.top / len(self.experts))
        out = self.shared(x)
        for index, expert in enumerate(self.experts):
            token, slot = (chosen == index).nonzero(as_tuple=True)
            if token.numel() == 0:
                continue
            if token.numel() > limit:
                token, slot = token[:limit], slot[:limit]
            part = expert(x[token])
            part = part * weight[token, slot].unsqueeze(-1).type_as(part)
            out = out.index_add(0, token, part.type_as(out))
        return out.view(shape)


class Layer(nn.Module):
    def __init__(self, dim, heads, routed):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.attention = Attention(dim, heads, heads // 2)
        self.mlp = Routed(dim, dim, 4, 2) if routed else Expert(dim, 2 * dim)

    def forward(self, x, table):
        x = x + self.attention(self.norm1(x), table)
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vocab=4096, dim=512, heads=8, layers=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, routed=i % 2 == 0) for i in range(layers))
        self.norm = RMSNorm(dim)
        self.size = dim // heads

    def forward(self, tokens):
        x = self.embed(tokens)
        table = rotary_table(tokens.shape[1], self.size, tokens.device)
        aux = 0.0
        for i, layer in enumerate(self.layers):
            if self.training and i == len(self.layers) - 1:
                x = checkpoint(layer, x, table, use_reentrant=False)
            else:
                x = layer(x, table)
            match layer.mlp:
                case Routed(aux=loss) if loss is not None:
                    aux = aux + loss
                case _:
                    pass
        return F.linear(self.norm(x), self.embed.weight), aux


def loss_of(logits, targets, z=1e-4, chunk=1024):
    logits, targets = logits.flatten(0, 1), targets.flatten()
    total = logits.new_zeros((), dtype=torch.float32)
    start = 0
    while start < targets.shape[0]:
        piece = logits[start : start + chunk].float()
        norm = torch.logsumexp(piece, dim=-1)
        picked = piece.gather(-1, targets[start : start + chunk, None]).squeeze(-1)
        total = total + (norm - picked).sum() + z * norm.square().sum()
        start += chunk
    return total / targets.shape[0]


def batches(data, batch, length):
    while True:
        offsets = torch.randint(len(data) - length - 1, (batch,)).tolist()
        rows = torch.stack([data[o : o + length + 1] for o in offsets])
        rows = rows.pin_memory().cuda(non_blocking=True)
        yield rows[:, :-1], rows[:, 1:]


def main():
    torch.manual_seed(0)
    data = torch.randint(4096, (200_000,))
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    best = float("inf")
    for step, (tokens, targets) in zip(range(6), batches(data, 8, 512)):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * min(1.0, (step + 1) / 4)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits, aux = model(tokens)
            loss = loss_of(logits, targets)
            total = loss + 0.01 * aux
        optimizer.zero_grad()
        total.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            continue
        optimizer.step()
        if (value := loss.item()) < best:
            best = value
    print(best)


if __name__ == "__main__":
    main()
