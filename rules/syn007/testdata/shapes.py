import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x, idx):
        h = self.fc(x)
        mask = h > 0
        kept = h[mask]  # want "h[mask]"
        also = h[h > 1]  # want
        where = torch.where(mask, h, 0.0)
        places = torch.where(mask)  # want
        nz = torch.nonzero(h)  # want
        nz2 = h.nonzero()  # want
        sel = torch.masked_select(h, mask)  # want
        uniq = torch.unique(h)  # want
        u2 = h.unique()  # want
        h[mask] = 0
        first = h[0]
        part = h[:, 1:3]
        gathered = h[idx]
        filled = h.masked_fill(mask, 0.0)
        return kept


class Data(torch.utils.data.Dataset):
    def __getitem__(self, i):
        x = self.items[i]
        return x[x > 0]


model = Net().cuda()
