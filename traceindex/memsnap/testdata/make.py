"""Writes the pickles of this folder: python3 make.py. They have the shape of torch.cuda.memory._dump_snapshot."""
import gzip
import pickle

BASE = 0x7F00_0000_0000
TRAIN = [
    {"filename": "??", "line": 0, "name": "c10::cuda::malloc"},
    {"filename": "/venv/lib/python3.12/site-packages/torch/nn/functional.py", "line": 7, "name": "linear"},
    {"filename": "/srv/app/train.py", "line": 12, "name": "step"},
    {"filename": "/srv/app/train.py", "line": 30, "name": "<module>"},
]
KEEP = [{"filename": "/srv/app/train.py", "line": 14, "name": "step"}]
ENGINE = [{"filename": "engine.cpp", "line": 99, "name": "thread_main"}]


def growing():
    """Five steps; line 12 allocates 1000 bytes and frees them, line 14 keeps 100 bytes a step, the engine 10 that come before.
    One block of 5000 bytes was there before the recording and is still; one of 700 was, and is freed in step 1."""
    events, annotations, blocks, now = [], [], [], 1_700_000_000_000_000
    kept = []
    for step in range(5):
        annotations.append({"stage": "START", "name": f"ProfilerStep#{step}", "device": 0, "time_us": now})
        for addr, size, frames in ((BASE + 0x1000, 1000, TRAIN), (BASE + 0x10000 + 512 * step, 100, KEEP), (BASE + 0x2000, 10, ENGINE)):
            now += 10
            events.append({"action": "alloc", "addr": addr, "size": size, "stream": 0, "time_us": now, "frames": frames})
        kept.append(BASE + 0x10000 + 512 * step)
        for addr, size in ((BASE + 0x1000, 1000), (BASE + 0x2000, 10)) + (((BASE + 0x9000, 700),) if step == 1 else ()):
            for action in ("free_requested", "free_completed"):
                now += 1
                events.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": now, "frames": []})
        if step == 0:
            events.append({"action": "segment_alloc", "addr": BASE, "size": 1 << 20, "stream": 0, "time_us": now, "frames": TRAIN})
        now += 100
        annotations.append({"stage": "END", "name": f"ProfilerStep#{step}", "device": 0, "time_us": now})
        now += 100
    for addr in kept:
        blocks.append({"address": addr, "size": 512, "requested_size": 100, "state": "active_allocated", "frames": KEEP})
    blocks.append({"address": BASE + 0x8000, "size": 5120, "requested_size": 5000, "state": "active_allocated", "frames": KEEP})
    blocks.append({"address": BASE + 0xA000, "size": 2048, "requested_size": 0, "state": "active_pending_free", "frames": []})
    used = sum(b["size"] for b in blocks)
    blocks.append({"address": BASE + 0xB000, "size": (1 << 20) - used, "requested_size": 0, "state": "inactive", "frames": []})
    free = {"device": 0, "address": BASE + (1 << 21), "total_size": 1 << 21, "allocated_size": 0, "active_size": 0, "stream": 0,
            "segment_type": "large", "is_expandable": True, "frames": [],
            "blocks": [{"address": BASE + (1 << 21), "size": 1 << 21, "requested_size": 0, "state": "inactive", "frames": []}]}
    return {
        "segments": [{"device": 0, "address": BASE, "total_size": 1 << 20, "allocated_size": used - 2048, "active_size": used, "stream": 0,
                      "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": TRAIN, "blocks": blocks}, free],
        "device_traces": [events, [{"action": "oom", "addr": 0, "size": 1 << 30, "device_free": 12345, "stream": 0, "time_us": now, "frames": TRAIN}]],
        "allocator_settings": {"expandable_segments": False, "garbage_collection_threshold": 0.5, "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                               "huge": 2**70, "negative": -(2**40)},
        "external_annotations": annotations,
    }


def old():
    """torch.cuda.memory_snapshot() of PyTorch 2.0: a list of segments, blocks with a history and no address."""
    return [{"device": 0, "address": BASE, "total_size": 4096, "allocated_size": 512, "active_size": 512, "segment_type": "small",
             "blocks": [{"size": 512, "state": "active_allocated",
                         "history": [{"addr": BASE, "real_size": 400, "frames": KEEP}, {"addr": BASE, "real_size": 9, "frames": TRAIN}]},
                        {"size": 3584, "state": "inactive"}]}]


if __name__ == "__main__":
    for protocol in range(6):
        with open(f"growing.p{protocol}.pickle", "wb") as out:
            pickle.dump(growing(), out, protocol=protocol)
    with gzip.GzipFile("growing.pickle.gz", "wb", mtime=0) as out:
        pickle.dump(growing(), out)
    with open("old.pickle", "wb") as out:
        pickle.dump(old(), out)
    with open("other.pickle", "wb") as out:
        pickle.dump({"weights": [1.5, 2.5]}, out)
