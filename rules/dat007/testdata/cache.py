import h5py
from torch.utils.data import Dataset


class Data(Dataset):
    def __init__(self, path):
        self.a = h5py.File(path, "r")  # want "rdcc_nbytes"
        self.b = h5py.File(path, "r", rdcc_nbytes=1 << 26)
        self.c = h5py.File(path, driver="core")
        self.d = h5py.File(path, "w")

    def __getitem__(self, i):
        return self.a["x"][i]


def convert(path):
    return h5py.File(path, "r")
