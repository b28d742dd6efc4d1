import torch


def setup(config):
    if config.detect_anomaly:
        torch.autograd.set_detect_anomaly(True)
    if config.train:
        torch.autograd.set_detect_anomaly(True)  # want
