"""Contrastive training on two GPUs: DDP, gathered features, accumulation with no_sync, uneven work."""
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        size = len(grad) // dist.get_world_size()
        return grad[dist.get_rank() * size :][:size]


class Tower(nn.Module):
    def __init__(self, inputs, dim, depth=3):
        super().__init__()
        self.stem = nn.Linear(inputs, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.out = nn.Linear(dim, 128, bias=False)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return F.normalize(self.out(x.mean(1)), dim=-1)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = Tower(192, 256), Tower(64, 256)
        self.scale = nn.Parameter(torch.tensor(2.6))

    def forward(self, image, text):
        a, b = self.image(image), self.text(text)
        a, b = Gather.apply(a), Gather.apply(b)
        logits = self.scale.exp() * a @ b.t()
        target = torch.arange(len(logits), device=logits.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def work(rank, rounds, device):
    """Augmentation that costs the second rank twice as much."""
    x = torch.rand(24, 64, 192, device=device)
    for _ in range(rounds * (rank + 1)):
        x = (x + torch.randn_like(x) * 0.01).clamp(0, 1)
    return x


def main():
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    torch.manual_seed(rank)
    device = torch.device("cuda", local)
    model = DistributedDataParallel(Pair().to(device), device_ids=[local], gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    accumulate = 2
    for step in range(6):
        for micro in range(accumulate):
            image = work(rank, 6, device)
            text = torch.rand(24, 16, 64).to(device)
            last = micro == accumulate - 1
            with contextlib.nullcontext() if last else model.no_sync():
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = model(image, text) / accumulate
                loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        if rank == 0 and step % 2 == 0:
            print(step, mean.item(), flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
