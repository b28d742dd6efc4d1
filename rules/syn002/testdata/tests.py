import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x, mask=None):
        h = self.fc(x)
        if mask is not None:
            h = h * mask
        if h.shape[0] > 3 and h.dim() == 2:
            h = h[:3]
        if (h > 0).all():  # want "(h > 0).all()"
            h = -h
        if self.training:
            h = h * 2
        assert torch.isfinite(h).all(), "bad"  # want
        return h


def train(model, loader, opt, tolerance):
    model = model.cuda()
    ema = None
    count = 0
    for step, x in enumerate(loader):
        loss = model(x.cuda()).mean()
        if torch.isnan(loss):  # want "torch.isnan(loss)"
            continue
        if not torch.isfinite(loss):  # want "torch.isfinite(loss)"
            break
        while loss > tolerance:  # want "loss > tolerance"
            loss = loss / 2
        scale = 1.0 if loss > 0 else 2.0  # want "loss > 0"
        if step > 3 and loss > 10:  # want "loss > 10"
            count += 1
        if loss is None or ema is None:
            ema = loss.detach()
        if isinstance(loss, tuple) or hasattr(loss, "mean"):
            pass
        if loss.requires_grad and loss.is_cuda:
            pass
        if len(x) > 4 or x.size(0) == 3:
            pass
        if x.numel():
            pass
        if loss.device.type == "cuda" or loss.dtype == torch.float16:
            pass
        if step % 100 == 0 and torch.isnan(loss):
            break
        host = torch.zeros(3)
        if host.sum() > 0:
            pass
        value = loss.cpu()
        if value > 3:
            pass
        loss.backward()
        opt.step()
    if loss > 3:
        print("high")


def unknown(things, opt):
    for thing in things:
        thing.loss.backward()
        opt.step()
        if thing.loss > 3:  # want "thing.loss"
            pass
        if thing.score > 3:
            pass
