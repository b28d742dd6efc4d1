import torch
from torch.autograd import set_detect_anomaly as watch


def setup(config):
    watch(True)  # want
    print(config)
