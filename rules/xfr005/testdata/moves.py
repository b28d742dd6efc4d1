import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.once = torch.ones(3).to("cuda")

    def forward(self, x):
        b, t, c = x.shape
        mask = torch.tril(torch.ones(t, t)).to(x.device)  # want "torch.tril(torch.ones(t, t)).to(x.device)"
        pos = torch.arange(t).to(x.device)  # want
        noise = torch.randn(b, t).to(x.device)  # want
        zeros = torch.zeros(b, dtype=torch.long).cuda()  # want
        both = torch.zeros(  # want
            b,
            t,
        ).to(x.device)
        good = torch.zeros(b, device=x.device)
        typed = torch.zeros(b).to(torch.float16)
        other = torch.zeros(b).to("cpu")
        twice = torch.zeros(b).to(x.device, torch.float16)  # want
        like = torch.zeros_like(x).to(x.device)
        return self.fc(x) * mask


def train(model, loader, device):
    model = model.to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    first = torch.zeros(3).to(device)
    for step, x in enumerate(loader):
        h = torch.zeros(1, 4).to(device)  # want
        n = torch.randn(1, 4).cuda(non_blocking=True)  # want
        model(x.to(device), h, n).mean().backward()
        opt.step()
        if step % 100 == 0:
            shown = torch.zeros(3).to(device)
