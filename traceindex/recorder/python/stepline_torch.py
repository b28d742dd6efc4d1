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


def frames_are_safe(torch):
    """Whether with_stack=True can be used: before 2.7.1 it crashes the process on Python 3.13.

    https://github.com/pytorch/pytorch/issues/148273
    """
    parts = str(torch.__version__).split("+")[0].split(".")[:3]
    version = [int(part) if part.isdigit() else 0 for part in parts]
    return sys.version_info < (3, 13) or version >= [2, 7, 1]


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
