"""Makes traces whose GPU time per source line is known.

    python truth.py run SCRIPT [ARG…]      runs a script with a profiler range around every statement
                                           of the Python files in its folder (its own lines and names)
    python truth.py finish TRACE.json.gz   takes the ranges out of the trace and of its call lines, and
                                           writes what they told as TRACE.truth.json

The first is run under stepline's recorder, which knows nothing of it. Each statement S of line L
becomes `with RANGE("truth:FILE:L"): S`; an if, while or match has its test or subject in such a
range, a for its iterable and each next(), a lambda its body. The range is torch._C._profiler._RecordFunctionFast,
entered in C, so the trace holds no Python frame of it but its __exit__'s, which go out with the ranges.
Needs torch 2.2 or newer. A `with` line's own enter and exit are not measured, nor are the guards of
a `case`. The meaning of every key is in ../traces/README.md.
"""
import ast
import bisect
import collections
import gzip
import importlib.abc
import importlib.util
import json
import os
import sys
import types

PREFIX = "truth:"
RANGE_TYPE = "RecordFunctionFast object"
ME = os.path.basename(__file__)


# ---- ranges into the source


class Ranges(ast.NodeTransformer):
    """Puts a range around every statement, at the statement's own line."""

    def __init__(self, name):
        self.name = name
        self.temporaries = 0
        self.statement = 0  # line of the statement being visited

    def visit(self, node):
        if isinstance(node, ast.stmt):
            self.statement = node.lineno
        return super().visit(node)

    def temporary(self):
        self.temporaries += 1
        return "_truth_%d" % self.temporaries

    def range_of(self, line):
        name = ast.Constant("%s%s:%d" % (PREFIX, self.name, line))
        return ast.Call(ast.Name("_truth_range", ast.Load()), [name], [])

    def around(self, node, body):
        return self.at(node, ast.With([ast.withitem(self.range_of(node.lineno))], body))

    def at(self, where, node):
        """Gives new nodes the place of an old one; what came from the source keeps its own."""
        for child in ast.walk(node):
            if "lineno" in child._attributes and not hasattr(child, "lineno"):
                ast.copy_location(child, where)
        return node

    def assign(self, where, name, value):
        return self.at(where, ast.Assign([ast.Name(name, ast.Store())], value))

    def load(self, where, name):
        return self.at(where, ast.Name(name, ast.Load()))

    def simple(self, node):
        self.generic_visit(node)  # for lambdas
        value = getattr(node, "value", None)
        if isinstance(value, ast.Yield) and value.value is not None:
            # A range must not stay open over the yield.
            name = self.temporary()
            first = self.around(node, [self.assign(value.value, name, value.value)])
            value.value = self.load(value.value, name)
            return [first, node]
        if any(isinstance(child, (ast.Yield, ast.YieldFrom, ast.Await)) for child in ast.walk(node)):
            return node
        return self.around(node, [node])

    visit_Return = visit_Assign = visit_AugAssign = visit_AnnAssign = simple
    visit_Raise = visit_Assert = visit_Delete = simple

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return node
        return self.simple(node)

    def visit_Lambda(self, node):
        # A lambda runs in a frame of its own, often far from its line: (r := R, r.enter(), E, r.exit())[2]
        line = self.statement
        self.generic_visit(node)
        name = self.temporary()

        def call(method):
            return ast.Call(ast.Attribute(ast.Name(name, ast.Load()), method, ast.Load()), [], [])

        parts = [
            ast.NamedExpr(ast.Name(name, ast.Store()), self.range_of(line)),
            call("__enter__"),
            node.body,
            call("__exit__"),
        ]
        node.body = self.at(
            node.body, ast.Subscript(ast.Tuple(parts, ast.Load()), ast.Constant(2), ast.Load())
        )
        return node

    def test(self, node):
        name = self.temporary()
        truth = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node.test))
        return self.around(node, [self.assign(node.test, name, self.at(node.test, truth))]), self.load(node.test, name)

    def visit_If(self, node):
        self.generic_visit(node)
        first, node.test = self.test(node)
        return [first, node]

    def visit_While(self, node):
        self.generic_visit(node)
        if node.orelse:
            return node
        first, test = self.test(node)
        leave = self.at(node, ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []))
        node.test = self.at(node, ast.Constant(True))
        node.body = [first, leave] + node.body
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        # for x in E  →  for _, x, _ in zip(<range enters>, E, <range exits>): types and C iterators
        # only, which leave nothing in the trace.
        name, unused, iterator = self.temporary(), self.temporary(), self.temporary()
        spun = ast.Call(
            ast.Name("_truth_zip", ast.Load()),
            [
                ast.Call(
                    ast.Name("_truth_starmap", ast.Load()),
                    [ast.Attribute(ast.Name(name, ast.Load()), "__enter__", ast.Load()), ast.Name("_truth_enter", ast.Load())],
                    [],
                ),
                node.iter,
                ast.Call(
                    ast.Name("_truth_starmap", ast.Load()),
                    [ast.Attribute(ast.Name(name, ast.Load()), "__exit__", ast.Load()), ast.Name("_truth_exit", ast.Load())],
                    [],
                ),
            ],
            [],
        )
        first = self.assign(node, name, self.range_of(node.lineno))
        second = self.around(node, [self.assign(node.iter, iterator, self.at(node.iter, spun))])
        node.iter = self.load(node.iter, iterator)
        node.target = self.at(
            node.target,
            ast.Tuple([ast.Name(unused, ast.Store()), node.target, ast.Name(unused, ast.Store())], ast.Store()),
        )
        none = [ast.Constant(None), ast.Constant(None), ast.Constant(None)]
        close = ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "__exit__", ast.Load()), none, []))
        node.orelse = [self.at(node, close)] + node.orelse
        return [first, second, node]

    def visit_Match(self, node):
        self.generic_visit(node)
        name = self.temporary()
        first = self.around(node, [self.assign(node.subject, name, node.subject)])
        node.subject = self.load(node.subject, name)
        return [first, node]


