import lightning as L
import mlflow
import torch
import wandb
from torch.utils.tensorboard import SummaryWriter


def train(model, loader, opt):
    model = model.cuda()
    writer = SummaryWriter()
    for step, x in enumerate(loader):
        loss = model(x.cuda()).mean()
        loss.backward()
        opt.step()
        writer.add_scalar("loss", loss, step)  # want "add_scalar"
        writer.add_scalar("loss", loss.item(), step)  # want "loss.item()"
        wandb.log({"loss": loss, "step": step})  # want "wandb.log"
        wandb.log({"loss": loss.item()})  # want
        mlflow.log_metric("loss", loss.item())  # want
        writer.add_scalar("lr", opt.param_groups[0]["lr"], step)
        wandb.log({"step": step})
        if step % 50 == 0:
            wandb.log({"loss": loss.item()})
            writer.add_scalar("loss", loss, step)
    wandb.log({"loss": loss.item()})


class Lit(L.LightningModule):
    def training_step(self, batch, batch_idx):
        loss = self.net(batch).mean()
        self.log("loss", loss)
        self.log("loss", loss.item(), prog_bar=True)  # want "self.log"
        self.log_dict({"loss": loss.item(), "n": 3})  # want "self.log_dict"
        self.log("n", 3.0)
        return loss
