#!/usr/bin/env python3
"""Counts what python3's json finds in traces, as the table that TestPublicTraces compares with.

    count_traces.py FOLDER < list.tsv > public_traces.tsv

Each line of the list: file name in FOLDER, repository, path, commit. The files are other projects' and are not shipped.
"""
import collections, gzip, json, sys
from decimal import Decimal

GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
print("\t".join(["file", "repository", "path", "commit", "cpu_op", "python_function", "runtime", "user_annotation", "kernel",
                 "gpu_memcpy", "gpu_memset", "gpu_ns", "linked", "parents"]))
for line in sys.stdin:
    name, repo, path, commit = line.rstrip("\n").split("\t")[:4]
    data = open(sys.argv[1] + "/" + name, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = json.loads(data, parse_float=Decimal, strict=False)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    count, gpu_ns, calls, ids, works, parents = collections.Counter(), 0, set(), set(), [], []
    for e in events:
        if e.get("ph") != "X":
            continue
        cat = e.get("cat", "").lower()
        if cat == "mtia_ccp_events":
            cat = {"dma_request": "gpu_memcpy", "event_wait": "sync", "event_record": "sync"}.get(e["name"], "kernel")
        cat = {"mtia_runtime": "runtime", "operator": "cpu_op", "cuda_driver": "runtime", "cuda_runtime": "runtime", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}.get(cat, cat)
        if cat == "kernel" and (e["name"] == "Marker" or e["name"].startswith("CopyHostTo") or e["name"].startswith("CopyDeviceTo")):
            cat = "gpu_memcpy" if e["name"] != "Marker" else "marker"
        count[cat] += 1
        a = e.get("args") or {}
        if cat in GPU:
            gpu_ns += int((Decimal(e["dur"]) * 1000).to_integral_value())
            works.append(a.get("correlation"))
        elif cat == "runtime" and a.get("correlation") not in (None, 0, -1):
            calls.add(a["correlation"])
        elif cat == "python_function":
            ids.add((e["tid"], a.get("Python id")))  # a parent on another thread (recomputation in backward) is no frame around
            parents.append((e["tid"], a.get("Python parent id")))
    linked = sum(1 for c in works if c in calls)
    with_parent = sum(1 for p in parents if p[1] not in (None, "null") and p in ids)
    print("\t".join(map(str, [name, repo, path, commit] + [count[c] for c in ("cpu_op", "python_function", "runtime", "user_annotation",
          "kernel", "gpu_memcpy", "gpu_memset")] + [gpu_ns, linked, with_parent])), flush=True)
