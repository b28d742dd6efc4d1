import torch
import torch.nn as nn
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader


def main(dataset, args, handler):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(dataset, batch_size=4)
    with profile(with_stack=True, record_shapes=True, profile_memory=True) as prof:  # want "for the whole run"
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
    forever = profile(
        schedule=schedule(wait=1, warmup=1, active=3),
        on_trace_ready=handler,
        with_stack=True,
        record_shapes=True,  # want "never ends"
        profile_memory=True,
    )
    once = profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=1), with_stack=True, record_shapes=True, profile_memory=True)
    two = profile(schedule=schedule(wait=1, warmup=1, active=3), with_stack=True, record_shapes=True)
    own = profile(schedule=args.schedule, with_stack=True, record_shapes=True, profile_memory=True)
    with profile(with_stack=True, record_shapes=True, profile_memory=True):
        model(torch.randn(4, 8, device="cuda"))
    if args.debug:
        debug = profile(schedule=schedule(wait=1, warmup=1, active=3), with_stack=True, record_shapes=True, profile_memory=True)
        debug.start()
    return forever, once, two, own
