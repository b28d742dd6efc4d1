"""Eight rounds with a loss scaler that leaves every other step out, as after an infinite gradient (stood in for: a scaler
checks gradients on a GPU only)."""
import torch

Scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = Scaler(enabled=False)
for i in range(8):
    model(torch.randn(2, 4)).sum().backward()
    if i % 2:
        optimizer.step = lambda: None
    scaler.step(optimizer)
    if i % 2:
        del optimizer.step
