#!/usr/bin/env bash
# ranks-test.sh STEPLINE: indexes the shipped runs of two ranks and holds the SQL files for DuckDB (docs/sql) and the Spark job
# (docs/spark) against stepline's own report. What cannot be installed is skipped with one line. Ends with `N passed, N failed`;
# with STEPLINE_COUNT=FILE the two numbers are appended to FILE, for .ci/run.
set -uo pipefail
cd "$(dirname "$0")/.."
stepline=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

for rank in 0 1; do
  "$stepline" index --parquet "$scratch/new" --root testdata/traces/ddp "testdata/traces/ddp/ddp.rank$rank.trace.json.gz" || failed=1
done
"$stepline" index --parquet "$scratch/base" --root testdata/traces/ddp testdata/traces/ddp/ddp.rank0.trace.json.gz || failed=1

for engine in duckdb spark; do
  option=; [ "$engine" = duckdb ] || option=--spark
  python=$(bash scripts/ranks-python.sh $option | tail -n 1)
  [ -n "$python" ] || { echo "$engine: skipped, see the line above"; continue; }
  output=$(SPARK_LOCAL_IP=127.0.0.1 timeout 240 "$python" scripts/ranks_check.py "$stepline" "$scratch/new" "$scratch/base" "$engine" 2>&1)
  echo "$output"
  counts=$(tail -n 1 <<<"$output" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
  [ -n "$counts" ] || counts="0 1"
  read -r p f <<<"$counts"
  passed=$((passed + p)) failed=$((failed + f))
done

[ -z "${STEPLINE_COUNT:-}" ] || echo "$passed $failed" >>"$STEPLINE_COUNT"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
