import torch
from torch.nn.utils import clip_grad_norm_


def bad(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        loss = model(x.cuda()).mean()
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)  # want "scaler.unscale_(optimizer)"
        scaler.step(optimizer)
        scaler.update()


def good(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        loss = model(x.cuda()).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def plain(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def branches(model, loader, optimizer, scaler):
    for x in loader:
        loss = model(x.cuda()).mean()
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
        else:
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


def parameter(model, x, optimizer, scaler):
    scaler.scale(model(x.cuda()).mean()).backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)  # want
    scaler.step(optimizer)
