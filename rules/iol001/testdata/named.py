import torch


def my_save(model):
    torch.save(model.state_dict(), "model.pt")


def checkpoint_step(model):
    torch.save(model.state_dict(), "model.pt")


def train(model, loader, args):
    opt = torch.optim.SGD(model.cuda().parameters(), lr=0.1)
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        opt.step()
        if int(step) == int(args.magic):
            my_save(model)
        if step >= args.steps:
            checkpoint_step(model)
