import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.own = nn.Linear(dim, dim)

    def forward(self, x, mask):
        a, _ = self.attn(x, x, x)  # want "self.attn"
        b = self.attn(x, x, x)[0]  # want "need_weights=False"
        c, weights = self.attn(  # want "`weights`, which nothing reads"
            x,
            x,
            x,
            attn_mask=mask,
        )
        d, seen = self.attn(x, x, x)
        e, _ = self.attn(x, x, x, need_weights=False)
        f = self.attn(x, x, x)
        g, _ = self.own(x)
        h, _ = self.attn(x, x, x, None, True)
        return a + b + c + d + e + g + h, seen, f


model = Block(64).cuda()
