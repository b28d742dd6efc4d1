"""Writes what the recorder saw: the trace, its call lines, and the sources that ran.

The formats are told in doc.go. Every file is written beside its place and then renamed, so a
reader sees a whole file or none.
"""
import gzip
import hashlib
import json
import os
import re
import site
import socket
import sys
import time

LEVEL = 5  # gzip; the training waits for it
MAX_SOURCE_BYTES = 4 << 20


# ---- ranks and names


def _number(name):
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else None


def rank_of(torch):
    """The process's place in a distributed run; rank None outside one."""
    found = {"rank": None, "world_size": None, "local_rank": _number("LOCAL_RANK")}
    distributed = getattr(torch, "distributed", None)
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            found["rank"] = distributed.get_rank()
            found["world_size"] = distributed.get_world_size()
            return found
    except Exception:
        pass
    if _number("RANK") is not None and _number("WORLD_SIZE") is not None:
        found["rank"], found["world_size"] = _number("RANK"), _number("WORLD_SIZE")
    return found


def trace_name(rank):
    """train.trace.json.gz, or train.rank3.trace.json.gz in a distributed run."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    script = getattr(main, "__file__", None) or (sys.argv[0] if sys.argv else "")
    stem = os.path.splitext(os.path.basename(script))[0]
    if stem == "__main__" and spec is not None and spec.parent:
        stem = spec.parent.rpartition(".")[2]
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", stem).strip(".") or "python"
    if rank["rank"] is not None:
        stem += ".rank%d" % rank["rank"]
    return stem + ".trace.json.gz"


# ---- the folder through which the processes of one run and the command agree


def claim(control, name):
    """Takes a trace's name for this process; returns the process that has it otherwise."""
    path = os.path.join(control, name + ".claim")
    for _ in range(3):
        try:
            with open(path, "x") as file:
                file.write(str(os.getpid()))
            return None
        except FileExistsError:
            with open(path) as file:
                owner = file.read().strip()
            if owner == str(os.getpid()):
                return None
            if _alive(owner) or _wrote(control, owner):
                return owner
            # A worker that died before it wrote anything: its successor records.
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
    return "unknown"


def _alive(pid):
    try:
        os.kill(int(pid), 0)
    except (OSError, ValueError):
        return False
    return True


def _wrote(control, pid):
    try:
        with open(os.path.join(control, "status-%s.json" % pid)) as file:
            return json.load(file)["outcome"] == "written"
    except (OSError, ValueError, KeyError):
        return False


def write_status(control, status):
    path = os.path.join(control, "status-%d.json" % os.getpid())
    with Replacing(path) as part:
        with open(part, "w") as file:
            json.dump(status, file)


class Replacing:
    """A path to write to that becomes the real one when all went well."""

    def __init__(self, path):
        self.path = path
        folder, name = os.path.split(path)
        self.part = os.path.join(folder, ".%s.part-%d" % (name, os.getpid()))

    def __enter__(self):
        return self.part

    def __exit__(self, kind, value, trace):
        if kind is None:
            os.replace(self.part, self.path)
            return
        try:
            os.unlink(self.part)
        except OSError:
            pass


def write(torch, profiler, config, name, sources, summary):
    """Writes the three files of a recording; returns the number of call lines."""
    os.makedirs(config["dir"], exist_ok=True)
    path = os.path.join(config["dir"], name)
    stem = path[: -len(".json.gz")]
    tree = profiler.profiler.kineto_results.experimental_event_tree()
    rename = None
    if summary["partial"] and summary["done"]:
        # The part of a step up to where the window closed early is no step to measure.
        rename = (summary["partial"], "after the last recorded step")
    if torch.autograd.kineto_available():
        _write_kineto_trace(profiler, path, rename)
    else:
        _write_tree_as_trace(torch, tree, path, rename)
    with Replacing(stem + ".callers.json.gz") as part:
        rows, names = _write_call_lines(tree, part)
    sources.add_modules()
    sources.add_recorded(names)
    with Replacing(stem + ".sources.json.gz") as part:
        sources.write(torch, part, name, rows, summary)
    return rows


# ---- the trace


