import torch


def evaluate(model, loader):
    model.eval()
    correct = 0
    for x, y in loader:
        correct += (model(x.cuda()).argmax(1) == y.cuda()).sum()  # want "evaluate"
    return correct


@torch.no_grad()
def decorated(model, loader):
    model.eval()
    for x in loader:
        model(x.cuda())


def inside(model, loader):
    model.eval()
    with torch.no_grad():
        for x in loader:
            model(x.cuda())


def called_without(model, loader):
    model.eval()
    for x in loader:
        model(x.cuda())


def attack(model, loader):
    model.eval()
    for x in loader:
        x.requires_grad_(True)
        model(x.cuda()).sum().backward()


def saliency(model, loader):
    model.eval()
    for x in loader:
        torch.autograd.grad(model(x.cuda()).sum(), x)


def train(model, loader, opt):
    model.train()
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
    with torch.inference_mode():
        called_without(model, loader)


class Runner:
    def validate(self, loader):
        self.model.eval()
        for x in loader:
            out = self.model(x.cuda())  # want "validate"
        return out
