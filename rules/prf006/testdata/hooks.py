import torch


def before(module, args):
    torch.cuda.nvtx.range_push(type(module).__name__)


def after(module, args, output):
    torch.cuda.nvtx.range_pop()


def lost(model, x):
    torch.cuda.nvtx.range_push("lost")  # want "lost"
    return model(x.cuda())
