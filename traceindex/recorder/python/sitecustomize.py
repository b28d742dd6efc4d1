"""Loaded by every Python process under `stepline record`, through PYTHONPATH.

It leaves the process as it would be without it (sys.path, the site's own sitecustomize) and
waits for torch: only a process that imports torch pays for the recorder, and only one that
steps an optimizer records anything.
"""
import os
import sys


def _run_the_sites_own(here):
    """This file hides a sitecustomize further down sys.path: run that one, as Python would have."""
    # What importlib.machinery and importlib.util are made of; importing those would cost every
    # Python process milliseconds.
    import _frozen_importlib
    import _frozen_importlib_external

    spec = _frozen_importlib_external.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None or spec.origin == os.path.join(here, "sitecustomize.py"):
        return
    module = _frozen_importlib.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _note(here, name):
    """Leaves a mark by which the command can say why nothing was recorded."""
    try:
        open(os.path.join(here, name), "a").close()
    except OSError:
        pass


def _load(here, name):
    """Compiles a part of the recorder under a name that no workspace file can have in a trace."""
    import types

    with open(os.path.join(here, name + ".py"), "rb") as file:
        source = file.read()
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, "<stepline recorder>", "exec"), module.__dict__)
    return module


class _Loader:
    """Loads torch with torch's own loader, then attaches the recorder."""

    def __init__(self, loader, attach):
        self._loader = loader
        self._attach = attach

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._attach(module)


class _Finder:
    """Stands before the other finders until torch is imported; says nothing about other modules."""

    def __init__(self, here, started):
        self._here = here
        self._started = started
        self._asking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self._asking:
            return None
        from importlib import util

        self._asking = True
        try:
            spec = util.find_spec("torch")
        finally:
            self._asking = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self._attach)
        return spec

    def _attach(self, torch):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            _note(self._here, "torch-seen")
            _load(self._here, "stepline_writer")
            _load(self._here, "stepline_torch")
            recorder = _load(self._here, "stepline_recorder")
            recorder.attach(torch, os.environ["STEPLINE_RECORD"], self._started, lambda name: _load(self._here, name))
        except Exception as error:
            self._tell_failure(torch, error)

    def _tell_failure(self, torch, error):
        version = getattr(torch, "__version__", "?")
        message = "not recording: cannot attach to torch %s: %s: %s" % (version, type(error).__name__, error)
        sys.stderr.write("stepline record: %s\n" % " ".join(message.split()))
        try:
            status = {"outcome": "failed", "message": message}
            sys.modules["stepline_writer"].write_status(self._here, status)
        except Exception:
            pass


def _start():
    import time

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    if sys.version_info >= (3, 8) and "STEPLINE_RECORD" in os.environ:
        sys.meta_path.insert(0, _Finder(here, time.time()))
        _note(here, "python-seen")
    _run_the_sites_own(here)


_start()
