import torch
import torch.nn as nn
from torch.profiler import profile, schedule

timetable = schedule(wait=1, warmup=1, active=3)


def run(model, opt, loader, prof):
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
        prof.step()


def main(loader, callbacks, out):
    model = nn.Linear(8, 8).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(schedule=schedule(wait=1, warmup=1, active=3)) as prof:  # want "prof.step()"
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()  # the last statement
    with profile(schedule=timetable) as p:  # want "p.step()"
        for x in loader:
            if x is None:
                continue
            model(x.cuda()).mean().backward()
            opt.step()
    with profile(schedule=timetable):  # want "records no step"
        run(model, opt, loader, None)
    with profile(schedule=timetable) as prof:
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
            prof.step()
    with profile(schedule=timetable) as prof:
        run(model, opt, loader, prof)
    callbacks.append(profile(schedule=timetable))
    with profile(schedule=None) as prof:
        for x in loader:
            model(x.cuda()).mean().backward()
            opt.step()
    prof = profile(schedule=timetable)
    prof.start()
    for x in loader:
        model(x.cuda()).mean().backward()
        opt.step()
        prof.step()
    prof.stop()
