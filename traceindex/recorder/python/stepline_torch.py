"""What the recorder knows of torch and of the script's stack."""
import functools
import os
import sys

CLOSED = "closed"  # the state of a recorder that is done


def marking(function, recorder):
    """Optimizer.step that tells the recorder when the outermost of nested steps has ended."""
    compiling = getattr(getattr(recorder.torch, "compiler", None), "is_compiling", bool)

    @functools.wraps(function)
    def step(*args, **kwargs):
        # A step that torch.compile traces is traced as it would be without the recorder.
        if compiling() or recorder.state == CLOSED:
            return function(*args, **kwargs)
        nesting = recorder.nesting
        depth = getattr(nesting, "depth", 0)
        nesting.depth = depth + 1
        try:
            out = function(*args, **kwargs)
        finally:
            nesting.depth = depth
        if not depth:
            recorder.mark(args[0])
        return out

    return step


def _code_of_marking():
    class Nobody:
        torch = None

    return marking(_code_of_marking, Nobody).__code__


marking_code = _code_of_marking()


def hook_profilers(recorder):
    """Tells the recorder when a profiler of the script starts and stops.

    Only one profiler can run in a process; the script's own goes first.
    """
    profiler = recorder.torch.autograd.profiler
    for owner, name in (
        (profiler.profile, "_prepare_trace" if hasattr(profiler.profile, "_prepare_trace") else "__enter__"),
        (getattr(profiler, "emit_nvtx", None), "__enter__"),
        (getattr(profiler, "emit_itt", None), "__enter__"),
    ):
        if owner is not None and hasattr(owner, name):
            _hook_profiler(recorder, owner, name)


def _hook_profiler(recorder, owner, enter):
    entered, left = getattr(owner, enter), owner.__exit__

    @functools.wraps(entered)
    def start(self, *args, **kwargs):
        if not recorder.ours:
            recorder.script_profiler_starts()
        return entered(self, *args, **kwargs)

    @functools.wraps(left)
    def stop(self, *args, **kwargs):
        try:
            return left(self, *args, **kwargs)
        finally:
            if not recorder.ours:
                recorder.foreign = max(0, recorder.foreign - 1)

    recorder.replace(owner, enter, start)
    recorder.replace(owner, "__exit__", stop)


def hook_graphs(recorder):
    """Has the recorder know whether the script captures CUDA graphs."""
    owner = getattr(recorder.torch.cuda, "graph", None)
    if not hasattr(owner, "__enter__"):
        return
    original = owner.__enter__

    @functools.wraps(original)
    def enter(self):
        recorder.graphs = True
        return original(self)

    recorder.replace(owner, "__enter__", enter)


def frames_are_safe(torch):
    """Whether with_stack=True can be used: before 2.7.1 it crashes the process on Python 3.13.

    https://github.com/pytorch/pytorch/issues/148273
    """
    parts = str(torch.__version__).split("+")[0].split(".")[:3]
    version = [int(part) if part.isdigit() else 0 for part in parts]
    return sys.version_info < (3, 13) or version >= [2, 7, 1]


def let_go_of_cupti(torch):
    """Has Kineto detach CUPTI when it stops; attached but idle it slows every launch that follows.

    Kineto reads TEARDOWN_CUPTI when a trace stops, and when the next one starts, to attach again
    (libkineto, CuptiActivityApi.cpp). Left set it would detach after each profiler of the script
    too: the function returned, to be called when the recorder is done, has it go when the first of
    those stops. torch keeps it off where CUDA graphs are in use (torch/profiler/profiler.py); so
    does this, and before CUDA 12, where attaching again crashed.
    """
    cuda = str(getattr(torch.version, "cuda", None) or "0")
    if not torch.cuda.is_available() or int(cuda.split(".")[0]) < 12 or "TEARDOWN_CUPTI" in os.environ:
        return None
    inductor = sys.modules.get("torch._inductor.config")
    if inductor is not None and inductor.triton.cudagraphs:
        return None
    os.environ["TEARDOWN_CUPTI"] = "1"
    profile = torch.autograd.profiler.profile

    def hook():
        stop = profile.__exit__

        @functools.wraps(stop)
        def once(self, *args, **kwargs):
            os.environ.pop("TEARDOWN_CUPTI", None)
            if profile.__exit__ is once:
                profile.__exit__ = stop
            return stop(self, *args, **kwargs)

        profile.__exit__ = once

    return hook


def script_line():
    """The innermost line that belongs neither to torch nor to this recorder."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename.replace(os.sep, "/")
        if "/torch/" not in name and not name.startswith("<") and not name.endswith("/contextlib.py"):
            return "%s:%d" % (frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return "an unknown line"


def current_folder():
    try:
        return os.getcwd()
    except OSError:
        return None
