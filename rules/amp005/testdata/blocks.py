import torch
import torch.nn as nn
from torch import autocast
from torch.cuda.amp import autocast as cuda_autocast


def plain(model, loader, criterion, optimizer, scaler):
    model = model.cuda()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        with torch.autocast("cuda", dtype=torch.float16):  # comment stays
            out = model(x)
            loss = criterion(out, y)
            # the optimizer's part
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()  # want "scaler.scale(loss).backward()"

            scaler.step(optimizer)
            scaler.update()
        print("done")


def good(model, loader, criterion, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            out = model(x.cuda())
            loss = criterion(out, y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def others_move_too(model, loader, optimizer):
    for x in loader:
        with autocast("cuda"):
            loss = model(x.cuda()).mean()
            loss.backward()  # want "backward"
            print("stepping")
            optimizer.step()
            optimizer.zero_grad()


def forward_goes_on(model, loader, optimizer):
    for x in loader:
        with cuda_autocast():
            loss = model(x.cuda()).mean()
            loss.backward()  # want "backward"
            optimizer.step()
            again = model(x.cuda()).mean()
            print(again.shape)


def clipping(model, loader, optimizer):
    for x in loader:
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            loss = model(x.cuda()).mean()
            loss.backward()  # want
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


def island(model, loader, optimizer):
    for x in loader:
        with torch.autocast("cuda", enabled=False):
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()


def penalty(model, loader, optimizer):
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
            loss.backward(create_graph=True)
            optimizer.step()


def zero_first(model, loader, optimizer):
    for x in loader:
        with torch.autocast("cuda"):
            optimizer.zero_grad()  # want "zero_grad"
            loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()


def all_inside_loop(model, loader, optimizer):
    with torch.autocast("cuda"):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()  # want
            optimizer.step()


def two_contexts(model, loader, optimizer):
    for x in loader:
        with torch.enable_grad(), torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
            loss.backward()  # want
            optimizer.step()


def other_steps(model, loader, optimizer, prof, scheduler):
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
            prof.step()
        loss.backward()
        optimizer.step()


def string(model, loader, optimizer):
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
            loss.backward()  # want
            print("""one
                two
  three""")
        optimizer.step()
