import torch


def resume(model, optimizer, path):
    model.cuda()
    checkpoint = torch.load(path, map_location="cuda", weights_only=True)  # want "step"
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])


def direct(optimizer, path):
    device = torch.device("cuda")
    optimizer.load_state_dict(torch.load(path, map_location=device))  # want


def cpu(optimizer, path):
    checkpoint = torch.load(path, map_location="cpu")
    optimizer.load_state_dict(checkpoint["optimizer"])
    other = torch.load(path)
    optimizer.load_state_dict(other["optimizer"])


def only_model(model, path):
    checkpoint = torch.load(path, map_location="cuda")
    model.load_state_dict(checkpoint["model"])
