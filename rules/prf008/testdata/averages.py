import torch
from torch.profiler import profile


def report(prof):
    total = sum(e.self_cuda_time_total for e in prof.key_averages())  # want "self_device_time_total"
    for e in prof.key_averages():
        print(e.key, e.cuda_time_total, e.device_time_total)  # want "device_time_total"
    print(prof.key_averages().table(sort_by="self_cuda_time_total"))
    for e in prof.events():
        e.cuda_time_total = 0
        if hasattr(e, "cuda_time"):
            print(e.cuda_time)
        try:
            print(e.cuda_memory_usage)
        except AttributeError:
            print(e.device_memory_usage)
    return total
