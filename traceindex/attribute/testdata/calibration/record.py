"""Records what stepline's alignment is calibrated on: the calls of branchy standard-library code, with CPython's own lines as truth.

    python3.12 record.py OUT_DIR

Runs each workload below under sys.setprofile, which reports the same calls that PyTorch's profiler records: Python frames, C
functions, no C types. For each frame of a standard-library file it keeps the sequence of its direct children, each with the line
the caller was executing. Writes WORKLOAD.json.gz (distinct sequences, capped) and sources.zip (the files they are from).

One frame: {"file", "line" (where the frame began: first line, or the yield's), "name", "qualname", "n" (how often this sequence
was seen), "tokens": [[event name, line], …, or [event name, line, [names of frames below, nearest first]]]}.
"""
import gzip
import io
import json
import os
import re
import sys
import zipfile

STDLIB = os.path.dirname(os.__file__) + os.sep
MAX_TOKENS, MAX_SEQUENCES = 250, 260
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def workload_json():
    import json.decoder, json.encoder, json.scanner
    decoder = json.JSONDecoder()
    decoder.parse_object, decoder.parse_array = json.decoder.JSONObject, json.decoder.JSONArray
    decoder.parse_string = json.decoder.py_scanstring
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    text = '{"a": [1, 2.5, true, null, "x\\n\\u00e9"], "b": {"c": {}, "d": []}, "e": -1e3, "f": "\\ud83d\\ude00"}'
    value = decoder.decode(text)
    for bad in ('{"a" 1}', '[1,,]', '"\\x"', "{", '{"a":1,}'):
        try:
            decoder.decode(bad)
        except ValueError:
            pass
    encode = json.encoder._make_iterencode({}, lambda o: str(o), json.encoder.py_encode_basestring, "  ", float.__repr__, ": ", ", ", True, False, False)
    value["g"] = (1, 2.0, False, None, {3: "x", 2.5: []})
    "".join(encode(value, 0))
    json.dumps(value, indent=2)
    json.dumps([1, {"a": (1, 2)}], cls=json.JSONEncoder, default=str)


def workload_ast():
    import ast
    source = open(STDLIB + "textwrap.py").read() + ("" if sys.version_info < (3, 11) else "\nmatch x:\n    case [1, *r] if r: pass\n    case A(b=1) | None: pass\nasync def f():\n    async with a as b: await c\n    return [x for x in y if z], f'{a!r:>{w}}', lambda *a, b=1, **k: (yield)\ntry:\n    a\nexcept* E as e:\n    del a[1:2]\nelse:\n    global q\n")
    tree = ast.parse(source)
    ast.unparse(tree)
    ast.dump(tree.body[3], indent=1)
    for node in ast.walk(tree):
        ast.get_docstring(node) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None
    ast.literal_eval("{'a': (1, -2.5, 3+4j), 'b': [b'x', None, {1}]}")
    ast.fix_missing_locations(ast.increment_lineno(tree, 3))


def workload_tokenize():
    import tokenize
    source = open(STDLIB + "heapq.py", "rb").read()
    tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    tokenize.untokenize(tokens)
    tokenize.untokenize([t[:2] for t in tokens[:400]])
    tokenize.detect_encoding(io.BytesIO(b"# -*- coding: latin-1 -*-\nx\n").readline)


