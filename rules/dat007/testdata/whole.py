# Files read as a whole, once.
import h5py
import numpy as np
from torch.utils.data import Dataset


class Whole(Dataset):
    def __init__(self, path):
        f = h5py.File(path, "r")
        self.inputs = [np.asarray(f[key][:]) for key in f]
        self.all = h5py.File(path, "r")["x"][:]
        self.lazy = h5py.File(path, "r")["y"]  # want

    def process(self):
        f = h5py.File(self.raw_path, "r")
        return f["faces"][()]

    def __getitem__(self, i):
        return self.inputs[i], h5py.File(self.paths[i])["z"][i]  # want
