import logging

import torch
from tqdm import tqdm

logger = logging.getLogger(__name__)


def train(model, loader, opt, debug):
    model = model.cuda()
    bar = tqdm(loader)
    for step, x in enumerate(bar):
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        print(step, loss)  # want "print(step, loss)"
        print(f"{step}: {loss}")  # want
        print("loss %.3f" % loss)  # want
        print("loss {}".format(loss))  # want
        logger.info(f"loss {loss:.3f}")  # want
        logger.info("loss %s", loss)  # want
        logging.warning("loss %s", loss)  # want
        bar.set_postfix(loss=loss)  # want
        bar.set_description(f"loss {loss}")  # want
        tqdm.write(f"{loss}")  # want
        print(step, loss.item())
        print(loss.shape, loss.device, len(x), x.size(0))
        print(step)
        logger.info("step %d", step)
        bar.set_postfix(step=step)
        if step % 20 == 0:
            print(loss)
        if debug:
            print(loss)
        print(loss.cpu())
    print(loss)
