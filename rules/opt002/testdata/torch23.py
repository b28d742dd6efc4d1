# torch: >=2.3
import torch


def train(model, loader, fused):
    model = model.cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)  # want info "fused"
    b = torch.optim.SGD(model.parameters(), lr=1e-3)  # want info "fused"
    c = torch.optim.Adagrad(model.parameters(), lr=1e-3)
    d = torch.optim.AdamW(model.parameters(), fused=fused)
    e = torch.optim.AdamW(model.parameters(), fused=True)
    f = torch.optim.AdamW(model.parameters(), capturable=True)
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
        opt.zero_grad()
