import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main(model, loader, opt):
    mesh = init_device_mesh("cuda", (8, 4), mesh_dim_names=("dp", "tp"))  # want hint "large job"
    flat = init_device_mesh("cuda", (8,))
    fully_shard(model, mesh=mesh)
    for x in loader:
        model(x).mean().backward()
        opt.step()
    return flat
