#!/usr/bin/env bash
# fuzz.sh DURATION: runs every fuzz target for that long (10s) or that many inputs (300x), one after the other, and ends with `N passed, N failed`.
# A failing input is kept by go under the package's testdata/fuzz. With STEPLINE_COUNT=FILE the numbers go there too.
set -uo pipefail
cd "$(dirname "$0")/.."
duration=${1:-10s}
passed=0 failed=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  if output=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" "$package" </dev/null 2>&1); then
    passed=$((passed + 1))
    echo "ok   $package $target ($(printf '%s\n' "$output" | sed -n 's/.*execs: \([0-9]*\).*/\1 inputs/p' | tail -n 1))"
  else
    failed=$((failed + 1))
    printf 'FAIL %s %s\n%s\n' "$package" "$target" "$output"
  fi
done < <(git ls-files '*_test.go' | xargs grep -Ho '^func Fuzz[A-Za-z0-9_]*' | sed 's/func //')
[ -z "${STEPLINE_COUNT:-}" ] || echo "$passed $failed" >>"$STEPLINE_COUNT"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
