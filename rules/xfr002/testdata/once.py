import torch


class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.ones(8).cuda(non_blocking=True)

    def forward(self, x):
        return x * torch.ones(8).cuda(non_blocking=True)  # want


def gather(model, loader):
    features = None
    for x in loader:
        if features is None:
            features = torch.zeros(100, 8)
            features = features.cuda(non_blocking=True)
        features[0] = model(x)