def workload_csv():
    import csv
    rows = "name,age,city\nann,3,\"a, b\"\nbob,,c\n,4,d,extra\n\n"
    list(csv.DictReader(io.StringIO(rows), restkey="rest"))
    writer = csv.DictWriter(io.StringIO(), ["a", "b"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows([{"a": 1, "b": 2, "c": 3}, {"a": 4}])
    sniffer = csv.Sniffer()
    for text in (rows, "a;b;c\n1;2;3\n4;5;6\n", "'x'|'y'\n'z'|'w'\n", "a b\n1 2\n3 4\n"):
        try:
            sniffer.sniff(text)
            sniffer.has_header(text)
        except csv.Error:
            pass


def workload_re():
    import re
    re.purge()
    for pattern in (r"(?P<a>\d+)-(?P=a)|[^a-z\s]{2,3}?(?:x|y)*", r"(?i:abc)(?=d)(?!e)(?<=f)(?<!g)", r"\bfoo\B[\w.-]+@(?:[a-z]+\.)+com$", r"(a|b|cd)(?(1)x|y)", r"[\u0100-\uffff]|\N{BULLET}", r"(?xs) a  # c" + "\n b .", r"a{3}b{,4}[]a]"):
        re.compile(pattern)
    for bad in ("(", "[a", "a{2,1}", "(?P<1>a)", "*a", r"\g"):
        try:
            re.compile(bad)
        except re.error:
            pass
    re.sub(r"(\w)(\d)", r"\2\g<1>\n", "a1 b2")
    re.template if hasattr(re, "template") else None
    re.escape("a.b")


def workload_difflib():
    import difflib
    a, b = open(STDLIB + "heapq.py").read().split("\n")[:60], open(STDLIB + "bisect.py").read().split("\n")[:60]
    list(difflib.unified_diff(a, b))
    list(difflib.context_diff(a[:20], a[5:25]))
    list(difflib.ndiff(["one\n", "two\n", "tree\n"], ["ore\n", "tree\n", "emu\n"]))
    difflib.get_close_matches("appel", ["ape", "apple", "peach"])
    difflib.HtmlDiff().make_table(["a b", "c"], ["a x", "c", "d"])
    m = difflib.SequenceMatcher(lambda x: x == " ", "private volatile", "private Thread volatile")
    m.ratio(), m.quick_ratio(), m.real_quick_ratio()


def workload_textwrap():
    import textwrap
    text = "The quick brown fox-jumps over  the lazy dog, averyveryverylongwordthatdoesnotfit.  New sentence." * 3
    textwrap.fill(text, 30)
    textwrap.wrap(text, 25, break_long_words=False, fix_sentence_endings=True, max_lines=4, placeholder=" …")
    textwrap.wrap(text, 20, initial_indent="* ", subsequent_indent="  ", drop_whitespace=False, break_on_hyphens=False)
    textwrap.shorten(text, 50)
    textwrap.dedent("   a\n\t b\n   c\n\n")
    textwrap.indent("a\nb\n\n", "> ")


def workload_argparse():
    import argparse
    p = argparse.ArgumentParser(prog="x", description="d" * 90, epilog="e", fromfile_prefix_chars="@")
    p.add_argument("files", nargs="*", help="files to %(prog)s read")
    p.add_argument("-v", "--verbose", action="count", default=0)
    p.add_argument("--level", type=int, choices=[1, 2, 3], default=1, help="level (default %(default)s)")
    g = p.add_mutually_exclusive_group()
    g.add_argument("--on", action="store_true")
    g.add_argument("--off", action="store_const", const=3)
    sub = p.add_subparsers(dest="cmd")
    s = sub.add_parser("go", aliases=["g"])
    s.add_argument("--list", action="append", nargs="+")
    p.parse_args(["-vv", "--level", "2", "go", "--list", "1", "2"])
    p.parse_known_args(["--on", "g", "--what"])
    p.format_help(), s.format_usage()
    for bad in (["--level", "9"], ["--on", "--off"], ["--lev=x"], ["go", "--list"]):
        try:
            with open(os.devnull, "w") as null:
                sys.stderr, saved = null, sys.stderr
                try:
                    p.parse_args(bad)
                finally:
                    sys.stderr = saved
        except SystemExit:
            pass


def workload_xml():
    import xml.etree.ElementTree as E
    import xml.etree.ElementPath
    import xml.dom.minidom
    text = "<r xmlns:n='u'><a id='1'>t<b/>tail</a><n:c>x &amp; y</n:c><!-- c --><a id='2'><b>z</b></a></r>"
    root = E.fromstring(text)
    tree = E.ElementTree(root)
    for path in ("a", ".//b", "a[@id='2']/b", "*[1]", "a[b='z']", "{u}c", ".//a[last()]", "./a/.."):
        list(root.iterfind(path))
    root.find("a"), root.findtext("a/b"), list(root.itertext())
    tree.write(io.BytesIO(), xml_declaration=True, encoding="us-ascii")
    E.tostring(root, method="text"), E.tostring(root, short_empty_elements=False)
    E.indent(tree)
    list(E.iterparse(io.BytesIO(text.encode()), ("start", "end")))
    E.canonicalize(text, strip_text=True)
    xml.dom.minidom.parseString(text).toprettyxml()


def workload_configparser():
    import configparser
    c = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation(), allow_no_value=True)
    c.read_string("[DEFAULT]\nx = 1\n[a]\ny: ${x}2\nlong = a\n  b\n\n  c\nflag\n# comment\n[b]\nz = ${a:y} ; no\n")
    c.getint("a", "y"), c.get("b", "z", fallback=None), c.items("a"), c.has_option("a", "q")
    c["new"] = {"k": "v"}
    c.set("a", "y", "3")
    c.remove_option("a", "long"), c.remove_section("new")
    c.write(io.StringIO())
    basic = configparser.ConfigParser()
    basic.read_dict({"s": {"p": "%(q)s/x", "q": "1", "b": "yes"}})
    basic.get("s", "p"), basic["s"].getboolean("b")
    for bad in ("x=1\n", "[a]\n[a]\n", "[a]\nx=1\nx=2\n", "[a]\n=3\n"):
        try:
            configparser.ConfigParser().read_string(bad)
        except configparser.Error:
            pass


def workload_decimal():
    import _pydecimal as d
    with d.localcontext() as ctx:
        ctx.prec = 12
        a, b = d.Decimal("123.456"), d.Decimal("-0.00789")
        for f in (a.__add__, a.__sub__, a.__mul__, a.__truediv__, a.__floordiv__, a.__mod__, a.compare, a.remainder_near, a.max, a.min):
            f(b)
        a.sqrt(), a.exp(), a.ln(), a.log10(), b.to_eng_string(), a.quantize(d.Decimal("0.1")), a.normalize(), a ** 3, d.Decimal(2) ** d.Decimal("0.5")
        format(a, "012,.2e"), str(b), repr(a), hash(a), int(a), float(b), round(a, 1), a.as_integer_ratio(), a.rotate(2), a.next_plus()
        for bad in ("x", "1..2"):
            try:
                d.Decimal(bad)
            except d.InvalidOperation:
                pass
        try:
            a / 0
        except d.DivisionByZero:
            pass
        d.Decimal("nan") + a, d.Decimal("inf") - 1, d.Decimal((1, (1, 2, 3), -2)), d.Decimal(0.1)


def workload_statistics():
    import statistics as s
    from fractions import Fraction
    data = [1, 2.5, 3, 4, 4, Fraction(7, 2), 10]
    s.mean(data), s.fmean(data, range(1, 8)), s.median(data), s.median_low(data), s.mode([1, 1, 2]), s.multimode("aabb"), s.stdev(data), s.pvariance(data)
    s.harmonic_mean([40, 60], [1, 2]), s.geometric_mean([54, 24, 36]), s.quantiles(data, n=5, method="inclusive"), s.quantiles(data), s.median_grouped([1, 2, 2, 3], 1)
    s.correlation([1, 2, 3], [1, 2, 4]), s.linear_regression([1, 2, 3], [3, 5, 8]), s.covariance([1, 2], [3, 5])
    n = s.NormalDist(3, 2)
    n.cdf(1), n.inv_cdf(0.9), n.overlap(s.NormalDist(4, 1)), n + n, n.quantiles(3), s.NormalDist.from_samples(range(5))
    for bad in ([], [1]):
        try:
            s.stdev(bad)
        except s.StatisticsError:
            pass


def workload_email():
    import email, email.policy
    from email.message import EmailMessage
    m = EmailMessage()
    m["Subject"], m["From"], m["To"] = "Grüße " + "long " * 20, "A B <a@b.c>", "x@y.z, \"Q, R\" <q@r.s>, Group: g@h.i;"
    m.set_content("hello\nwörld\n")
    m.add_alternative("<b>hi</b>", subtype="html")
    m.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="ä.bin")
    text = m.as_bytes()
    for policy in (email.policy.default, email.policy.compat32):
        p = email.message_from_bytes(text, policy=policy)
        for part in p.walk():
            part.get_content_type(), part.get_filename(), part.get_payload(decode=True)
        p["To"], p["Subject"], p.as_string()
    email.message_from_string("broken\nheader: x\n\tfolded\n\nbody", policy=email.policy.default).items()
    from email.utils import parsedate_to_datetime, formataddr, parseaddr
    parsedate_to_datetime("Mon, 20 Nov 1995 19:12:08 -0500"), formataddr(("Ä", "a@b")), parseaddr("X (c) <y@z>")


