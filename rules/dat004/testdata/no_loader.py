# Nobody in sight loads this dataset: whether with workers is not known.
import torch
from torch.utils.data import Dataset


class Orphan(Dataset):
    def __getitem__(self, i):
        x = torch.ones(3, device="cuda")  # want info
        return self.data[i].to("cuda", torch.float32)  # want info
