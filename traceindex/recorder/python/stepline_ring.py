"""The captures kept of a watched training: a folder each, the newest few, within a disk space."""
import contextlib
import json
import os
import shutil

import stepline_writer

REASON = ".capture.json"
PREFIX = "step-"


class Ring:
    """One process's captures in a folder; ranks that record the same steps share the captures' folders."""

    def __init__(self, out, stem):
        self.out = out
        self.stem = stem  # of the process's files: train, or train.rank3

    def folder(self, step, reason):
        """A folder for a capture from a step on."""
        base = os.path.join(self.out, "%s%07d-%s" % (PREFIX, step, reason))
        folder, again = base, 1
        while os.path.exists(os.path.join(folder, self.stem + REASON)):
            again += 1
            folder = "%s-%d" % (base, again)
        return folder

    def write_reason(self, folder, document):
        with stepline_writer.Replacing(os.path.join(folder, self.stem + REASON)) as part:
            with open(part, "w") as file:
                json.dump(document, file)
                file.write("\n")

    def trim(self, keep, allowed):
        """Removes the oldest captures beyond keep captures or allowed bytes; returns the last one removed."""
        mine = []
        for entry in os.scandir(self.out):
            reason = os.path.join(entry.path, self.stem + REASON)
            if entry.name.startswith(PREFIX) and os.path.exists(reason):
                mine.append((os.stat(reason).st_mtime_ns, entry.path))
        mine.sort()
        sizes = [sum(_size(path) for path in self._files(folder)) for _, folder in mine]
        removed = None
        while mine and (len(mine) > keep or sum(sizes) > allowed):
            _, removed = mine.pop(0)
            sizes.pop(0)
            self.discard(removed)
        return removed

    def discard(self, folder):
        for path in self._files(folder):
            with contextlib.suppress(OSError):
                os.unlink(path)
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # only if no other rank's files are in it

    def _files(self, folder):
        stem = os.path.join(folder, self.stem)
        return [stem + end for end in (".trace.json.gz", ".trace.callers.json.gz", ".trace.sources.json.gz", REASON)]


def _size(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def free_bytes(folder):
    """Free space where a folder is or will be; None where that cannot be told."""
    while folder and not os.path.exists(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
