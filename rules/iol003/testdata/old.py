# torch: >=1.13,<2.6
import torch

state = torch.load("model.pt", map_location="cpu")  # want