def workload_html():
    from html.parser import HTMLParser

    class P(HTMLParser):
        def handle_starttag(self, tag, attrs):
            dict(attrs)

        def handle_data(self, data):
            data.strip()

    p = P()
    p.feed("<!DOCTYPE html><p class='a' id=b disabled>x &lt; y &#65;<br/><!-- c --><script>a<b</script><?pi x?><![CDATA[z]]></p></x y><a href=")
    p.feed("'q'>t</a>&amp <")
    p.close()
    import html
    html.escape("<a&\">"), html.unescape("&eacute;&#x41;&bad;&notit;&#0;")


def workload_string():
    import string, shlex
    f = string.Formatter()
    f.format("{0} {a.real:>{w}} {1[k]!r} {{x}}", 1, {"k": "v"}, a=2, w=5)
    f.vformat("{} {}", (1, 2), {})
    t = string.Template("$a ${b} $$ $")
    t.safe_substitute(a=1), t.is_valid(), t.get_identifiers(), string.capwords("a b  c")
    try:
        t.substitute(a=1)
    except (KeyError, ValueError):
        pass
    shlex.split("a 'b c' \"d \\\" e\" f\\ g # h", comments=True), shlex.quote("a b"), list(shlex.shlex("a=b;(c|d)&&e", punctuation_chars=True))
    try:
        shlex.split("'a")
    except ValueError:
        pass


