import json
import pickle

import numpy as np
from torch.utils.data import DataLoader, Dataset


class Items(Dataset):
    def __init__(self, path):
        self.items = json.load(open(path))  # want "json.load(open(path))"
        with open(path, "rb") as f:
            self.more = pickle.load(f)  # want
        self.lines = open(path).readlines()  # want
        self.array = np.array(json.load(open(path)))
        self.few = [1, 2, 3]

    def __getitem__(self, i):
        return self.items[i]


class NoWorkers(Dataset):
    def __init__(self, path):
        self.items = json.load(open(path))

    def __getitem__(self, i):
        return self.items[i]


a = DataLoader(Items("x"), num_workers=4)
b = DataLoader(NoWorkers("x"), num_workers=0)
