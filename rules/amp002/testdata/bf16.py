import torch


def train(model, loader, opt, dtype):
    scaler = torch.cuda.amp.GradScaler()  # want "torch.cuda.amp.GradScaler()"
    new = torch.amp.GradScaler("cuda")  # want
    off = torch.amp.GradScaler("cuda", enabled=False)
    maybe = torch.amp.GradScaler("cuda", enabled=dtype == "fp16")
    for x in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(x.cuda()).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
