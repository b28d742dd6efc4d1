import h5py
import numpy as np
import torch
from torch.utils.data import Dataset


class Reopens(Dataset):
    def __init__(self, path):
        self.path = path
        self.index = np.load(path)
        self.file = None

    def __getitem__(self, i):
        with h5py.File(self.path, "r") as f:  # want "h5py.File"
            x = f["x"][i]
        table = np.load("table.npy")  # want
        own = np.load(self.paths[i])
        name = f"{self.root}/{i}.npy"
        other = np.load(name)
        mapped = np.load(self.path, mmap_mode="r")
        if self.file is None:
            self.file = h5py.File(self.path)
        return self.read(i) + self.read_all()

    def read(self, i):
        return np.load(self.paths[i])

    def read_all(self):
        return np.load(self.path)  # want
