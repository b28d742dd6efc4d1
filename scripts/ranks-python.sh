#!/usr/bin/env bash
# Makes sure that a Python with DuckDB (and with --spark also PySpark and a Java) is in .cache/ranks-python, and prints that
# Python as its last line. DuckDB and PySpark come from PyPI, Java and python3-venv from Debian where they are missing. It ends
# with 3 and one line where they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
duckdb=2.0.1 pyspark=3.5.9
folder=.cache/ranks-python
cannot() { echo "ranks-python: $*" >&2; exit 3; }
debian() {
  command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ] || cannot "$1 is missing and cannot be installed here (apt-get as root installs it)"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$1"; } >&2 </dev/null || cannot "$1 could not be installed from Debian"
}

packages=("duckdb==$duckdb")
if [ "${1:-}" = --spark ]; then
  packages+=("pyspark==$pyspark")
  command -v java >/dev/null || debian default-jre-headless
fi
if ! "$folder/bin/python" -c "import duckdb; assert duckdb.__version__ == '$duckdb'" 2>/dev/null ||
   { [ "${1:-}" = --spark ] && ! "$folder/bin/python" -c "import pyspark; assert pyspark.__version__ == '$pyspark'" 2>/dev/null; }; then
  mkdir -p .cache
  if [ ! -x "$folder/bin/pip" ] && ! python3 -m venv "$folder" >&2; then
    rm -rf "$folder"
    debian python3-venv
    python3 -m venv "$folder" >&2 || cannot "no virtual environment could be made"
  fi
  timeout 300 "$folder/bin/pip" install -q --disable-pip-version-check "${packages[@]}" >&2 || cannot "${packages[*]} could not be installed from PyPI"
fi
echo "$PWD/$folder/bin/python"
