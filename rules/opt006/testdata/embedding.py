import torch.nn as nn
import torch.nn.functional as F


def make(x, w, limit):
    a = nn.Embedding(10, 3, max_norm=1.0)  # want "max_norm=1.0"
    b = nn.EmbeddingBag(10, 3, max_norm=limit)  # want
    c = F.embedding(x, w, max_norm=1)  # want
    d = nn.Embedding(10, 3)
    e = nn.Embedding(10, 3, max_norm=None)
    return a.cuda()
