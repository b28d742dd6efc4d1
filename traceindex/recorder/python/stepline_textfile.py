"""The live figures of a watched training as a file in Prometheus' text format, for node_exporter's
textfile collector: step times, losses, captures.

The file is replaced whole, every few seconds, by the training thread at a step's end: a step that
does not end leaves it as it is, and stepline_train_last_step_timestamp_seconds shows that.
Names and labels are listed in docs/guides/monitoring.md.
"""
import bisect
import math
import os
import socket
import time

import stepline_writer

# Bounds of the step times' histogram: fine enough that a p95 20 % over its baseline falls into another bucket.
BOUNDS_S = tuple(float("%.4g" % (base * 10.0 ** exponent)) for exponent in range(-4, 2) for base in (1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4, 5, 6, 7.5, 9)) + (100.0,)
WRITE_EVERY_S = 5.0


class Textfile:
    """Collects the figures of one process and writes them."""

    def __init__(self, path, captures, say, every_s=WRITE_EVERY_S):
        self.path, self.say, self.every_s = path, say, every_s
        self.captures_folder = captures
        self.labels = {}
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0
        self.bad_losses = 0
        self.loss = None
        self.captures = {}  # reason -> number
        self.last_capture = None  # (time, folder)
        self.last_step = None
        self.next_write = 0.0

    def begin(self, rank, script):
        """What the process is, known at its first step. Each rank has a file: FILE.prom becomes FILE.rank3.prom."""
        number = rank["rank"]
        end = ".rank%s" % number
        if script.endswith(end):
            script = script[: -len(end)]
        self.labels = {"script": script, "rank": str(number or 0)}
        if number is not None and rank["world_size"] not in (None, 1):
            stem, end = os.path.splitext(self.path)
            self.path = "%s.rank%d%s" % (stem, number, end)

    def time(self, seconds):
        self.counts[bisect.bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    def take_loss(self, value):
        self.loss = value
        if not math.isfinite(value):
            self.bad_losses += 1

    def captured(self, reason, folder):
        self.captures[reason] = self.captures.get(reason, 0) + 1
        self.last_capture = (time.time(), folder)

    def step(self, steps, baseline):
        """A step has ended; writes when it is time to."""
        self.last_step = time.time()
        now = time.monotonic()
        if now >= self.next_write:
            self.next_write = now + self.every_s
            self.write(steps, baseline)

    def end(self, steps, baseline):
        self.write(steps, baseline, running=0)

    def write(self, steps, baseline, running=1):
        """One failure is told, and then no more is written."""
        if self.path is None:
            return
        try:
            with stepline_writer.Replacing(self.path) as part:
                with open(part, "w") as file:
                    file.write(self.text(steps, baseline, running))
        except OSError as error:
            self.say("no figures are written to %s any more: %s" % (self.path, error))
            self.path = None

    def text(self, steps, baseline, running):
        out = []

        def family(name, kind, text, *samples):
            out.append("# HELP stepline_train_%s %s\n# TYPE stepline_train_%s %s\n" % (name, text, name, kind))
            for suffix, value, more in samples:
                labels = dict(self.labels, **more)
                inner = ",".join('%s="%s"' % (key, _escaped(labels[key])) for key in sorted(labels))
                out.append("stepline_train_%s%s{%s} %s\n" % (name, suffix, inner, _number(value)))

        where = {"captures": self.captures_folder, "pid": str(os.getpid()), "host": socket.gethostname()}
        family("info", "gauge", "What is watched: captures is the folder of its captures; the value is 1.", ("", 1, where))
        family("running", "gauge", "1 while the training is watched, 0 after it has ended.", ("", running, {}))
        family("steps_total", "counter", "Steps since the start.", ("", steps, {}))
        if self.last_step is not None:
            family("last_step_timestamp_seconds", "gauge", "When the last step ended, on the host.", ("", self.last_step, {}))
        buckets, total = [], 0
        for bound, count in zip(BOUNDS_S + (math.inf,), self.counts):
            total += count
            buckets.append(("_bucket", total, {"le": _number(bound)}))
        buckets += [("_sum", self.sum_s, {}), ("_count", total, {})]
        family("step_duration_seconds", "histogram", "Steps' times, without those that a capture disturbed.", *buckets)
        if baseline is not None and len(baseline):
            family("step_median_seconds", "gauge", "Median of the last steps' times.", ("", baseline.quantile(0.5), {}))
            family("step_p95_seconds", "gauge", "95th percentile of the last steps' times.", ("", baseline.quantile(0.95), {}))
        if self.loss is not None:
            family("loss", "gauge", "The last loss that is known.", ("", self.loss, {}))
        family("bad_losses_total", "counter", "Losses that were NaN or infinite.", ("", self.bad_losses, {}))
        reasons = dict({"slow-step": 0, "nan": 0, "asked": 0}, **self.captures)
        family("captures_total", "counter", "Captures made, by reason.", *[("", reasons[reason], {"reason": reason}) for reason in sorted(reasons)])
        if self.last_capture is not None:
            when, folder = self.last_capture
            family("last_capture_timestamp_seconds", "gauge", "When the last capture was written.", ("", when, {"folder": folder}))
        return "".join(out)


def _escaped(text):
    return str(text).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value):
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "+Inf" if value > 0 else "-Inf"
    return repr(value)