def workload_logging():
    import logging, logging.config, logging.handlers
    logging.config.dictConfig({"version": 1, "formatters": {"f": {"format": "{levelname} {message}", "style": "{"}}, "filters": {"q": {"name": "a"}},
                               "handlers": {"h": {"class": "logging.StreamHandler", "stream": io.StringIO(), "formatter": "f", "filters": ["q"]}, "m": {"class": "logging.handlers.MemoryHandler", "capacity": 2}},
                               "loggers": {"a": {"handlers": ["h", "m"], "level": "DEBUG", "propagate": False}}})
    log = logging.getLogger("a.b")
    log.info("x %s", 1), log.debug("y"), log.warning("z", stack_info=True), log.isEnabledFor(5)
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("bad %d", 2)
    logging.LoggerAdapter(log, {"k": 1}).error("e"), logging.getLogger("a").setLevel("INFO"), log.getEffectiveLevel(), log.hasHandlers()
    logging.Formatter("%(asctime)s %(message)s", "%Y", defaults={"q": 1}).format(logging.makeLogRecord({"msg": "m", "args": ()}))


def workload_pprint():
    import pprint, collections, dataclasses, types

    @dataclasses.dataclass
    class D:
        a: int
        b: list

    value = {"k" * 20: [list(range(30)), {"x": (1, "text " * 30)}, {1, 2, 3}], "d": D(1, [2] * 40), "o": collections.OrderedDict(a=1), "c": collections.Counter("aab"),
             "q": collections.deque([1] * 30), "m": types.SimpleNamespace(a=1, b="x" * 90), "b": b"bytes" * 30, "e": collections.ChainMap({1: 2}), "dd": collections.defaultdict(int, a=1)}
    value["self"] = value
    pprint.pformat(value), pprint.pformat(value, indent=2, width=40, depth=2, compact=True, sort_dicts=False, underscore_numbers=True), pprint.isreadable(value), pprint.saferepr(value)


def workload_copy():
    import copy, dataclasses, collections

    class N:
        def __init__(self):
            self.x, self.me = [1, {2: 3}], self

        def __deepcopy__(self, memo):
            n = copy.copy(self)
            n.x = copy.deepcopy(self.x, memo)
            return n

    class S:
        __slots__ = ("a",)

        def __reduce_ex__(self, p):
            return (S, (), (None, {"a": 1}), iter([]), iter({}.items()))

    value = [N(), (1, [2]), {"k": collections.OrderedDict(a=[1])}, S(), frozenset([1]), collections.Counter("ab"), print, 1.5]
    copy.deepcopy(value), copy.copy(value), [copy.copy(v) for v in value]

    @dataclasses.dataclass(order=True, frozen=True)
    class D:
        a: int
        b: list = dataclasses.field(default_factory=list, compare=False)
        c: dataclasses.InitVar[int] = 3

    d = D(1)
    dataclasses.asdict(d), dataclasses.replace(d, a=2, c=1), dataclasses.astuple(d), dataclasses.fields(d)


def workload_heapq():
    import test.support.import_helper as helper
    heapq = helper.import_fresh_module("heapq", blocked=["_heapq"])
    sys.modules.pop("heapq", None)
    data = [(i * 7919) % 101 for i in range(60)]
    heap = list(data)
    heapq.heapify(heap)
    for i in range(10):
        heapq.heappush(heap, i), heapq.heappop(heap), heapq.heapreplace(heap, i), heapq.heappushpop(heap, 50), heapq._heappop_max(heap)
    heapq.nlargest(5, data), heapq.nsmallest(5, data, key=lambda x: -x), heapq.nlargest(1, data), heapq.nsmallest(100, data), list(heapq.merge([1, 3], [2, 4], [], key=lambda x: x, reverse=False)), list(heapq.merge([3, 1], [2], reverse=True))


