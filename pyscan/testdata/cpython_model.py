"""Prints what CPython's own parser says about Python files, one JSON object a line, for corpus_test.go.

python cpython_model.py FILE… prints {"path", "nodes": ["Kind start end"…], "frames": ["line name"…]} per
file, sorted; offsets are bytes. Files that CPython does not compile get {"path", "error"}.
"""
import ast
import json
import sys
import warnings

warnings.simplefilter("ignore")

KINDS = {
    "Expr": "ExprStmt", "AnnAssign": "Assign", "AsyncFor": "For", "AsyncWith": "With", "TryStar": "Try",
    "ImportFrom": "Import", "Pass": "Simple", "Break": "Simple", "Continue": "Simple", "Global": "Scope",
    "Nonlocal": "Scope", "JoinedStr": "FString", "ListComp": "Comprehension", "SetComp": "Comprehension",
    "DictComp": "Comprehension", "GeneratorExp": "Comprehension", "YieldFrom": "Yield",
    "AsyncFunctionDef": "FunctionDef", "TypeAlias": "Assign", "ExceptHandler": "Handler", "keyword": "Keyword",
}
SKIP = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.alias, ast.withitem,
        ast.comprehension, ast.arguments, ast.Module, ast.type_ignore)


def line_starts(text):
    starts = [0]
    data = text
    i = 0
    while i < len(data):
        c = data[i]
        if c == 13:
            if i + 1 < len(data) and data[i + 1] == 10:
                i += 1
            starts.append(i + 1)
        elif c == 10:
            starts.append(i + 1)
        i += 1
    return starts


class Dump(ast.NodeVisitor):
    def __init__(self, data, starts):
        self.data = data
        self.starts = starts
        self.out = []
        self.formatted = 0
        self.lazy = set()

    def generic_visit(self, node):
        kind = type(node).__name__
        if kind in ("TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple"):
            # Their values are code objects that run on demand, which the model leaves out.
            self.lazy.add("%d %s" % (node.lineno, node.name.id if kind == "TypeAlias" else node.name))
        if isinstance(node, getattr(ast, "pattern", ())) or kind in ("TypeVar", "ParamSpec", "TypeVarTuple"):
            return  # the model keeps what a pattern evaluates, and no type parameters
        if isinstance(node, ast.FormattedValue):
            self.formatted += 1
            self.visit(node.value)
            if node.format_spec is not None:
                for value in node.format_spec.values:
                    if isinstance(value, ast.FormattedValue):
                        self.visit(value)
            self.formatted -= 1
            return
        if isinstance(node, ast.JoinedStr):
            self.emit("FString", node)
            for value in node.values:
                if isinstance(value, ast.FormattedValue):
                    self.visit(value)
            return
        if isinstance(node, ast.arg):
            self.out.append("arg " + node.arg)
        elif not isinstance(node, SKIP) and hasattr(node, "lineno"):
            self.emit(KINDS.get(kind, kind), node)
            if isinstance(node, ast.Attribute):
                self.out.append("attr " + node.attr)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for name in node.names:
                    self.out.append("import %s %s%s %s" % (getattr(node, "level", 0) or 0, getattr(node, "module", "") or "", ":" + name.name, name.asname or ""))
        super().generic_visit(node)

    def emit(self, kind, node):
        if self.formatted:
            self.out.append("f " + kind)
            return
        if kind in ("FunctionDef", "ClassDef"):
            self.out.append("%s line %d to %d" % (kind, node.lineno, node.end_lineno))
            return
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        if self.data[end - 1:end] == b";":  # the model ends `for x in y: f();` before the semicolon
            end = start + len(self.data[start:end - 1].rstrip())
        self.out.append("%s %d %d" % (kind, start, end))


def frames(code, out):
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            if const.co_flags & 1:
                out.add("%d %s" % (const.co_firstlineno, const.co_name))
            frames(const, out)


def model(path):
    try:
        with open(path, "rb") as f:
            data = f.read()
        text = data.decode("utf-8")
        bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        starts = [s if i == 0 and not bom else s for i, s in enumerate(line_starts(data))]
        if bom:
            starts[0] = 3
        if any(b"coding" in line and b"utf" not in line.lower() for line in data.split(b"\n")[:2]):
            return {"path": path, "error": "not UTF-8"}
        tree = ast.parse(data)
        dump = Dump(data, starts)
        dump.visit(tree)
        names = set()
        frames(compile(data, path, "exec", dont_inherit=True), names)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError, UnicodeDecodeError) as e:
        return {"path": path, "error": str(e)}
    return {"path": path, "nodes": sorted(dump.out), "frames": sorted(names - dump.lazy)}


sys.setrecursionlimit(20000)
for line in sys.stdin:
    print(json.dumps(model(line.rstrip("\n"))), flush=True)
