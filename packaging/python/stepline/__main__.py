"""`python -m stepline`: runs the program with the same arguments, and ends with its exit code."""
import os
import subprocess
import sys

from stepline import _program


def main():
    try:
        program = _program.find()
    except FileNotFoundError as error:
        print("stepline: %s" % error, file=sys.stderr)
        return 2
    if sys.platform == "win32":  # exec there returns to the shell before the program has ended
        try:
            return subprocess.call([program] + sys.argv[1:])
        except KeyboardInterrupt:
            return 130
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
