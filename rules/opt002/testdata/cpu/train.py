import torch


def train(model, x):
    model = model.cuda()
    return torch.optim.Adam(model.parameters())  # want info