def compiled(path, name):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    return compile(ast.fix_missing_locations(Ranges(name).visit(tree)), path, "exec", dont_inherit=True)


def names():
    import builtins
    import itertools
    import operator

    from torch._C._profiler import _RecordFunctionFast

    class Range:
        __slots__ = ("fast",)

        def __init__(self, name):
            self.fast = _RecordFunctionFast(name)

        # Bound in C: entering makes no frame.
        __enter__ = property(operator.attrgetter("fast.__enter__"))

        def __exit__(self, *error):
            try:
                self.fast.__exit__(None, None, None)
            except RuntimeError:
                pass  # entered before the profiler was started: there is no range to end

    builtins._truth_range = Range
    builtins._truth_zip = zip
    builtins._truth_starmap = itertools.starmap
    builtins._truth_enter = itertools.repeat(())
    builtins._truth_exit = itertools.repeat((None, None, None))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules that lie in the script's folder with ranges in them."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        stem = os.path.join(self.folder, *name.split("."))
        for file in (stem + ".py", os.path.join(stem, "__init__.py")):
            if os.path.isfile(file):
                package = [stem] if file.endswith("__init__.py") else None
                return importlib.util.spec_from_file_location(
                    name, file, loader=self, submodule_search_locations=package
                )
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        path = module.__spec__.origin
        exec(compiled(path, os.path.relpath(path, self.folder)), module.__dict__)


def run(script, arguments):
    script = os.path.abspath(script)
    folder = os.path.dirname(script)
    sys.path[0] = folder
    sys.argv = [script] + arguments
    main = types.ModuleType("__main__")
    main.__file__ = script
    sys.modules["__main__"] = main
    import torch  # noqa: F401  (the recorder attaches here)

    names()
    sys.meta_path.insert(0, Finder(folder))
    exec(compiled(script, os.path.basename(script)), main.__dict__)


# ---- what the ranges told


# Nodes whose work belongs to no forward line: FSDP's gradient reduction, hung on the sharded module's inputs.
REDUCTION = {"RegisterPostBackwardFunctionBackward"}
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
RUNTIME = {"cuda_runtime", "cuda_driver"}


class Spans:
    """Nested ranges of one thread: which is innermost at a time."""

    def __init__(self, ranges):
        self.times, self.lines, stack = [], [], []
        edges = []
        for start, end, line in ranges:
            edges.append((start, 1, -end, line))
            edges.append((end, 0, 0, line))
        for time, opens, _, line in sorted(edges, key=lambda edge: edge[:3]):
            if opens:
                stack.append(line)
            elif line in stack:
                # The last one with that line: ranges of one line nest only in recursion.
                del stack[len(stack) - 1 - stack[::-1].index(line)]
            self.times.append(time)
            self.lines.append(stack[-1] if stack else None)

    def at(self, time):
        index = bisect.bisect_right(self.times, time) - 1
        return self.lines[index] if index >= 0 else None

    def parts(self, start, end):
        """The pieces of [start, end] with their innermost line."""
        index = bisect.bisect_right(self.times, start) - 1
        while start < end:
            following = self.times[index + 1] if index + 1 < len(self.times) else end
            stop = min(end, max(start, following))
            if stop > start:
                yield stop - start, (self.lines[index] if index >= 0 else None)
            start = stop
            index += 1


