#!/bin/sh
# Records the lab scripts with stepline's recorder on the GPUs of this machine, each with the ranges of
# truth.py around its statements, into the folder OUT. Run from the repository's root:
#   OUT=/some/folder sh testdata/lab/record.sh trainer moe …      (ddp and fsdp need two GPUs)
# then, per trace: python testdata/lab/truth.py finish OUT/lab_X/*.trace.json.gz
set -u
lab=$PWD/testdata/lab
for name in "$@"; do
  folder=$PWD/testdata/traces/lab_$name
  script=$name.py launch=python3 steps=2 shapes=0 memory=0
  case $name in
    trainer) script=train.py ;;
    moe | vit) steps=1 ;;
    detect) shapes=1 ;;
    gan) memory=1 ;;
    ddp) launch="torchrun --standalone --nproc-per-node=2" ;;
    fsdp) launch="torchrun --standalone --nproc-per-node=2" steps=1 ;;
  esac
  work=$(mktemp -d)
  cp traceindex/recorder/python/*.py "$work"
  mkdir -p "$OUT/lab_$name"
  echo "== $name"
  (
    cd "$folder" || exit 1
    export PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1
    export STEPLINE_RECORD="{\"dir\":\"$OUT/lab_$name\",\"control\":\"$work\",\"steps\":$steps,\"warmup\":3,\"shapes\":$shapes,\"memory\":$memory,\"root\":\"$folder\",\"text\":true,\"version\":\"lab\"}"
    timeout 150 $launch "$lab/truth.py" run "$script" 2>&1 | tail -12
  )
  rm -rf "$work"
done
