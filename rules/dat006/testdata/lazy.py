import h5py
import numpy as np
from torch.utils.data import Dataset


class Codes(Dataset):
    def __init__(self, manifest):
        self.manifest = manifest
        self._codes = None
        self.is_loaded = False

    def open_files(self):
        self._codes = np.load(self.manifest)

    def load(self):
        if self.is_loaded:
            return
        self.z = np.load(self.manifest)
        self.is_loaded = True

    def __getitem__(self, i):
        if self._codes is None:
            self.open_files()
        self.load()
        return self._codes[i], self.z[i]


class Each(Dataset):
    def __getitem__(self, i):
        with h5py.File(self.path, "r") as file:  # want
            x = file["x"][i]

            # the label
            y = file["y"][i]
        return x, y
