import torch


def get_batch(data, device):
    x = torch.stack([data[i] for i in range(4)])
    y = torch.stack([data[i + 1] for i in range(4)])
    x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().cuda()  # want "x.pin_memory()", "y.pin_memory()"
    return x, y


def train(model, data, opt):
    device = "cuda"
    model.to(device)
    buffer = torch.empty(4, 4).pin_memory()
    for step in range(100):
        x, y = get_batch(data, device)
        loss = model(x, y)
        loss.backward()
        opt.step()
        z = buffer.to(device, non_blocking=True)
        if step % 50 == 0:
            get = torch.zeros(3).pin_memory().to(device)
    once = torch.zeros(3).pin_memory().to(device)


class Prefetcher:
    def preload(self, batch):
        self.next = batch.pin_memory().cuda(non_blocking=True)