def _write_kineto_trace(profiler, path, rename):
    folder, name = os.path.split(path)
    plain = os.path.join(folder, ".%s.part-%d.json" % (name, os.getpid()))
    try:
        profiler.export_chrome_trace(plain)
        with Replacing(path) as part, open(plain, "rb") as source, gzip.open(part, "wb", LEVEL) as out:
            if rename is None:
                for chunk in iter(lambda: source.read(1 << 20), b""):
                    out.write(chunk)
                return
            old, new = (json.dumps(text).encode() for text in rename)
            for line in source:
                out.write(line.replace(old, new) if old in line else line)
    finally:
        if os.path.exists(plain):
            os.unlink(plain)


def _write_tree_as_trace(torch, tree, path, rename):
    """The trace of a torch built without Kineto (Debian's), whose own export leaves the Python frames out.

    Such a build sees no GPU. Backward ops are given the one forward thread there is.
    """
    base = min((node.start_time_ns for node in tree), default=0) // 1000000000 * 1000000000
    pid = os.getpid()
    head = {
        "schemaVersion": 1,
        "with_stack": 1,
        "baseTimeNanoseconds": base,
        "displayTimeUnit": "ms",
        "deviceProperties": [],
        "traceName": os.path.basename(path),
    }
    with Replacing(path) as part, gzip.open(part, "wt", LEVEL) as out:
        out.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        comma = ""
        python_id = 0
        stack = [(node, None) for node in reversed(tree)]
        while stack:
            node, parent = stack.pop()
            kind = type(node.extra_fields).__name__
            event = {
                "ph": "X",
                "cat": "cpu_op",
                "name": node.name,
                "pid": pid,
                "tid": node.start_tid,
                "ts": (node.start_time_ns - base) / 1000,
                "dur": max(0, node.duration_time_ns) / 1000,
                "args": {},
            }
            inner = parent
            if kind in ("_ExtraFields_PyCall", "_ExtraFields_PyCCall"):
                event["cat"] = "python_function"
                event["args"] = {"Python id": python_id, "Python parent id": parent}
                inner = python_id
                python_id += 1
            elif kind == "_ExtraFields_TorchOp":
                scope = str(node.extra_fields.scope).rpartition(".")[2]
                number = node.extra_fields.sequence_number
                if scope == "USER_SCOPE":
                    event["cat"] = "user_annotation"
                    if rename is not None and node.name == rename[0]:
                        event["name"] = rename[1]
                elif 0 <= number < 1 << 62:
                    event["args"] = {"Sequence number": number, "Fwd thread id": int(scope == "BACKWARD_FUNCTION")}
            else:
                event = None
            if event is not None:
                out.write(comma + json.dumps(event))
                comma = ",\n"
            stack.extend((child, inner) for child in reversed(node.children))
        out.write("\n]}\n")


# ---- call lines


def _write_call_lines(tree, path):
    """One row a Python call: [event name, start ns, caller's file, line, function, callee's first line]."""
    encoded = {}

    def text(value):
        found = encoded.get(value)
        if found is None:
            found = encoded[value] = json.dumps(value)
        return found

    files = set()
    rows = 0
    with gzip.open(path, "wt", LEVEL) as out:
        out.write("[")
        stack = list(reversed(tree))
        while stack:
            node = stack.pop()
            stack.extend(reversed(node.children))
            fields = node.extra_fields
            kind = type(fields).__name__
            if kind == "_ExtraFields_PyCall":
                callee = fields.callsite
                files.add(callee.file_name)
                first = str(callee.line_number)
            elif kind == "_ExtraFields_PyCCall":
                first = "null"
            else:
                continue
            caller = fields.caller
            files.add(caller.file_name)
            out.write(
                "%s[%s,%d,%s,%d,%s,%s]"
                % (
                    ",\n" if rows else "",
                    json.dumps(node.name),
                    node.start_time_ns,
                    text(caller.file_name),
                    caller.line_number,
                    text(caller.function_name),
                    first,
                )
            )
            rows += 1
        out.write("]\n")
    return rows, files


# ---- sources


