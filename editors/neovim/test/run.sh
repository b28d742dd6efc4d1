#!/usr/bin/env bash
# run.sh STEPLINE: runs every *_test.lua in real headless Neovims (0.10.4 and 0.12), each file in a fresh copy of the gpt
# script beside its trace. Ends with `N passed, N failed`. With STEPLINE_COUNT=FILE the two numbers are appended to FILE.
set -uo pipefail
stepline=$(readlink -f "${1:?the program stepline}")
plugin=$(cd "$(dirname "$0")/.." && pwd)
repository=$(cd "$plugin/../.." && pwd)
passed=0 failed=0
for suite in trixie forky; do
  folder=$repository/.cache/neovim-$suite
  if ! "$plugin/test/get-neovim.sh" "$folder" "$suite" >"$repository/.cache/neovim-$suite.log" 2>&1; then
    echo "FAIL could not fetch the Neovim of Debian $suite:"
    tail -n 5 "$repository/.cache/neovim-$suite.log"
    failed=$((failed + 1))
    continue
  fi
  "$folder/nvim" --version | head -n 1
  for test in "$plugin"/test/*_test.lua; do
    scratch=$(mktemp -d)
    mkdir -p "$scratch/project" "$scratch/home"
    cp "$repository/testdata/traces/gpt/gpt.py" "$repository/testdata/traces/gpt/trace.json.gz" "$scratch/project/"
    output=$(cd "$scratch/project" && env HOME="$scratch/home" XDG_CONFIG_HOME="$scratch/home" XDG_DATA_HOME="$scratch/home" \
      XDG_STATE_HOME="$scratch/home" XDG_CACHE_HOME="$scratch/home" STEPLINE="$stepline" PLUGIN="$plugin" TEST="$test" \
      timeout -k 5 180 "$folder/nvim" --headless --clean -u "$plugin/test/init.lua" 2>&1 </dev/null)
    status=$?
    echo "$(basename "$test"):"
    printf '%s\n' "$output"
    counts=$(printf '%s\n' "$output" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' | tail -n 1)
    if [ -n "$counts" ]; then
      passed=$((passed + ${counts% *}))
      failed=$((failed + ${counts#* }))
    else
      echo "FAIL ended with status $status before its count"
      failed=$((failed + 1))
    fi
    rm -rf "$scratch"
  done
done
[ -z "${STEPLINE_COUNT:-}" ] || echo "$passed $failed" >>"$STEPLINE_COUNT"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