def workload_inspect():
    import inspect, functools, collections.abc

    def f(a, /, b: int = 1, *args, c, d=2, **kw) -> str:
        yield a

    s = inspect.signature(f)
    str(s), s.bind(1, 2, 3, c=4, z=5).arguments, s.bind_partial(1).apply_defaults(), s.replace(parameters=list(s.parameters.values())[:2])
    inspect.signature(functools.partial(f, 1, c=2)), inspect.getsource(inspect.cleandoc), inspect.getmembers(collections.abc.Mapping), inspect.getdoc(dict.get), inspect.getfullargspec(f), inspect.getmro(int), inspect.classify_class_attrs(collections.abc.Set)
    try:
        s.bind()
    except TypeError:
        pass
    inspect.getcallargs(f, 1, c=2), inspect.unwrap(f), inspect.getcomments(inspect.cleandoc), inspect.signature(str.split), inspect.isgeneratorfunction(f)


def workload_pathlib():
    import pathlib, glob, fnmatch, shutil, tempfile, posixpath
    with tempfile.TemporaryDirectory() as d:
        p = pathlib.Path(d)
        (p / "a" / "b").mkdir(parents=True), (p / "a" / "x.txt").write_text("q"), (p / "a" / "b" / "y.py").touch()
        list(p.rglob("*.py")), list(p.glob("*/*")), sorted(p.iterdir()), glob.glob(d + "/**/*.txt", recursive=True), list(os.walk(d)), shutil.copytree(p / "a", p / "c"), p.joinpath("a", "..", "c").resolve()
        (p / "a" / "x.txt").with_suffix(".md").relative_to(p), p.parts, p.match("*"), p.exists(), fnmatch.filter(["a.py", "b.c"], "*.[pc]?"), posixpath.relpath("/a/b", "/a/c/d"), posixpath.expandvars("$HOME/x"), os.path.commonpath(["/a/b", "/a/c"])
        shutil.make_archive(d + "/z", "zip", p / "a"), shutil.unpack_archive(d + "/z.zip", d + "/u"), shutil.move(d + "/u", d + "/v"), shutil.rmtree(d + "/v")


def workload_fractions():
    from fractions import Fraction as F
    import numbers, colorsys, calendar, datetime
    F("3/4"), F(0.5), F("1.5e-3"), F(3, -6) + F(1, 2), F(1, 3) ** 2, F(7, 2) // 1, F(7, 2) % 2, divmod(F(9, 4), F(1, 2)), F(1, 3) < 0.5, F(1, 3) == 1, round(F(7, 3), 1), F(3.14159).limit_denominator(100), hash(F(1, 3)), format(F(1, 3), ".3f"), str(F(2)), F(2, 3) * 1.5, 2 - F(1, 2), abs(F(-1, 2)), F(1, 2) ** F(1, 2)
    c = calendar.TextCalendar(6)
    c.formatmonth(2024, 2), calendar.HTMLCalendar().formatmonth(2023, 5), list(c.itermonthdates(2024, 1))[:3], calendar.monthrange(2024, 2), calendar.timegm((2024, 1, 1, 0, 0, 0))


def workload_zipfile():
    import zipfile, tarfile
    b = io.BytesIO()
    with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.txt", "x" * 500), z.writestr(zipfile.ZipInfo("d/b.txt"), b"y"), z.mkdir("e") if hasattr(z, "mkdir") else None
    with zipfile.ZipFile(b) as z:
        z.namelist(), z.read("a.txt"), z.testzip(), z.getinfo("d/b.txt").is_dir(), list(zipfile.Path(z).iterdir()), z.open("a.txt").readline()
    t = io.BytesIO()
    with tarfile.open(fileobj=t, mode="w:gz", format=tarfile.PAX_FORMAT) as f:
        info = tarfile.TarInfo("ü/long" * 30)
        info.size = 3
        f.addfile(info, io.BytesIO(b"abc"))
    t.seek(0)
    with tarfile.open(fileobj=t) as f:
        f.getmembers(), f.getnames(), f.extractfile(f.next() or f.getmembers()[0]).read()


