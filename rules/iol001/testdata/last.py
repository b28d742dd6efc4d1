import torch


def save_checkpoint(model, path):
    torch.save(model.state_dict(), path)


def save_always(model, path):
    torch.save(model.state_dict(), path)  # want info


def train(model, loader, opt, args):
    model = model.cuda()
    last_step = False
    for step, x in enumerate(loader):
        progress = step / args.steps
        model(x.cuda()).mean().backward()
        opt.step()
        if last_step:
            save_checkpoint(model, "last.pt")
        if progress >= 1:
            save_checkpoint(model, "final.pt")
            exit(0)
        save_always(model, "model.pt")
