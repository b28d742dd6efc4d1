"""Records a window of training steps with torch.profiler, from inside an unmodified script.

A step ends where the marking optimizer returns from step(): the one that steps last in the script's
round, learnt while it warms up. Until the window the cost is one
extra Python call a step; after it the hooks are taken out again. Nothing here may stop the
training: every way in catches what goes wrong, says it in one line and lets go.
"""
import atexit
import contextlib
import functools
import json
import os
import sys
import threading
import time
import warnings
import weakref

import stepline_torch
import stepline_writer

CLOSED = stepline_torch.CLOSED
WAITING, WARMING, RECORDING = "waiting", "warming", "recording"

# An optimizer that has stepped this often while the marking one stood still takes its place:
# the marking one belonged to a phase that is over.
TAKE_OVER_AFTER = 8


# What each mode is made of, in the order of import; the last part has the mode's RECORDER.
PARTS = {
    "watch": ("stepline_timing", "stepline_ring", "stepline_textfile", "stepline_watch"),
    "time": ("stepline_timing", "stepline_timer"),
    "range": ("stepline_range",),
}
_load = None  # how a process under `stepline record` gets at the recorder's other parts


def attach(torch, config, started, load):
    """Hooks torch; called once, when the process has imported it. load(name) brings in a part of the recorder."""
    global _load
    _load = load
    config = json.loads(config)
    kind = Recorder
    for part in PARTS.get(config.get("mode"), ()):
        kind = getattr(load(part), "RECORDER", kind)
    recorder = kind(torch, config, started)
    try:
        recorder.hook()
    except Exception:
        recorder.close()
        raise
    return recorder