def workload_asyncio():
    import asyncio

    async def child(n):
        await asyncio.sleep(0)
        return n

    async def main():
        lock, queue = asyncio.Lock(), asyncio.Queue(2)
        async with lock:
            a = await asyncio.gather(child(1), child(2))
        for i in range(3):
            if queue.full():
                await queue.get()
            await queue.put(i)
        try:
            await asyncio.wait_for(asyncio.sleep(1), 0.001)
        except TimeoutError:
            pass
        t = asyncio.create_task(child(3))
        done, _ = await asyncio.wait({t})
        return a, done

    asyncio.run(main())


class Frame:
    __slots__ = ("key", "tokens", "names")

    def __init__(self, key):
        self.key, self.tokens, self.names = key, [], []


class Recorder:
    def __init__(self):
        self.stack, self.sequences = [], {}

    def __call__(self, frame, event, arg):
        if event == "call":
            code = frame.f_code
            name = f"{self.short(code.co_filename)}({frame.f_lineno}): {code.co_name}"
            self.enter(name, frame.f_back, Frame((code.co_filename, frame.f_lineno, code.co_name, getattr(code, "co_qualname", code.co_name))), code.co_name)
        elif event == "c_call":
            if getattr(arg, "__name__", "") == "setprofile":
                return
            self.enter(ADDRESS.sub(" at 0x0", repr(arg)), frame, None, None)
        elif event in ("return", "c_return", "c_exception") and self.stack:
            self.leave()

    @staticmethod
    def short(path):
        return path[len(STDLIB):] if path.startswith(STDLIB) else path

    def enter(self, name, caller, made, code_name):
        token = [name, caller.f_lineno if caller is not None else 0, []]
        depth = 0
        for outer in reversed(self.stack):
            # a name below counts for the tokens up to five levels above
            depth += 1
            if depth > 5:
                break
            if code_name and outer[0] is not None and len(outer[0][2]) < 12 and code_name not in outer[0][2]:
                outer[0][2].append(code_name)
        if self.stack and self.stack[-1][1] is not None:
            self.stack[-1][1].tokens.append(token)
        self.stack.append((token, made))

    def leave(self):
        _, frame = self.stack.pop()
        if frame is None or frame.key[2] == "<module>" or not frame.key[0].startswith(STDLIB) or not 0 < len(frame.tokens) <= MAX_TOKENS:
            return
        tokens = [t if t[2] else t[:2] for t in frame.tokens]
        key = json.dumps([frame.key, tokens])
        self.sequences[key] = self.sequences.get(key, 0) + 1


def main(out):
    os.makedirs(out, exist_ok=True)
    files = set()
    for name, workload in list(globals().items()):
        if not name.startswith("workload_"):
            continue
        recorder = Recorder()
        sys.setprofile(recorder)
        try:
            workload()
        except (Exception, SystemExit) as e:  # a workload that this Python cannot finish still counts as far as it came
            sys.setprofile(None)
            print(name, "stopped:", repr(e))
        finally:
            sys.setprofile(None)
        rows, per_function = [], {}
        for key, n in recorder.sequences.items():
            (file, line, function, qualname), tokens = json.loads(key)
            if file.endswith(("importlib/_bootstrap.py", "enum.py", "sre_parse.py")) or "importlib" in file or "/test/" in file:
                continue
            per_function[file, line, function] = per_function.get((file, line, function), 0) + 1
            if per_function[file, line, function] > 25:
                continue
            rows.append({"file": file[len(STDLIB):], "line": line, "name": function, "qualname": qualname, "n": n, "tokens": tokens})
        rows.sort(key=lambda r: (-len(r["tokens"]), r["file"], r["line"]))
        step = max(1, len(rows) / MAX_SEQUENCES)
        rows = [rows[int(i * step)] for i in range(min(len(rows), MAX_SEQUENCES))]
        files.update(r["file"] for r in rows)
        with gzip.GzipFile(os.path.join(out, name[len("workload_"):] + ".json.gz"), "wb", mtime=0) as f:
            f.write(json.dumps({"python": "%d.%d" % sys.version_info[:2], "frames": rows}).encode())
        print(name, len(recorder.sequences), "sequences,", len(rows), "kept,", sum(len(r["tokens"]) for r in rows), "tokens")
    with zipfile.ZipFile(os.path.join(out, "sources.zip"), "w", zipfile.ZIP_DEFLATED) as z:
        for file in sorted(files):
            z.writestr(zipfile.ZipInfo(file), open(STDLIB + file).read(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(sys.argv[1])
