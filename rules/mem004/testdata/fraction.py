import torch

torch.cuda.set_per_process_memory_fraction(0.9)  # want "caps how much device memory"
torch.cuda.set_per_process_memory_fraction(0.5, device=0)  # want
torch.cuda.memory_reserved()
