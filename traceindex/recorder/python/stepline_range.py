"""Opens and closes the range of Nsight Systems and Nsight Compute around a window of steps.

The tool runs the script with capture by the CUDA profiler API (`nsys --capture-range=cudaProfilerApi`,
`ncu --profile-from-start off`); this calls that API, so that the script needs no edit.
"""
import os

import stepline_recorder


class Ranger(stepline_recorder.Recorder):
    def hook(self):
        super().hook()
        self.script_profiler_starts = lambda: None  # torch's own profiler is in nobody's way

    def _step(self):
        self.count += 1
        if self.state == stepline_recorder.RECORDING:
            self._end_recorded_step()
        elif self.count >= max(1, self.config["warmup"]) and self._claim():
            self._open()

    def _open(self):
        if not self.torch.cuda.is_available():
            self.give_up("Nsight needs a GPU and this process sees none")
            return
        self._end_early()
        self.torch.cuda.synchronize()
        self.torch.cuda.profiler.start()
        self.first = self.count
        self.state = stepline_recorder.RECORDING
        self._begin_range()

    def _begin_range(self):
        self.torch.cuda.nvtx.range_push("ProfilerStep#%d" % (self.first + self.done))
        self.range = True

    def _end_range(self):
        if self.range:
            self.torch.cuda.nvtx.range_pop()
            self.range = None

    def finish(self, why=None):
        self._end_range()
        self.torch.cuda.synchronize()
        self.torch.cuda.profiler.stop()
        steps = "%d to %d" % (self.first, self.first + max(0, self.done - 1))
        self.report("ranged", "the range held steps %s%s" % (steps, ", " + why if why else ""))
        self.close()

    def give_up(self, reason):
        self.report("failed", "no range: %s; the script goes on" % reason)
        self.close()

    def at_exit(self):
        if self.state == stepline_recorder.CLOSED or self.pid != os.getpid():
            return
        if self.state == stepline_recorder.RECORDING:
            self.finish("because the script ended")
        elif self.count:
            self.report(
                "short",
                "no range: the script ended after %d steps and the range starts after %d; choose a smaller --warmup"
                % (self.count, max(1, self.config["warmup"])),
            )
        self.close()


RECORDER = Ranger