class Recorder:
    def __init__(self, torch, config, started):
        self.torch = torch
        self.config = config
        self.started = started
        self.folder_at_start = stepline_torch.current_folder()
        self.pid = os.getpid()
        self.state = WAITING
        self.ours = False  # true while this recorder itself starts the profiler
        self.foreign = 0  # profilers of the script that are running
        self.foreign_told = False
        self.seen = 0  # optimizer steps, of any optimizer
        self.count = 0  # steps: those of the marking optimizer
        self.first = None  # number of the first recorded step
        self.done = 0  # recorded steps that ended
        self.marker = None
        self.marker_name = None
        self.others = {}  # id of another optimizer -> its steps since the marking one's last
        self.last_other = None
        self.nesting = threading.local()
        self.thread = None
        self.profiler = None
        self.frames = True  # whether Python frames are recorded
        self.range = None
        self.sources = None
        self.undo = []
        self.afterwards = None  # runs when the hooks are out
        self.graphs = False  # whether the script has captured a CUDA graph

    # ---- hooks

    def hook(self):
        self._hook_steps()
        stepline_torch.hook_profilers(self)
        stepline_torch.hook_graphs(self)
        self._hook_process()

    def _hook_steps(self):
        optimizer = self.torch.optim.Optimizer
        # 2.0 renamed it; both run for every optimizer made or unpickled.
        name = "_patch_step_function" if hasattr(optimizer, "_patch_step_function") else "_hook_for_profile"
        self._hook_step_of_new_optimizers(optimizer, name)
        self._hook_post_step()
        self._hook_scaler()

    def _hook_process(self):
        atexit.register(self.at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.after_fork)

    def replace(self, owner, name, function):
        """Sets an attribute until close()."""
        original = getattr(owner, name)
        setattr(owner, name, function)

        def undo():
            if getattr(owner, name, None) is function:
                setattr(owner, name, original)

        self.undo.append(undo)

    def _hook_step_of_new_optimizers(self, optimizer, name):
        original = getattr(optimizer, name)
        recorder = self

        @functools.wraps(original)
        def patch(self):
            original(self)
            if recorder.state != CLOSED:
                recorder._wrap_step(type(self))

        self.replace(optimizer, name, patch)

    def _wrap_step(self, owner):
        function = owner.step
        if getattr(function, "__code__", None) is stepline_torch.marking_code:
            return
        self.replace(owner, "step", stepline_torch.marking(function, self))

    def _hook_post_step(self):
        # torch 2.0 to 2.2 take the outermost wrapper off every optimizer when torch.compile first
        # runs (torch/_dynamo/eval_frame.py, TorchPatcher): then this hook marks the steps.
        # (torch.optim deletes its attribute "optimizer".)
        module = sys.modules.get("torch.optim.optimizer")
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register is None:
            return

        def hook(optimizer, args, kwargs):
            if not getattr(self.nesting, "depth", 0):
                self.mark(optimizer)

        self.undo.append(register(hook).remove)

    def _hook_scaler(self):
        # A scaler that finds an infinite gradient does not call the optimizer: that is a step too.
        amp = getattr(self.torch, "amp", None)
        scaler = getattr(amp, "GradScaler", None) or getattr(getattr(self.torch.cuda, "amp", None), "GradScaler", None)
        if scaler is None:
            return
        original = scaler.step
        recorder = self

        @functools.wraps(original)
        def step(self, optimizer, *args, **kwargs):
            seen = recorder.seen
            out = original(self, optimizer, *args, **kwargs)
            if recorder.seen == seen:
                recorder.mark(optimizer)
            return out

        self.replace(scaler, "step", step)

    def close(self):
        """Takes every hook out again; what stays of it in other objects returns at once."""
        self.state = CLOSED
        for undo in reversed(self.undo):
            with contextlib.suppress(Exception):
                undo()
        self.undo = []
        if self.afterwards is not None:
            self.afterwards()
            self.afterwards = None
        self.profiler = self.range = self.marker = self.sources = None
        self.others = {}

    # ---- steps

    def mark(self, optimizer):
        """An optimizer's step has just ended."""
        if self.state == CLOSED:
            return
        try:
            self.seen += 1
            if self._ends_a_step(optimizer):
                self._step()
        except Exception as error:
            self.give_up("%s: %s" % (type(error).__name__, error))

    def _ends_a_step(self, optimizer):
        # An optimizer stepped by autograd's own thread (optimizer in backward) marks nothing: the
        # profiler follows the thread that started it.
        if isinstance(threading.current_thread(), threading._DummyThread):
            return False
        if self.thread is not None and self.thread != threading.get_ident():
            return False
        marker = self.marker and self.marker()
        if marker is not optimizer:
            if marker is not None:
                times = self.others.get(id(optimizer), 0) + 1
                self.others[id(optimizer)] = times
                self.last_other = weakref.ref(optimizer)
                if times < TAKE_OVER_AFTER:
                    return False
            self._mark_with(optimizer)
        elif self.count == 1 and self.others and self.state != RECORDING:
            # The first optimizer comes round again (a critic before its generator, say): its first
            # step ended nothing, the last one of the round did and will.
            last = self.last_other()
            if last is not None:
                self._mark_with(last)
                return False
        self.others.clear()
        return True

    def _mark_with(self, optimizer):
        self.marker = weakref.ref(optimizer)
        self.marker_name = type(optimizer).__name__
        self.others.clear()

    def _step(self):
        self.count += 1
        warmup = max(1, self.config["warmup"])
        if self.state == RECORDING:
            self._end_recorded_step()
        elif self.foreign:
            self._tell_foreign()
        elif self.state == WARMING and self.count >= warmup:
            self._record()
        elif self.state == WAITING and self.count >= warmup:
            if self._prepare():
                self._record()
        elif self.state == WAITING and self.count == warmup - 1:
            self._prepare()

    def _end_recorded_step(self):
        self._end_range()
        self.done += 1
        if self.done >= self.config["steps"]:
            self.finish()
        else:
            self._begin_range()

    def _begin_range(self):
        number = self.first + self.done
        self.range = self.torch.autograd.profiler.record_function("ProfilerStep#%d" % number)
        self.range.__enter__()

    def _end_range(self):
        if self.range is not None:
            self.range.__exit__(None, None, None)
            self.range = None

    # ---- the window

    @contextlib.contextmanager
    def _quietly(self):
        """Marks the profiler as ours and keeps its advice for interactive users off stderr."""
        self.ours = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            self.ours = False

    def _prepare(self):
        """Takes the rank's place and lets the profiler warm up; false if another process has it."""
        if not self._claim():
            return False
        self._start_warming()
        self._end_early()
        return True

    def _end_early(self):
        # Registered late, so that it runs before what the script registered early; a child of
        # multiprocessing runs its own list and no atexit.
        atexit.register(self.at_exit)
        with contextlib.suppress(ImportError):
            from multiprocessing import util

            util.Finalize(None, self.at_exit, exitpriority=1000)

    def _claim(self):
        self.rank = stepline_writer.rank_of(self.torch)
        self.name = stepline_writer.trace_name(self.rank)
        owner = stepline_writer.claim(self.config["control"], self.name)
        if owner is not None:
            self.report("skipped", "process %s records %s" % (owner, self.name), quiet=True)
            self.close()
            return False
        return True

    def _start_warming(self):
        """Reads the sources and has the profiler made ready."""
        self.sources = stepline_writer.Sources(self.config, self.folder_at_start, self.started)
        self.sources.add_modules()
        with self._quietly():
            from torch.profiler import ProfilerActivity, profile

            activities = [ProfilerActivity.CPU]
            if self.torch.cuda.is_available():
                activities.append(ProfilerActivity.CUDA)
            elif hasattr(ProfilerActivity, "XPU") and hasattr(self.torch, "xpu") and self.torch.xpu.is_available():
                activities.append(ProfilerActivity.XPU)
            self.frames = self.config.get("frames", True) and stepline_torch.frames_are_safe(self.torch)
            self.profiler = profile(
                activities=activities,
                record_shapes=bool(self.config["shapes"]),
                profile_memory=bool(self.config["memory"]),
                with_stack=self.frames,
            )
            self.profiler.prepare_trace()
        if self.config.get("snapshot"):
            self._remember_allocations()
        self.thread = threading.get_ident()
        self.state = WARMING

    def _record(self):
        self.first = self.count
        if self.torch.cuda.is_available() and self.torch.cuda.is_initialized():
            # What was launched before the window would run in it with nothing to say where it came from.
            self.torch.cuda.synchronize()
        with self._quietly():
            self.profiler.start_trace()
        self.state = RECORDING
        self._begin_range()

    def _remember_allocations(self):
        # https://pytorch.org/docs/stable/torch_cuda_memory.html: from 2.1 on a snapshot holds each block's Python frames.
        remember = getattr(getattr(self.torch.cuda, "memory", None), "_record_memory_history", None)
        if remember is None or not self.torch.cuda.is_available():
            self.say("no memory snapshot: it needs a GPU and torch 2.1 or newer")
            self.config["snapshot"] = False
            return
        remember(max_entries=100000, stacks="python")

    def _write_snapshot(self):
        path = os.path.join(self.config["dir"], self.name[: -len(".trace.json.gz")] + ".memory.pickle")
        self.torch.cuda.memory._dump_snapshot(path)
        self.torch.cuda.memory._record_memory_history(enabled=None)
        self.say("wrote %s, a memory snapshot: `stepline lines` reads it beside the trace" % path)

    def _stop_profiler(self, release=False):
        """Stops the profiler in whatever state it is; returns it if it holds a recording."""
        state, profiler = self.state, self.profiler
        self.state = WAITING
        self.profiler = None
        if state == RECORDING:
            self._end_range()
        elif state == WARMING:
            with self._quietly():
                profiler.start_trace()
        else:
            return None
        if release and self.config.get("release", True) and not self.graphs:
            self.afterwards = stepline_torch.let_go_of_cupti(self.torch) or self.afterwards
        with self._quietly():
            profiler.stop_trace()
        return profiler if state == RECORDING else None

    def _summary(self):
        """What the files say of the window, asked before it is closed."""
        return {
            "first": self.first,
            "done": self.done,
            "partial": "ProfilerStep#%d" % (self.first + self.done) if self.range is not None else None,
            "rank": self.rank,
            "optimizer": self.marker_name,
            "optimizer_steps": self.seen,
        }

    def finish(self, why=None):
        """Ends the window and writes what was recorded; why says what ended it early."""
        begun = time.time()
        summary = self._summary()
        profiler = self._stop_profiler(release=why is None)
        events = stepline_writer.write(self.torch, profiler, self.config, self.name, self.sources, summary)
        if self.config.get("snapshot"):
            self._write_snapshot()
        seconds = time.time() - begun
        steps = "step %d" % self.first if self.done == 1 else "steps %d to %d" % (self.first, self.first + self.done - 1)
        if not self.done:
            steps = "a part of step %d" % self.first
        message = "wrote %s: %s" % (os.path.join(self.config["dir"], self.name), steps)
        if not self.frames and self.config.get("frames", True):
            message += (
                " without Python frames, so without time per line (torch %s crashes on Python %d.%d when it records "
                "them; 2.7.1 does not)" % ((self.torch.__version__,) + sys.version_info[:2])
            )
        if why:
            message += " of the %d asked for, %s" % (self.config["steps"], why)
        else:
            message += "; the script waited %.1f s for it and goes on without the profiler" % seconds
        self.report("written", message, quiet=not why and self.rank["rank"] not in (None, 0), events=events)
        self.close()

    def give_up(self, reason):
        """Something in the recorder failed: let go of the profiler, say so once, record nothing more."""
        with contextlib.suppress(Exception):
            self._stop_profiler()
        if "replay stack" in reason:
            # https://github.com/pytorch/pytorch/pull/155446: 3.12.0 to 3.12.4 lose C calls.
            reason = "torch %s could not put the recorded Python calls together on Python %s; newer ones of both can" % (
                self.torch.__version__,
                sys.version.split()[0],
            )
        self.report("failed", "not recorded: %s; the script goes on without the profiler" % reason)
        self.close()

    # ---- what the script does meanwhile

    def script_profiler_starts(self):
        self.foreign += 1
        if self.state == CLOSED:
            return
        try:
            if self.state == RECORDING and self.done:
                self.finish("because the script started its own profiler at " + stepline_torch.script_line())
                return
            self._tell_foreign()
            if self.state in (RECORDING, WARMING):
                self._stop_profiler()
                self.range = None
        except Exception as error:
            self.give_up("%s: %s" % (type(error).__name__, error))

    def _tell_foreign(self):
        if not self.foreign_told:
            self.foreign_told = True
            self.foreign_line = stepline_torch.script_line()
            self.say(
                "the script runs its own profiler (%s); only one can run at a time, so this one waits until "
                "that one has stopped. To record now, take it out of the script" % self.foreign_line
            )

    def after_fork(self):
        """In a forked child: a window open in the parent is the parent's alone."""
        if self.state == RECORDING:
            # The C hook that feeds the parent's profiler came along with the thread's state.
            sys.setprofile(None)
        if self.state in (WARMING, RECORDING):
            self.close()
        self.pid = os.getpid()
        self.count = self.seen = 0
        self.marker = None

    def at_exit(self):
        if self.state == CLOSED or self.pid != os.getpid():
            return
        try:
            if self.state == RECORDING:
                self.finish("because the script ended")
                return
            if self.state == WARMING:
                self._stop_profiler()
            if self.foreign_told:
                self.report("foreign", "nothing recorded: the script's own profiler (%s) was running" % self.foreign_line)
            elif self.count:
                self.report(
                    "short",
                    "nothing recorded: the script ended after %d optimizer step%s and recording starts after %d; "
                    "choose a smaller --warmup" % (self.count, "" if self.count == 1 else "s", max(1, self.config["warmup"])),
                )
            self.close()
        except Exception as error:
            self.give_up("%s: %s" % (type(error).__name__, error))

    def report(self, outcome, message, quiet=False, **more):
        rank = getattr(self, "rank", None) or stepline_writer.rank_of(self.torch)
        status = dict(more, outcome=outcome, message=message, pid=self.pid, rank=rank["rank"])
        status["trace"] = getattr(self, "name", None)
        with contextlib.suppress(Exception):
            stepline_writer.write_status(self.config["control"], status)
        if not quiet:
            self.say(message)

    def say(self, message):
        rank = getattr(self, "rank", None) or {}
        where = "" if rank.get("rank") is None else "rank %d: " % rank["rank"]
        with contextlib.suppress(Exception):
            sys.stderr.write("stepline record: %s%s\n" % (where, " ".join(message.split())))
            sys.stderr.flush()


def watch(*args, **kwargs):
    """Watches a loop of your own and records steps when something is wrong; see stepline_watch.watch."""
    if "stepline_watch" not in sys.modules and _load is not None:
        for part in PARTS["watch"]:
            _load(part)
    import stepline_watch

    return stepline_watch.watch(*args, **kwargs)