def is_range(event):
    return event.get("ph") == "X" and str(event.get("name", "")).startswith(PREFIX)


def is_mine(name):
    """Whether a frame's name is of this file's functions."""
    return os.path.basename(name.partition("(")[0]) == ME


def is_scaffold(event):
    """Events that are there only because of the ranges."""
    if is_range(event):
        return True
    name = str(event.get("name", ""))
    return event.get("cat") == "python_function" and (RANGE_TYPE in name or is_mine(name))


def tell(events):
    """The truth of a trace that still holds its ranges."""
    complete = [event for event in events if event.get("ph") == "X"]
    ranges = collections.defaultdict(list)
    for event in complete:
        if is_range(event):
            ranges[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"][len(PREFIX):]))
    spans = {thread: Spans(found) for thread, found in ranges.items()}
    steps = [event for event in complete if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation"]
    training = steps[0]["tid"]
    begin, end = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    lines = collections.defaultdict(lambda: collections.defaultdict(float))
    for found in ranges.values():
        for start, stop, line in found:
            lines[line]["calls"] += 1
            lines[line]["cpu_total_us"] += stop - start

    def line_at(event):
        return spans[event["tid"]].at(event["ts"]) if event["tid"] in spans else None

    forward = forward_ops(complete)
    nodes = Nodes(complete, forward)
    launches = {}
    for event in complete:
        if event.get("cat") in RUNTIME and "correlation" in event.get("args", {}):
            launches[event["args"]["correlation"]] = event
            if event["name"].endswith("Synchronize"):
                line = line_at(event)
                if line:
                    lines[line]["sync_us"] += event["dur"]
                    lines[line]["syncs"] += 1
    total, unattributed, busy = 0.0, collections.defaultdict(float), []
    for event in complete:
        if event.get("cat") not in GPU:
            continue
        total += event["dur"]
        busy.append((event["ts"], event["ts"] + event["dur"]))
        launch = launches.get(event["args"].get("correlation"))
        if launch is None:
            unattributed["no_launch"] += event["dur"]
            continue
        line, node = line_at(launch), nodes.around(launch)
        if node is not None and (line is None or not nodes.holds_range(node, spans, launch)):
            name = node["name"].partition(": ")[2]
            op = forward.get(nodes.key(node)) if name not in REDUCTION else None
            line = op and line_at(op)
            if not line:
                lines["<backward:%s>" % name]["cuda_bwd_us"] += event["dur"]
                unattributed["bwd_no_line"] += event["dur"]
                continue
            lines[line]["cuda_bwd_us"] += event["dur"]
            lines[line]["kernels_bwd"] += 1
            continue
        if not line:
            unattributed["no_range"] += event["dur"]
            continue
        lines[line]["cuda_fwd_us"] += event["dur"]
        lines[line]["kernels_fwd"] += 1
        if event["cat"] == "gpu_memcpy":
            lines[line]["memcpy_us"] += event["dur"]
            lines[line]["memcpy_bytes"] += event["args"].get("bytes", 0)
    idle_no_line = idle_total = 0.0
    for start, stop in gaps(busy, begin, end):
        idle_total += stop - start
        for part, line in spans[training].parts(start, stop):
            if line:
                lines[line]["gpu_idle_us"] += part
            else:
                idle_no_line += part
    return {
        "gpu_idle_no_line_us": round(idle_no_line, 3),
        "gpu_idle_us": round(idle_total, 3),
        "gpu_total_us": round(total, 3),
        "lines": {line: {k: round(v, 3) for k, v in sorted(found.items())} for line, found in sorted(lines.items())},
        "steps_span_us": round(end - begin, 3),
        "unattributed_us": {k: round(v, 3) for k, v in sorted(unattributed.items())},
    }


def gaps(busy, begin, end):
    """What no GPU event covers between begin and end."""
    now = begin
    for start, stop in sorted(busy):
        if start > now:
            yield now, min(start, end)
        now = max(now, stop)
        if now >= end:
            return
    if now < end:
        yield now, end


def forward_ops(complete):
    """(Chrome thread, sequence number) → the innermost forward op: of those with it, the last to start."""
    found = {}
    for event in complete:
        args = event.get("args", {})
        if event.get("cat") != "cpu_op" or args.get("Sequence number") is None or args.get("Fwd thread id"):
            continue
        key = event["tid"], args["Sequence number"]
        if key not in found or event["ts"] >= found[key]["ts"]:
            found[key] = event
    return found


class Nodes:
    """The autograd nodes, by the thread that ran them."""

    def __init__(self, complete, forward):
        self.by_thread = collections.defaultdict(list)
        numbers = collections.defaultdict(set)
        for event in complete:
            if event.get("cat") == "cpu_op" and event["name"].startswith("autograd::engine::evaluate_function"):
                self.by_thread[event["tid"]].append(event)
                args = event.get("args", {})
                if args.get("Fwd thread id"):
                    numbers[args["Fwd thread id"]].add(args.get("Sequence number"))
        for found in self.by_thread.values():
            found.sort(key=lambda event: event["ts"])
        # A logical forward thread is the Chrome thread whose forward ops have most of its numbers.
        self.thread = {}
        threads = {thread for thread, _ in forward}
        for logical, wanted in numbers.items():
            self.thread[logical] = max(
                sorted(threads, key=str), key=lambda thread: sum((thread, n) in forward for n in wanted), default=None
            )

    def around(self, launch):
        found = self.by_thread.get(launch["tid"], [])
        index = bisect.bisect_right(found, launch["ts"], key=lambda event: event["ts"]) - 1
        while index >= 0:
            # Nodes nest only where a backward runs within a backward: the last that still runs.
            if found[index]["ts"] + found[index]["dur"] >= launch["ts"]:
                return found[index]
            index -= 1
            if index < 0 or launch["ts"] - found[index]["ts"] > 10e6:
                return None
        return None

    def key(self, node):
        args = node.get("args", {})
        return self.thread.get(args.get("Fwd thread id")), args.get("Sequence number")

    def holds_range(self, node, spans, launch):
        """Whether a range opened inside the node is open at the launch (a backward written in Python)."""
        found = spans.get(launch["tid"])
        if found is None:
            return False
        return found.at(launch["ts"]) is not None and found.at(launch["ts"]) != found.at(node["ts"])


# ---- the ranges out of the files


def without_scaffold(events):
    gone = {}
    for event in events:
        if is_scaffold(event) and event.get("cat") == "python_function":
            gone[event["args"]["Python id"]] = event["args"].get("Python parent id")
    kept = []
    for event in events:
        if is_scaffold(event):
            continue
        if event.get("cat") == "python_function":
            parent = event["args"].get("Python parent id")
            while parent in gone:
                parent = gone[parent]
            event["args"]["Python parent id"] = parent
        kept.append(event)
    return kept


def clean_rows(rows):
    """Call lines of what is left; a frame that truth.py called was called by nothing."""
    kept = []
    for row in rows:
        if RANGE_TYPE in row[0] or is_mine(row[0]):
            continue
        if os.path.basename(row[2]) == ME:
            row[2:5] = [row[0].partition("(")[0], row[5], row[4]]
        kept.append(row)
    return kept


def write_gzip(path, text):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode())


def finish(path):
    with gzip.open(path) as file:
        trace = json.load(file)
    stem = path[: -len(".json.gz")]
    truth = tell(trace["traceEvents"])
    with open(stem[: -len("trace")] + "truth.json" if stem.endswith("trace") else stem + ".truth.json", "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")
    trace["traceEvents"] = without_scaffold(trace["traceEvents"])
    head = {key: value for key, value in trace.items() if key != "traceEvents"}
    head["traceName"] = os.path.basename(path)
    events = ",\n".join(json.dumps(event, separators=(",", ":")) for event in trace["traceEvents"])
    write_gzip(path, json.dumps(head)[:-1] + ',"traceEvents":[\n' + events + "\n]}\n")
    callers = stem + ".callers.json.gz"
    if os.path.exists(callers):
        with gzip.open(callers) as file:
            rows = clean_rows(json.load(file))
        write_gzip(callers, "[" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]\n")
    sources = stem + ".sources.json.gz"
    if os.path.exists(sources):
        with gzip.open(sources) as file:
            document = json.load(file)
        document["root"], document["host"] = ".", "lab"
        write_gzip(sources, json.dumps(document))
    told = sum(line.get("cuda_fwd_us", 0) + line.get("cuda_bwd_us", 0) for line in truth["lines"].values())
    print("%s: %d events, GPU %.1f us, on lines %.1f us, apart %s" % (
        os.path.basename(path), len(trace["traceEvents"]), truth["gpu_total_us"], told, truth["unattributed_us"]))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "run":
        run(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) > 2 and sys.argv[1] == "finish":
        for name in sys.argv[2:]:
            finish(name)
    else:
        sys.exit(__doc__)
