def accuracy(logits, target):
    pred = logits.argmax(dim=1)
    correct = (pred == target).float().mean()
    return correct.item()  # want "correct.item()"


def rarely(logits):
    return logits.mean().item()


def never_called(logits):
    return logits.mean().item()


def after_training(logits):
    return logits.mean().item()


def on_numpy(values):
    return values.mean().item()
