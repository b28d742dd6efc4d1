import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils import data as td


def plain(dataset, model, opt):
    device = torch.device("cuda")
    loader = DataLoader(dataset, batch_size=8, num_workers=4)
    for images, labels in loader:
        images = images.to(device)  # want "images.to(device)"
        labels = labels.to(device)  # want
        model(images, labels).backward()
        opt.step()


def enumerated(dataset, model, opt):
    loader = td.DataLoader(
        dataset,
        batch_size=8,
        num_workers=4,
    )
    for step, (images, labels) in enumerate(loader):
        loss = model(images.cuda(), labels.cuda(non_blocking=True))  # want "images.cuda()", "labels.cuda"
        loss.backward()
        opt.step()


def in_dict(dataset, model, opt, device="cuda"):
    loader = DataLoader(dataset, 8, True, num_workers=2)
    for batch in loader:
        x = batch["image"].to(device)  # want
        y = batch["label"].to("cuda:0")  # want
        batch = {k: v.to("cuda") for k, v in batch.items()}  # want
        model(x, y).backward()
        opt.step()


def on_main_thread(dataset, model, opt):
    loader = DataLoader(dataset, batch_size=8)
    for x in loader:
        model(x.cuda()).backward()  # want info
        opt.step()


def pinned(dataset, model, opt, flag, kwargs, device):
    for loader in [1]:
        pass
    a = DataLoader(dataset, num_workers=4, pin_memory=True)
    for x in a:
        model(x.cuda()).backward()
        opt.step()
    b = DataLoader(dataset, num_workers=4, pin_memory=flag)
    for x in b:
        model(x.cuda()).backward()
        opt.step()
    c = DataLoader(dataset, **kwargs)
    for x in c:
        model(x.cuda()).backward()
        opt.step()


def other_devices(dataset, model, opt):
    loader = DataLoader(dataset, num_workers=4)
    for x in loader:
        model(x.to("cpu")).backward()
        model(x.to("mps")).backward()
        model(x.to(torch.float16)).backward()
        model(x.to(torch.device("cpu"))).backward()
        model(x.half()).backward()
        opt.step()


def unknown(loader, model, opt, device):
    for x in loader:
        model(x.to(device)).backward()
        opt.step()


def on_gpu_already(model, opt):
    data = TensorDataset(torch.randn(100, 3, device="cuda"))
    loader = DataLoader(data, batch_size=8)
    for (x,) in loader:
        model(x.to("cuda")).backward()
        opt.step()


def evaluation(dataset, model):
    loader = DataLoader(dataset, batch_size=8, num_workers=4)
    with torch.no_grad():
        for x in loader:
            model(x.cuda())  # want info
