# The step has another name here.
import torch
from steps import one_step as advance


def train(model, opt, loader):
    model = model.cuda()
    for x in loader:
        loss = advance(model, opt, x)
        loss.item()  # want


def through_a_variable(model, opt, loader):
    once_more = advance
    model = model.cuda()
    for x in loader:
        loss = once_more(model, opt, x)
        loss.item()  # want
