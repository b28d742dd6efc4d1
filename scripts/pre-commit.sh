#!/usr/bin/env bash
# Makes sure that pre-commit is there for the test of .pre-commit-hooks.yaml, in .cache/pre-commit, and prints its path as the
# last line. It comes from PyPI; Debian's python3-venv is installed where venv is missing and apt can be used.
set -euo pipefail
cd "$(dirname "$0")/.."
version=4.3.0
program=.cache/pre-commit/bin/pre-commit
if [ "$("$program" --version 2>/dev/null)" != "pre-commit $version" ]; then
  mkdir -p .cache
  rm -rf .cache/pre-commit
  if ! python3 -m venv .cache/pre-commit >&2; then
    rm -rf .cache/pre-commit
    apt-get install -q -y --no-install-recommends python3-venv >&2 </dev/null
    python3 -m venv .cache/pre-commit >&2
  fi
  .cache/pre-commit/bin/pip install -q --disable-pip-version-check "pre-commit==$version" >&2
fi
echo "$PWD/$program"
