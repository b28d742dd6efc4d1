import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader


def train(model, opt, loader: DataLoader):
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()


def main(dataset, steps, kwargs):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(dataset, batch_size=4)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:  # want "records every step"
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
    with torch.profiler.profile() as prof:  # want "torch.profiler.profile"
        train(model, opt, loader)
    with profile(schedule=schedule(wait=1, warmup=1, active=3)) as prof:
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
            prof.step()
    with profile(**kwargs) as prof:
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
    with profile() as prof:
        for step in range(10):
            model(torch.randn(4, 8, device="cuda")).mean().backward()
            opt.step()
    with profile() as prof:
        for step, x in enumerate(loader):
            if step >= 10:
                break
            model(x.cuda()).mean().backward()
            opt.step()
    with profile() as prof:
        model(torch.randn(4, 8, device="cuda")).mean().backward()
    with profile() as prof:
        for step in range(steps):
            model(torch.randn(4, 8, device="cuda")).mean().backward()
            opt.step()
    print(prof.key_averages().table())
