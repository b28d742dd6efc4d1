import torch
from torch.utils.data import DataLoader, Dataset


class OnGPU(Dataset):
    def __getitem__(self, i):
        a = self.data[i].cuda()  # want "self.data[i].cuda()"
        b = self.data[i].to("cuda:0")  # want
        c = torch.zeros(3, device="cuda")  # want
        d = self.data[i].to("cpu")
        e = self.data[i].to(self.device)
        return a


class MainProcess(Dataset):
    def __getitem__(self, i):
        return self.data[i].cuda()


def collate(items):
    return torch.stack(items).cuda()  # want


def make():
    a = DataLoader(OnGPU(), num_workers=4, collate_fn=collate)
    b = DataLoader(MainProcess(), num_workers=0)
    return a, b