class Sources:
    """The workspace's Python files that this process ran, as they were when the window opened."""

    def __init__(self, config, folder_at_start, started):
        self.config = config
        self.root = os.path.realpath(config["root"])
        self.started = started
        self.folder_at_start = folder_at_start or self.root
        self.files = {}  # real path -> entry
        self.asked = {}  # path as given -> real path, or None where it is no workspace source
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        self.folders = [self.root]
        if main:
            folder = os.path.dirname(self._real(main))
            if not _inside(folder, self.root):
                self.folders.append(folder)
        self.foreign = [
            os.path.realpath(folder)
            for folder in [sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), config["control"]] + _site_folders()
            if folder
        ]
        self.foreign = [folder for folder in self.foreign if not _inside(self.root, folder)]

    def _real(self, path):
        return os.path.realpath(os.path.join(self.folder_at_start, path))

    def add_modules(self):
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path.endswith(".py"):
                self._add(path)

    def _add(self, path):
        """Takes a file in if it is the workspace's; returns its real path, or None."""
        if path in self.asked:
            return self.asked[path]
        real = self._real(path)
        if not self._is_workspace(real):
            real = None
        elif real not in self.files:
            entry = self._read(real)
            if entry is None:
                real = None
            else:
                self.files[real] = entry
        self.asked[path] = real
        return real

    def _is_workspace(self, real):
        if not any(_inside(real, folder) for folder in self.folders):
            return False
        if "/site-packages/" in real.replace(os.sep, "/") or "/dist-packages/" in real.replace(os.sep, "/"):
            return False
        return not any(_inside(real, folder) for folder in self.foreign)

    def _read(self, real):
        try:
            if os.path.getsize(real) > MAX_SOURCE_BYTES:
                return None
            with open(real, "rb") as file:
                data = file.read()
            changed = os.path.getmtime(real) > self.started
        except OSError:
            return None
        path = os.path.relpath(real, self.root) if _inside(real, self.root) else real
        entry = {
            "path": path.replace(os.sep, "/"),
            "recorded": [],
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
            "modified_after_start": changed,
            "line_hashes": line_hashes(data),
        }
        if self.config["text"]:
            try:
                entry["text"] = data.decode("utf-8")
            except UnicodeDecodeError:
                pass
        return entry

    def add_recorded(self, names):
        """Notes under which names the trace speaks of the files, and takes in those not seen yet."""
        prefixes = _trimmed_prefixes()
        for name in sorted(names):
            if name.startswith("<"):
                continue
            candidates = [name] if os.path.isabs(name) else [prefix + name for prefix in prefixes] + [name]
            for candidate in candidates:
                real = self._add(candidate)
                if real is not None:
                    self.files[real]["recorded"].append(name)
                    break

    def write(self, torch, path, trace, rows, summary):
        config = self.config
        document = {
            "schema": 1,
            "trace": trace,
            "root": config["root"],
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "recorded_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "call_lines": rows,
            "steps": {
                "first": summary["first"],
                "recorded": summary["done"],
                "asked": config["steps"],
                "warmup": config["warmup"],
                "complete": summary["done"] >= config["steps"],
                "optimizer": summary["optimizer"],
                "optimizer_steps": summary["optimizer_steps"],
            },
            "versions": _versions(torch, config),
            "files": sorted(self.files.values(), key=lambda entry: entry["path"]),
        }
        document.update(summary["rank"])
        with gzip.open(path, "wt", LEVEL, encoding="utf-8") as out:
            json.dump(document, out)


def line_hashes(data):
    """The first 12 hex digits of SHA-256 of each line's bytes, the line ending left out."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return [hashlib.sha256(line).hexdigest()[:12] for line in lines]


def _inside(path, folder):
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _site_folders():
    folders = []
    for get in (getattr(site, "getsitepackages", list), lambda: [site.getusersitepackages()]):
        try:
            folders.extend(get())
        except Exception:
            pass
    return [folder for folder in folders if isinstance(folder, str)]


def _trimmed_prefixes():
    """What torch cut off the front of recorded paths, longest first."""
    try:
        from torch.profiler.python_tracer import _prefix_regex

        prefixes = _prefix_regex()
    except Exception:
        prefixes = [os.path.abspath(entry) + os.sep for entry in sys.path if isinstance(entry, str)]
    return sorted(prefixes, key=len, reverse=True)


def _versions(torch, config):
    versions = {
        "stepline": config.get("version"),
        "python": sys.version.split()[0],
        "torch": str(torch.__version__),
        "cuda": getattr(torch.version, "cuda", None),
    }

    def ask(name, question):
        try:
            versions[name] = question()
        except Exception:
            versions[name] = None

    if torch.cuda.is_available():
        ask("device", lambda: torch.cuda.get_device_name())
        ask("cudnn", lambda: torch.backends.cudnn.version())
        ask("nccl", lambda: ".".join(str(part) for part in torch.cuda.nccl.version()))
    return versions
