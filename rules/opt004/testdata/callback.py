import torch
from transformers import TrainerCallback


class Average(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        for e, p in zip(self.ema.parameters(), model.parameters()):  # want "on_step_end"
            e.data.mul_(0.99).add_(p.data, alpha=0.01)
