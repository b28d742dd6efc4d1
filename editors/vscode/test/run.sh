#!/usr/bin/env bash
# run.sh STEPLINE: the extension in a real VS Code (code-server) with STEPLINE as its server: tests inside the extension host,
# then the packaged VSIX by its page. Ends with `N passed, N failed`; with STEPLINE_COUNT=FILE the two numbers are
# appended to FILE. Screenshots are left in .cache/vscode-page/shots.
set -uo pipefail
stepline=$(readlink -f "${1:?the program stepline}")
cd "$(dirname "$0")"
repository=$(cd ../../.. && pwd)
passed=0 failed=0
took() { # name, log, tries, limit in seconds, command…
  local name=$1 log=$2 tries=$3 limit=$4 counts
  shift 4
  until timeout -k 10 "$limit" "$@" >"$log" 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || break
    echo "$name, the first time:"
    grep -E '^(FAIL|     )' "$log"
  done
  echo "$name:"
  grep -E '^(ok|FAIL|     )' "$log"
  counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$log" | tail -n 1)
  if [ -n "$counts" ]; then
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
  else
    echo "FAIL ended before its count:"
    tail -n 15 "$log"
    failed=$((failed + 1))
  fi
}
mkdir -p "$repository/.cache"
log=$repository/.cache/vscode.log
if settings=$(./code-server.sh "$repository/.cache/vscode" 2>"$log"); then
  eval "$settings"
  export NODE CODE_SERVER CHROMIUM
  PATH=$(dirname "$NODE"):$PATH
  vsix=$repository/.cache/stepline.vsix
  rm -f "$vsix"
  # Types, texts for translators and the manifest are checked on the way to the package.
  if "$repository/scripts/vscode-vsix.sh" "" "$vsix" >"$log" 2>&1; then
    echo "ok   checked and packaged"
    passed=$((passed + 1))
  else
    echo "FAIL checked and packaged"
    tail -n 15 "$log"
    failed=$((failed + 1))
  fi
  took "inside the extension host" "$repository/.cache/vscode-api.log" 1 200 "$NODE" api.mjs "$stepline" "$repository/.cache/vscode-api"
  # A page driven by mouse and keyboard can lose an event on a busy machine. What fails twice has failed.
  took "by the page" "$repository/.cache/vscode-page.log" 2 300 "$NODE" page.mjs "$vsix" "$repository/.cache/vscode-page"
else
  echo "FAIL could not set up VS Code:"
  tail -n 15 "$log"
  failed=1
fi
[ -z "${STEPLINE_COUNT:-}" ] || echo "$passed $failed" >>"$STEPLINE_COUNT"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
