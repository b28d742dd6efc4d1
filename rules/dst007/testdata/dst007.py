import os

import torch.distributed as dist

os.environ["NCCL_DEBUG"] = "INFO"  # want "NCCL_DEBUG=INFO"
os.environ.setdefault("NCCL_DEBUG", "TRACE")  # want "NCCL_DEBUG=TRACE"
os.environ["NCCL_DEBUG"] = "WARN"
os.environ["NCCL_DEBUG"] = os.environ.get("LEVEL", "INFO")
os.environ["NCCL_DEBUGINFO"] = "1"  # want "the name is `NCCL_DEBUG`"
os.environ['NCCL_TRACE_FILE'] = '/tmp/nccl.log'  # want "NCCL_DEBUG_FILE"
os.environ["NCCL_SOKCET_IFNAME"] = "eth0"  # want "NCCL_SOCKET_IFNAME"
os.environ["NCCL_IB_DISABLE"] = "1"
os.environ["NCCL_SOME_NEW_SWITCH"] = "1"
os.environ["NCCL_DEBUG_FILE"] = "/tmp/nccl.%h.%p.log"
os.environ.update({"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "1"})  # want "NCCL_DEBUG=INFO"
os.environ.update(NCCL_DEBUG="VERSION")
settings = {"NCCL_DEBUG": "INFO"}


def main(args):
    if args.debug:
        os.environ["NCCL_DEBUG"] = "INFO"
    os.putenv("NCCL_DEBUG", "INFO")  # want "NCCL_DEBUG=INFO"
    dist.init_process_group("nccl")
