import torch
from torch.nn.utils import clip_grad_norm_


def step(model, flag):
    model.cuda()
    clip_grad_norm_(model.parameters(), 1.0, foreach=False)  # want "foreach=False"
    torch.nn.utils.clip_grad_value_(model.parameters(), 1.0, foreach=False)  # want
    clip_grad_norm_(model.parameters(), 1.0)
    clip_grad_norm_(model.parameters(), 1.0, foreach=True)
    clip_grad_norm_(model.parameters(), 1.0, foreach=flag)
