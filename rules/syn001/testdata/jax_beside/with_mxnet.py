from mxnet import nd, gluon


def train(model, trainer, loader):
    for x in loader:
        loss = model(x.as_in_context(device)).mean()
        loss.backward()
        trainer.step(1)
        loss.item()
