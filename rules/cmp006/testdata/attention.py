import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Causal(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        mask = torch.tril(torch.ones(t, t)).to(x.device)
        att = att.masked_fill(mask == 0, float("-inf"))
        att = F.softmax(att, dim=-1)  # want "is_causal=True"
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(b, t, c)
        return self.proj(y)


class Buffered(nn.Module):
    def __init__(self, dim, block):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.scale = dim ** -0.5
        self.register_buffer("bias", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, q, k, v):
        t = q.size(-2)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.scale
        scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        weights = self.drop(torch.softmax(scores, dim=-1))  # want "is_causal=True"
        return torch.matmul(weights, v)


class Masked(nn.Module):
    def forward(self, q, k, v, mask):
        att = q @ k.mT / math.sqrt(64)
        if mask is not None:
            att = att + mask
        att = att.softmax(dim=-1)  # want "scaled_dot_product_attention"
        return att @ v


class Padded(nn.Module):
    def forward(self, q, k, v, padding_mask):
        q = q * 0.125
        att = q @ k.transpose(-1, -2)
        att = att.masked_fill(padding_mask, float("-inf"))
        att = F.dropout(att.softmax(-1), p=0.1, training=self.training)  # want "scaled_dot_product_attention"
        out = att @ v
        return out


class Einsum(nn.Module):
    def forward(self, q, k, v):
        att = torch.einsum("bhid,bhjd->bhij", q, k) * 0.125
        att = att.softmax(dim=-1)  # want "scaled_dot_product_attention"
        return torch.einsum("bhij,bhjd->bhid", att, v)


class Returned(nn.Module):
    def forward(self, q, k, v):
        att = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return att @ v, att


class Stored(nn.Module):
    def forward(self, q, k, v):
        att = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        self.last = att
        return att @ v


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.rel = nn.Parameter(torch.zeros(8, 8))

    def forward(self, q, k, v):
        att = q @ k.transpose(-2, -1)
        att = att + self.rel
        att = att.softmax(dim=-1)
        return att @ v


class Custom(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.mix = nn.Conv2d(8, 8, 1)

    def forward(self, q, k, v):
        att = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        att = self.mix(att)
        return att @ v


class Temperature(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(4, 1, 1))

    def forward(self, q, k, v):
        att = (q @ k.transpose(-2, -1)) * self.temperature
        att = att.softmax(dim=-1)
        return att @ v


class Both(nn.Module):
    def forward(self, q, k, v):
        if self.flash:
            return F.scaled_dot_product_attention(q, k, v)
        att = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return att @ v


class Fused(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(block, block, dtype=torch.bool)))

    def forward(self, q, k, v, padding):
        t = q.size(-2)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:t, :t])  # want info "is_causal=True"
        b = F.scaled_dot_product_attention(q, k, v, attn_mask=padding)
        c = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return a + b + c


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x, prototypes):
        return (x @ prototypes.t()).softmax(dim=-1)


def main(loader):
    model = Causal(64, 4).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
