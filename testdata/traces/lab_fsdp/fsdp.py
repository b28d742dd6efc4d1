"""A small language model sharded over two GPUs with FSDP (fully_shard), checkpointed layers."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, dim, heads, parallel):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.norm2 = None if parallel else nn.LayerNorm(dim)

    def forward(self, x):
        h = self.norm(x)
        if self.norm2 is None:
            return x + self.attention(h) + self.mlp(h)
        x = x + self.attention(h)
        return x + self.mlp(self.norm2(x))


class LM(nn.Module):
    def __init__(self, vocab=4096, dim=512, depth=4, context=256):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.place = nn.Parameter(torch.zeros(context, dim))
        self.blocks = nn.ModuleList(Block(dim, 8, parallel=i % 2 == 1) for i in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.remat = {0, 2}

    def run(self, i, block, x):
        if i in self.remat and self.training:
            return checkpoint(block, x, use_reentrant=False)
        return block(x)

    def forward(self, tokens):
        x = self.token(tokens) + self.place[: tokens.shape[1]]
        for i, block in enumerate(self.blocks):
            x = self.run(i, block, x)
        return self.head(self.norm(x))


def shard(model):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    return fully_shard(model, mp_policy=policy)


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    torch.manual_seed(0)
    model = shard(LM().cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(6):
        tokens = torch.randint(4096, (8, 257)).cuda()
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if dist.get_rank() == 0:
            print(step, loss.item(), float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
