import torch

scaler = torch.cuda.amp.GradScaler()
with torch.autocast("cuda", dtype=torch.float16):
    pass
with torch.autocast("cuda", torch.bfloat16):
    pass
