import gc

import torch


def train(model, loader, opt):
    model = model.cuda()
    for epoch in range(3):
        for step, x in enumerate(loader):
            try:
                loss = model(x.cuda()).mean()
                loss.backward()
            except RuntimeError:
                torch.cuda.empty_cache()
                continue
            opt.step()
            torch.cuda.empty_cache()  # want "torch.cuda.empty_cache()"
            gc.collect()  # want "gc.collect()"
            clean()
            if step % 100 == 0:
                torch.cuda.empty_cache()
        torch.cuda.empty_cache()
        gc.collect()
    torch.cuda.empty_cache()


def clean():
    torch.cuda.empty_cache()  # want


def infer(model, xs):
    for x in xs:
        model(x.cuda())
        torch.cuda.empty_cache()
