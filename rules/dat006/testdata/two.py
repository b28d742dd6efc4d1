# Two files behind one name: kept in one attribute, the second would be the first.
import numpy as np
from torch.utils.data import Dataset


class Pairs(Dataset):
    def __getitem__(self, i):
        table = np.load(self.inputs)  # want
        return table[i], self.label(i)

    def label(self, i):
        table = np.load(self.labels)  # want
        return table[i]
