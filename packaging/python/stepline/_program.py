"""Finds the program that the wheel brought: where it is depends on how pip was called."""
import os
import sys
import sysconfig

NAME = "stepline.exe" if sys.platform == "win32" else "stepline"


def _folders():
    yield sysconfig.get_path("scripts")  # a virtual environment, or the whole system
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(here, "bin")  # pip install --target
    for scheme in ("posix_user", "nt_user", "osx_framework_user"):  # pip install --user
        if scheme in sysconfig.get_scheme_names():
            yield sysconfig.get_path("scripts", scheme=scheme)
    # pip install --prefix: PREFIX/lib/pythonX.Y/site-packages, and PREFIX\Lib\site-packages on Windows
    above = 2 if sys.platform == "win32" else 3
    prefix = here
    for _ in range(above):
        prefix = os.path.dirname(prefix)
    yield os.path.join(prefix, "Scripts" if sys.platform == "win32" else "bin")


def find():
    looked = []
    for folder in _folders():
        path = os.path.join(folder, NAME)
        if os.path.isfile(path):
            return path
        looked.append(folder)
    raise FileNotFoundError(
        "stepline's program is in none of %s; install the package again: pip install --force-reinstall stepline"
        % ", ".join(looked)
    )
