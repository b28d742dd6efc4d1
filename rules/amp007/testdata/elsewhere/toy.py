# Nothing in this file, or in a file that imports it, runs in half precision.
import torch.nn as nn

layer = nn.Linear(50, 511).cuda()
