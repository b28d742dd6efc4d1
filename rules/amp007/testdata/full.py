import torch.nn as nn

a = nn.Linear(300, 511).cuda()
