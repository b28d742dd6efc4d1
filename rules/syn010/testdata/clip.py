import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, strict):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # want
        clip_grad_norm_(model.parameters(), 1.0, 2.0, True)  # want
        clip_grad_norm_(model.parameters(), 1.0)
        clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=False)
        clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=strict)
        if step % 100 == 0:
            clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        opt.step()
