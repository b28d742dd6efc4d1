#!/bin/sh
# The overhead of the recorder outside its window: overhead.py in turn without it, with it (window:
# steps 105 to 109), and with it but CUPTI left attached afterwards. Run from the repository's root.
set -u
work=$(mktemp -d)
cp traceindex/recorder/python/*.py "$work"
recorded() {
  rm -f "$work"/*.claim "$work"/status-*
  PYTHONPATH=$work STEPLINE_RECORD="{\"dir\":\"$work/out\",\"control\":\"$work\",\"steps\":5,\"warmup\":105,\"shapes\":0,\"memory\":0,\"root\":\"$PWD\",\"text\":true,\"version\":\"lab\",\"release\":$1}" \
    python3 testdata/lab/overhead.py 2>"$work/err"
}
for turn in ${TURNS:-1 2 3}; do
  echo "without  $(python3 testdata/lab/overhead.py)"
  echo "with     $(recorded true)"
  echo "attached $(recorded false)"
done
cat "$work/err"
rm -rf "$work"
