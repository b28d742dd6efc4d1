"""Times an unmodified script's steps for `stepline verify`: no profiler, no wait for the GPU.

At the script's end it writes steps' times, losses, waits for the loader and memory peaks into the
folder that the command reads. With a seed it seeds torch, random and NumPy before the script does.
"""
import functools
import json
import os
import random
import sys
import threading
import time

import stepline_recorder
import stepline_timing
import stepline_writer

MOST = 200000  # steps, losses and batches kept; what comes after is counted only


class Timer(stepline_recorder.Recorder):
    def __init__(self, torch, config, started):
        super().__init__(torch, config, started)
        self.reset()

    def reset(self):
        self.ends = []  # (host's clock in ns, CUDA event or None) at each step's end
        self.losses = []  # a number, or a tensor on the GPU to be read at the end
        self.waits = []  # (ns in the loader's __next__, whether it was an iterator's first)
        self.thread = None

    # ---- hooks

    def hook(self):
        self._seed()
        self._hook_steps()
        self._hook_loader()
        stepline_timing.hook_backward(self.torch, self.replace, self._take_loss)
        self._hook_process()

    def _seed(self):
        seed = self.config.get("seed")
        if seed is None:
            return
        random.seed(seed)
        self.torch.manual_seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % (1 << 32))

    def _hook_loader(self):
        from torch.utils.data import dataloader

        original = dataloader._BaseDataLoaderIter.__next__
        timer = self

        @functools.wraps(original)
        def __next__(self):
            first = not getattr(self, "_num_yielded", 1)
            begun = time.perf_counter_ns()
            batch = original(self)
            if len(timer.waits) < MOST and timer.pid == os.getpid():
                timer.waits.append((time.perf_counter_ns() - begun, first))
            return batch

        self.replace(dataloader._BaseDataLoaderIter, "__next__", __next__)

    def _take_loss(self, loss):
        if self.state == stepline_recorder.CLOSED or self.pid != os.getpid() or len(self.losses) >= MOST:
            return
        try:
            if loss.numel() != 1 or not loss.is_floating_point() or stepline_timing.capturing(self.torch):
                return
            self.losses.append(loss.item() if loss.device.type == "cpu" else loss.detach().clone())
        except Exception:
            pass  # a loss that cannot be read is not compared; the training goes on

    # ---- steps

    def _step(self):
        self.count += 1
        if len(self.ends) >= MOST:
            return
        if self.thread is None:
            self.thread = threading.get_ident()
        event = None
        if self.torch.cuda.is_initialized() and not stepline_timing.capturing(self.torch):
            event = self.torch.cuda.Event(enable_timing=True)
            event.record()
        self.ends.append((time.perf_counter_ns(), event))

    def after_fork(self):
        self.pid = os.getpid()
        self.count = self.seen = 0
        self.marker = None
        self.reset()

    def give_up(self, reason):
        self.say("steps are not timed any more: %s" % reason)
        self.close()

    # ---- the end

    def at_exit(self):
        if self.state == stepline_recorder.CLOSED or self.pid != os.getpid():
            return
        try:
            if self.count or self.waits:
                self._write()
        except Exception as error:
            self.say("the steps' times are lost: %s: %s" % (type(error).__name__, error))
        self.close()

    def _write(self):
        clock, times = self._times()
        document = {
            "pid": self.pid,
            "steps": self.count,
            "clock": clock,
            "step_ns": times,
            "losses": [repr(float(loss)) for loss in self.losses],  # as texts: JSON has no NaN
            "wait_ns": [wait for wait, _ in self.waits],
            "first_waits": [number for number, (_, first) in enumerate(self.waits) if first],
        }
        document.update(stepline_writer.rank_of(self.torch))
        if self.torch.cuda.is_initialized():
            document["gpu_peak_bytes"] = self.torch.cuda.max_memory_allocated()
            document["gpu_reserved_bytes"] = self.torch.cuda.max_memory_reserved()
        try:
            import resource

            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            document["host_peak_bytes"] = peak if sys.platform == "darwin" else peak * 1024
        except ImportError:
            pass
        with stepline_writer.Replacing(os.path.join(self.config["control"], "timing-%d.json" % self.pid)) as part:
            with open(part, "w") as file:
                json.dump(document, file)

    def _times(self):
        """Each step's time in ns from the end of the one before; by CUDA events where all steps have one."""
        ends = self.ends
        if len(ends) > 1 and all(event is not None for _, event in ends[1:]):
            try:
                self.torch.cuda.synchronize()
                marks = [event for _, event in ends if event is not None]
                gpu = [int(marks[i].elapsed_time(marks[i + 1]) * 1e6) for i in range(len(marks) - 1)]
                return "cuda events", gpu
            except Exception:  # events of two devices: the host's clock remains
                pass
        return "host", [ends[i + 1][0] - ends[i][0] for i in range(len(ends) - 1)]


RECORDER = Timer
