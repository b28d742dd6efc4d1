"""Holds the SQL files for DuckDB (docs/sql) and the Spark job (docs/spark) against stepline's own report on the same ranks.

    ranks_check.py STEPLINE SET BASE_SET duckdb|spark

Prints one line per comparison and ends with exit code 1 if one fails. scripts/ranks-test.sh runs it.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
failed = 0
passed = 0


def stepline(program, *arguments):
    return json.loads(subprocess.run([program, *arguments, "--format", "json"], check=True, capture_output=True, text=True).stdout)


def check(what, got, want):
    """Compares rows of numbers and words; numbers to a hundredth of a microsecond or a millionth."""
    global failed, passed
    wrong = "" if len(got) == len(want) and want else f"{len(got)} rows, stepline has {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        for x, y in zip(a, b):
            same = math.isclose(x, y, rel_tol=1e-6, abs_tol=0.01) if isinstance(y, (int, float)) and isinstance(x, (int, float)) else x == y
            if not same and not wrong:
                wrong = f"row {i}: {a}, stepline has {b}"
    failed, passed = failed + bool(wrong), passed + (not wrong)
    print(f"{'FAIL' if wrong else 'ok  '} {what}{': ' + wrong if wrong else f' ({len(got)} rows)'}")


def rank_rows(report):
    return [[r["rank"], r["steps"], r["step_mean_us"], r["gpu_busy"], r["exposed_communication_us"]] for r in report["ranks"]]


def straggler_rows(report):
    return [[s["rank"], s["wait_us_per_step"], s["waiting"], s["collectives"]] for s in report["stragglers"]]


def idle_rows(report):
    """The gaps of all steps by cause and line; the report has them step by step."""
    sums = {}
    for step in report["steps"]:
        for gap in step["gaps"]:
            key = gap["cause"], gap.get("file", ""), gap.get("line", 0)
            ns, n = sums.get(key, (0, 0))
            sums[key] = ns + round(gap["duration_us"] * 1e3), n + 1
    rows = [[*key, ns // len(report["steps"]) / 1e3, n] for key, (ns, n) in sums.items()]
    return sorted(rows, key=lambda r: (-r[3], r[:3]))


def line_rows(report):
    rows = [[l["file"], l["line"], l["cuda_self_us"], l["cuda_backward_us"], l["kernels"], l["gpu_idle_us"]] for l in report["lines"]]
    return sorted(rows, key=lambda r: (-round((r[2] + r[3]) * 1e3), r[:2]))


def check_duckdb(program, folder, base, report):
    import duckdb

    db = duckdb.connect()
    db.execute("SET VARIABLE ranks = ?", [folder])
    db.execute("SET VARIABLE base = ?", [base])
    db.execute("SET VARIABLE new = ?", [folder])

    def sql(name):
        cursor = db.execute((ROOT / "docs" / "sql" / name).read_text())
        if cursor.description is None:
            return []
        names = [d[0] for d in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]

    sql("views.sql")
    check("duckdb ranks.sql", [list(r.values()) for r in sql("ranks.sql")], rank_rows(report))
    parts = ["data", "communication", "sync", "launch", "copy", "compute", "other"]
    check("duckdb shares.sql", [[r[p] for p in parts] for r in sql("shares.sql")], [[report["bottleneck"]["shares"][p] for p in parts]])
    check("duckdb stragglers.sql", [[r["rank"], r["wait_us_per_step"], f"rank {r['waiting']}", r["collectives"]] for r in sql("stragglers.sql")], straggler_rows(report))
    check("duckdb idle.sql", [list(r.values()) for r in sql("idle.sql")], idle_rows(report))
    check("duckdb lines.sql", [[r[k] for k in ("file", "line", "cuda_self_us", "cuda_backward_us", "kernels", "gpu_idle_us")] for r in sql("lines.sql")], line_rows(report))
    diff = stepline(program, "diff", base, "--with", folder)
    want = {(l["file"], l.get("new_line") or l.get("base_line")): l["cuda"] for l in diff["lines"]}
    got = sql("diff.sql")
    check("duckdb diff.sql", [[r["base_us"], r["new_us"], r["delta_us"]] for r in got],
          [[want[r["file"], r["line"]][k] for k in ("base_mean_us", "new_mean_us", "delta_us")] for r in got])


def check_spark(folder, report):
    local = "--master local[2] --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 pyspark-shell"
    job = subprocess.run([sys.executable, str(ROOT / "docs" / "spark" / "ranks.py"), folder], capture_output=True, text=True,
                         env={**os.environ, "PYSPARK_SUBMIT_ARGS": local})
    if job.returncode != 0:
        check("spark ranks.py runs: " + re.sub(r"\s+", " ", job.stderr[-400:]), [], [])
        return
    got = json.loads(job.stdout.splitlines()[-1])
    check("spark ranks", [[r[k] for k in ("rank", "steps", "step_mean_us", "gpu_busy", "exposed_communication_us")] for r in got["ranks"]], rank_rows(report))
    check("spark stragglers", [[r["rank"], r["wait_us_per_step"], f"rank {r['waiting']}", r["collectives"]] for r in got["stragglers"]], straggler_rows(report))
    check("spark idle", [[r[k] for k in ("cause", "file", "line", "us_per_step", "gaps")] for r in got["idle"]], idle_rows(report))
    check("spark lines", [[r[k] for k in ("file", "line", "cuda_self_us", "cuda_backward_us", "kernels", "gpu_idle_us")] for r in got["lines"]], line_rows(report))


def main(program, folder, base, engine):
    report = stepline(program, "report", folder)
    if engine == "duckdb":
        check_duckdb(program, folder, base, report)
    else:
        check_spark(folder, report)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
