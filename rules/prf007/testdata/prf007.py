import os

import torch
from lightning import Trainer

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"  # want "CUDA_LAUNCH_BLOCKING=1"
os.environ["CUDA_LAUNCH_BLOCKING"] = "0"
os.environ.setdefault("TORCH_DISTRIBUTED_DEBUG", "DETAIL")  # want "TORCH_DISTRIBUTED_DEBUG"
os.environ["TORCH_DISTRIBUTED_DEBUG"] = "INFO"
torch.autograd.set_detect_anomaly(True)  # want "set_detect_anomaly(True)"
torch.autograd.set_detect_anomaly(False)


def train(model, opt, loader, args):
    torch.autograd.set_detect_anomaly(args.debug)
    if args.debug:
        torch.autograd.set_detect_anomaly(True)
    trainer = Trainer(detect_anomaly=True, max_epochs=3)  # want "detect_anomaly=True"
    for x in loader:
        with torch.autograd.detect_anomaly():  # want "detect_anomaly()"
            model(x.cuda()).mean().backward()
        with torch.autograd.set_detect_anomaly(True):  # want "set_detect_anomaly"
            model(x.cuda()).mean().backward()
        opt.step()
    return trainer
