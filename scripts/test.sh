#!/usr/bin/env bash
# test.sh "RACE PACKAGES": every Go test once, those packages under the race detector (which needs a C compiler; without one
# it is left out). Prints failures in full and ends with `N passed, N failed`, counting every test and subtest, and packages that
# do not build as failures.
# With STEPLINE_COUNT=FILE the two numbers are appended to FILE, for .ci/run.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache
log=$(mktemp -d .cache/test.XXXXXX)
trap 'rm -rf "$log"' EXIT
gotestsum=gotest.tools/gotestsum@v1.13.0
status=0

race=$(go list $1)
rest=$(go list ./... | grep -vxF "$race")
run() { # name, then go test arguments
  local name=$1
  shift
  go run "$gotestsum" --format pkgname --format-hide-empty-pkg --jsonfile "$log/$name.json" -- "$@" </dev/null || status=1
}
[ -z "$rest" ] || run plain -timeout 9m $rest
detector=-race
command -v cc >/dev/null || command -v gcc >/dev/null || { detector= && echo "no C compiler: the race detector is left out"; }
[ -z "$race" ] || run race $detector -timeout 9m $race

# test2json: a test ends with one pass or fail event that names it; a package that fails without a failed test did not build.
passed=$(cat "$log"/*.json | grep '"Action":"pass"' | grep -c '"Test":')
failed=$(cat "$log"/*.json | grep '"Action":"fail"' | grep -c '"Test":')
skipped=$(cat "$log"/*.json | grep '"Action":"skip"' | grep -c '"Test":')
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
[ -z "${STEPLINE_COUNT:-}" ] || echo "$passed $failed" >>"$STEPLINE_COUNT"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
