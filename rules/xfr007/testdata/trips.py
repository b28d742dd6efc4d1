import numpy as np
import torch
from scipy.optimize import linear_sum_assignment


def train(model, loader):
    model = model.cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, x in enumerate(loader):
        scores = model(x.cuda())
        order = np.argsort(scores.detach().cpu().numpy())  # want "line 12"
        order = torch.from_numpy(order).to("cuda")
        direct = torch.tensor(scores.detach().cpu().numpy() + 1).cuda()  # want
        cost = scores.detach().cpu()  # want info "linear_sum_assignment"
        rows, cols = linear_sum_assignment(cost)
        rows = torch.as_tensor(rows).to("cuda")
        kept = scores.detach().cpu()
        loss = scores.mean()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            y = scores.cpu().numpy()
            y = torch.from_numpy(y).cuda()
    return kept
