#!/usr/bin/env bash
# Installs TorchFix from PyPI into .cache/torchfix, and timm, a library of training code, into .cache/lint-corpus, for
# `make bench` to lint the same files with stepline, TorchFix and ruff (scripts/ruff.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
torchfix=0.7.0
corpus=timm-1.0.11
folder=.cache/torchfix
if [ ! -x "$folder/bin/torchfix" ] || ! "$folder/bin/python" -c "from importlib.metadata import version as v; raise SystemExit(v('torchfix') != '$torchfix')"; then
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "torchfix==$torchfix"
fi
if [ ! -d ".cache/lint-corpus/$corpus" ]; then
  rm -rf .cache/lint-corpus
  mkdir -p .cache/lint-corpus
  "$folder/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest .cache/lint-corpus "${corpus/-/==}"
  "$folder/bin/python" -m zipfile -e ".cache/lint-corpus/$corpus-py3-none-any.whl" ".cache/lint-corpus/$corpus"
fi
echo "torchfix $torchfix, $corpus"
