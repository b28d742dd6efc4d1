import torch


def f(dtype):
    scaler = torch.cuda.amp.GradScaler()
    with torch.autocast("cuda", dtype=dtype):
        pass
