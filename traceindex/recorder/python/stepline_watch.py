"""Watches a training and records a few steps when something is wrong: a slow step, a loss that is
no number, or because someone asked, by a signal, a file or a call.

Until then the profiler is off: each step costs a look at the clock. A capture is the recorder's own
window, as often as there is reason to; the last few are kept. Whatever fails here is a warning.
"""
import collections
import contextlib
import json
import math
import os
import signal
import sys
import threading
import time

import stepline_recorder
import stepline_ring
import stepline_textfile
import stepline_timing
import stepline_torch
import stepline_writer

WAITING, WARMING, RECORDING, CLOSED = "waiting", "warming", "recording", "closed"

SETTINGS = {
    "when": ["step>1.2*p95", "nan"],
    "keep": 5,  # captures
    "max_bytes": 1 << 30,  # of all captures kept
    "cooldown_s": 60.0,  # between one capture's end and the next slow step's or bad loss's
    "settle": 10,  # first steps, which are never judged
    "minimum": 20,  # steps timed before one is judged
    "baseline": 200,  # last steps that say what is usual
    "signal": "USR2",
    "textfile": None,  # figures for Prometheus are kept in this file
}
LOOK_EVERY_S = 0.25  # at the files through which captures are asked for
FREE_BYTES = 256 << 20  # a disk with less free space than this gets no capture
TRIGGER, SHARED = "capture-now", ".capture-request.json"


