import torch.nn as nn
import torch.distributed as dist
import torch.nn.parallel
from torch.nn.parallel import DistributedDataParallel
from torch.distributed.fsdp import FullyShardedDataParallel


def build(rank, net, kwargs):
    dist.init_process_group("nccl")
    a = DistributedDataParallel(net.cuda(), device_ids=[rank])  # want "DistributedDataParallel"
    b = torch.nn.parallel.DistributedDataParallel(  # want "bucket"
        net.cuda(),
        device_ids=[rank],
    )
    c = DistributedDataParallel(net, device_ids=[rank], gradient_as_bucket_view=True)
    d = DistributedDataParallel(net, device_ids=[rank], gradient_as_bucket_view=False)
    e = DistributedDataParallel(net, **kwargs)
    f = FullyShardedDataParallel(net)
    g = nn.DataParallel(net)
    return a, b, c, d, e, f, g
