import lightning as L
import torch
import torch.nn.functional as F
from transformers import Trainer


class Lit(L.LightningModule):
    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)
        loss = F.cross_entropy(logits, y)
        self.history.append(loss.item())  # want "training_step"
        if batch_idx % 50 == 0:
            self.history.append(loss.item())
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        # want info
        self.values.append(loss.item())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        loss = outputs.loss
        self.seen += loss.item()  # want "compute_loss"
        return (loss, outputs) if return_outputs else loss
