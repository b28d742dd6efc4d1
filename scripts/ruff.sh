#!/usr/bin/env bash
# Installs ruff from PyPI into .cache/ruff, for `make bench` to replay its editing session against ruff's server too.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.14.6
folder=.cache/ruff
if [ ! -x "$folder/bin/ruff" ] || [ "$("$folder/bin/ruff" --version)" != "ruff $version" ]; then
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "ruff==$version"
fi
"$folder/bin/ruff" --version