class Watcher(stepline_recorder.Recorder):
    """A recorder whose window opens when there is a reason."""

    def __init__(self, torch, config, started):
        super().__init__(torch, config, started)
        self.watch = dict(SETTINGS, **config.get("watch", {}))
        self.slow, self.bad_loss = stepline_timing.conditions(self.watch["when"])
        self.out = config["dir"]
        self.reset()
        self.captures = []
        self.failures = 0
        self.failed_last = None
        self.asked = None  # what a signal or a call asked for
        self.seen_files = {}  # name of a file that asks -> when it was written last
        self.textfile = None
        if self.watch["textfile"]:
            self.textfile = stepline_textfile.Textfile(os.path.abspath(self.watch["textfile"]), self.out, self.say)

    def reset(self):
        self.clock = stepline_timing.Clock(self.torch)
        self.losses = stepline_timing.Losses(self.torch, self.clock)
        self.baseline = stepline_timing.Baseline(self.watch["baseline"])
        self.recent_losses = collections.deque(maxlen=20)
        self.loss_was_bad = False
        self.losses_work = True
        self.request = None
        self.claimed = False
        self.disturbed = [0, self.watch["settle"]]  # steps, first to last, that say nothing of the training
        self.quiet_until = 0.0
        self.next_look = 0.0

    # ---- hooks

    def hook(self):
        super().hook()
        self._hook_asking()
        if self.bad_loss:
            stepline_timing.hook_backward(self.torch, self.replace, self._take_loss)

    def _hook_asking(self):
        for name in (TRIGGER, SHARED):  # what lies there already was meant for another run
            self.seen_files[name] = _written(os.path.join(self.out, name))
        number = getattr(signal, "SIG" + str(self.watch["signal"]), None)
        if number is None or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(number) is not signal.SIG_DFL:
            return  # the script's own comes first

        def asked(*_):
            self.asked = "signal " + self.watch["signal"]

        # It stays when the watching is over: with the signal's default the next one would end the training.
        signal.signal(number, asked)
        signal.siginterrupt(number, False)

    def _take_loss(self, loss):
        if self.state != WAITING or not self.losses_work or self.pid != os.getpid():
            return
        if self.thread is not None and self.thread != threading.get_ident():
            return
        try:
            self.losses.take(self.count + 1, loss)
        except Exception as error:
            self.losses_work = False
            self.say("losses are not looked at any more: %s: %s" % (type(error).__name__, error))

    # ---- steps

    def _step(self):
        self.count += 1
        if not self.claimed:
            if not self._claim():
                return
            self.claimed = True
            self.thread = threading.get_ident()
            self._end_early()
            if self.textfile:
                self.textfile.begin(self.rank, self._stem())
        for number, seconds in self.clock.tick(self.count):
            self._judge_time(number, seconds)
        if self.bad_loss and self.losses_work:
            for number, value in self.losses.tell():
                self._judge_loss(number, value)
        if self.asked:
            reason, self.asked = self.asked, None
            self._ask({"reason": "asked", "condition": reason, "step": self.count - 1})
        if self.textfile:
            self.textfile.step(self.count, self.baseline)
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look = now + LOOK_EVERY_S
            self._look_at_files()
        if self.state == RECORDING:
            self._end_recorded_step()
        elif self.request is not None and self.count >= self.request["at"]:
            if self.foreign:
                self._tell_foreign()
            elif self.state == WARMING:
                self._record()
            else:
                self._open()

    def _judge_time(self, number, seconds):
        if self.disturbed[0] <= number <= self.disturbed[1]:
            return
        if self.textfile:
            self.textfile.time(seconds)
        baseline = self.baseline
        if len(baseline) >= self.watch["minimum"]:
            for condition in self.slow:
                threshold = condition.threshold(baseline)
                if seconds > threshold:
                    self._found(
                        {
                            "reason": "slow-step",
                            "condition": condition.text,
                            "step": number - 1,
                            "value": seconds,
                            "threshold": threshold,
                            "unit": "s",
                        }
                    )
                    break
        baseline.add(seconds)

    def _judge_loss(self, number, value):
        self.recent_losses.append((number - 1, value))
        if self.textfile:
            self.textfile.take_loss(value)
        bad = not math.isfinite(value)
        if bad and not self.loss_was_bad:  # it stays bad from here on: once is enough
            self._found({"reason": "nan", "condition": "nan", "step": number - 1, "value": value})
        self.loss_was_bad = bad

    def _found(self, why):
        if self.request is None and self.state == WAITING and time.monotonic() >= self.quiet_until:
            self._ask(why)

    def _ask(self, why):
        """Plans a capture (why tells steps counted from 0, as ProfilerStep#N does); in a distributed run at a step that the other ranks can still reach."""
        if self.request is not None:
            return
        why = dict(why, seen_at_step=self.count - 1)
        if self.rank["world_size"] in (None, 1):
            self.request = dict(why, at=self.count)
            return
        usual = self.baseline.quantile(0.5) if len(self.baseline) else 0.1
        why["at"] = self.count + 2 + math.ceil(2 * LOOK_EVERY_S / max(usual, 1e-4))
        why["rank"] = self.rank["rank"]
        self.request = why
        path = os.path.join(self.out, SHARED)
        try:
            os.makedirs(self.out, exist_ok=True)
            with stepline_writer.Replacing(path) as part:
                with open(part, "w") as file:
                    json.dump(_plain(why), file)
            self.seen_files[SHARED] = _written(path)
        except OSError as error:
            self.say("the other ranks were not asked to record the same steps: %s" % error)

    def _look_at_files(self):
        if self._new(TRIGGER):
            self._ask({"reason": "asked", "condition": "file " + TRIGGER, "step": self.count - 1})
        if self.rank["world_size"] not in (None, 1) and self._new(SHARED):
            with contextlib.suppress(OSError, ValueError, KeyError):
                with open(os.path.join(self.out, SHARED)) as file:
                    asked = json.load(file)
                if self.state == WAITING and (self.request is None or self.request["at"] < asked["at"]):
                    self.request = asked

    def _new(self, name):
        written = _written(os.path.join(self.out, name))
        if written == self.seen_files.get(name):
            return False
        self.seen_files[name] = written
        return written is not None

    # ---- a capture

    def _open(self):
        self.disturbed = [self.count + 1, sys.maxsize]
        free = stepline_ring.free_bytes(self.out)
        if free is not None and free < FREE_BYTES:
            self._drop("the disk of %s has %d MB free" % (self.out, free >> 20))
            return
        self._start_warming()

    def _record(self):
        self.done = 0
        super()._record()

    def finish(self, why=None):
        begun = time.time()
        summary = self._summary()
        profiler = self._stop_profiler(release=True)
        ring = stepline_ring.Ring(self.out, self._stem())
        folder = ring.folder(self.first, self.request["reason"])
        try:
            stepline_writer.write(self.torch, profiler, dict(self.config, dir=folder), self.name, self.sources, summary)
            ring.write_reason(folder, _plain(self._reason(why)))
            self.captures.append(folder)
            lost = ring.trim(self.watch["keep"], self.watch["max_bytes"] // (self.rank["world_size"] or 1))
        except Exception:
            ring.discard(folder)
            raise
        self.failures = 0
        request = self.request
        if self.textfile:
            self.textfile.captured(request["reason"], folder)
        self._rest()
        if lost == folder:
            self.captures.remove(folder)
            self.say("a capture is larger than the disk space allowed for all of them, and was removed")
            return
        message = "%s: captured %s to %d in %s" % (_told(request), self.first, self.first + max(0, self.done - 1), folder)
        if why:
            message += ", " + why
        self.say(message + "; the training waited %.1f s for it" % (time.time() - begun))
        self._report()

    def _stem(self):
        return self.name[: -len(".trace.json.gz")]

    def _reason(self, why):
        """What is written of a capture; why says what ended it early."""
        baseline = None
        if len(self.baseline):
            baseline = {
                "steps": len(self.baseline),
                "median_s": self.baseline.quantile(0.5),
                "p95_s": self.baseline.quantile(0.95),
            }
        document = {
            "schema": 1,
            "trace": self.name,
            "recorded_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "captured": {"first": self.first, "steps": self.done, "complete": why is None},
            "clock": self.clock.name(),
            "baseline": baseline,
            "recent_losses": list(self.recent_losses),
        }
        document.update(self.rank)
        document.update((key, value) for key, value in self.request.items() if key not in ("at", "rank"))
        if self.request.get("rank") not in (None, self.rank["rank"]):
            document["asked_by_rank"] = self.request["rank"]
        return document

    # ---- what goes wrong

    def _rest(self):
        self.request = None
        self.disturbed[1] = self.count + 1
        self.quiet_until = time.monotonic() + self.watch["cooldown_s"]

    def _drop(self, reason):
        """A capture that cannot be made is told once for each kind of reason; the third in a row is the last try."""
        self.failures += 1
        self._rest()
        kind = reason.split(":")[0]
        if kind != self.failed_last:
            self.failed_last = kind
            self.say("no capture: %s; the training goes on" % reason)
        if self.failures >= 3:
            self.say("three captures failed one after the other; watching no longer")
            self._report()
            if self.textfile:
                self.textfile.end(self.count, self.baseline)
            self.close()

    def give_up(self, reason):
        with contextlib.suppress(Exception):
            self._stop_profiler()
        self.range = self.profiler = None
        self.state = WAITING
        self._drop(reason)

    def after_fork(self):
        super().after_fork()
        if self.state != CLOSED:
            self.thread = None
            self.reset()

    def at_exit(self):
        if self.state == CLOSED or self.pid != os.getpid():
            return
        try:
            if self.state == RECORDING:
                self.finish("the window closed early because the training ended")
            elif self.state == WARMING:
                self._stop_profiler()
        except Exception as error:
            self.say("no capture: %s: %s" % (type(error).__name__, error))
        if self.claimed:
            self._report()
            if self.textfile:
                self.textfile.end(self.count, self.baseline)
        self.close()

    def _report(self):
        names = [os.path.basename(folder) for folder in self.captures if os.path.isdir(folder)]
        usual = self.baseline.quantile(0.5) if len(self.baseline) else None
        message = "watched %d steps" % self.count
        if usual is not None:
            message += ", %.4g ms each (median of the last %d)" % (usual * 1e3, len(self.baseline))
        self.report("watched", message, quiet=True, captures=names, steps=self.count)


def _told(why):
    """A request in words."""
    if why["reason"] == "slow-step":
        told = "step %d took %.4g ms, over %.4g ms (%s)" % (
            why["step"],
            why["value"] * 1e3,
            why["threshold"] * 1e3,
            why["condition"],
        )
    elif why["reason"] == "nan":
        told = "the loss of step %d is %s" % (why["step"], why["value"])
    else:
        told = "asked for by %s at step %d" % (why["condition"], why["step"])
    return told


def _plain(value):
    """JSON has no NaN: such numbers become texts."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _written(path):
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


# ---- for people with their own loop


class Watch(Watcher):
    """A watcher that is told where a step ends; see watch()."""

    def hook(self):
        stepline_torch.hook_profilers(self)
        stepline_torch.hook_graphs(self)
        self._hook_asking()
        self._hook_process()

    def _claim(self):  # the script says what is watched
        self.rank = stepline_writer.rank_of(self.torch)
        self.name = stepline_writer.trace_name(self.rank)
        return True

    def step(self, loss=None):
        """Ends a step. loss: a tensor of one element, or a number; a tensor is not waited for."""
        if self.state == CLOSED or self.pid != os.getpid():
            return
        if loss is not None and self.bad_loss:
            self._take_loss(loss)
        try:
            self.seen += 1
            self._step()
        except Exception as error:
            self.give_up("%s: %s" % (type(error).__name__, error))

    def capture(self, reason="the script"):
        """Records the next steps."""
        self.asked = str(reason)

    def report(self, outcome, message, quiet=False, **more):
        if not quiet:
            self.say(message)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.at_exit()


def watch(out="stepline-captures", when=("step>1.2*p95", "nan"), steps=3, root=".", shapes=False, memory=False, **settings):
    """Watches a loop of your own and records steps when something is wrong:

        with stepline.watch("captures") as w:
            for batch in loader:
                loss = train_step(batch)
                w.step(loss=loss)

    Settings: keep, max_bytes, cooldown_s, settle, minimum, baseline, signal (None for none), textfile (a file in which figures for
    Prometheus are kept).
    """
    import torch

    unknown = set(settings) - set(SETTINGS)
    if unknown:
        raise TypeError("watch() has no setting %s; it has %s" % (", ".join(sorted(unknown)), ", ".join(SETTINGS)))
    config = {
        "dir": os.path.abspath(out),
        "control": "",
        "steps": steps,
        "warmup": 0,
        "shapes": shapes,
        "memory": memory,
        "root": os.path.abspath(root),
        "text": True,
        "version": None,
        "watch": dict(settings, when=[when] if isinstance(when, str) else list(when)),
    }
    watcher = Watch(torch, config, time.time())
    try:
        watcher.hook()
    except Exception as error:
        watcher.say("not watching: %s: %s" % (type(error).__name__, error))
        watcher.close()
    return watcher


RECORDER = Watcher
