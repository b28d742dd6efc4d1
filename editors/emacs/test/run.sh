#!/usr/bin/env bash
# run.sh STEPLINE: real Emacsen (28.2 with Eglot 1.9, 30.1) in a terminal with stepline-eglot.el, on the gpt script beside its
# trace; each is driven by keys and its screen is read back. Ends with `N passed, N failed`.
set -uo pipefail
stepline=$(readlink -f "${1:?the program stepline}")
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../.." && pwd)
. "$here/../../test/terminal.sh"

mkdir -p "$repository/.cache"
export STEPLINE_LISP=$here/..

command_named() { keys M-x && drawn "M-x" && type_text "$1" && keys Enter; }
alone() { keys C-x 1; }
go_to() { keys M-g g && drawn "Goto line" && type_text "$1" && keys Enter && drawn " L$1 "; }

compiles() {
  "$emacs" -Q --batch --eval '(setq byte-compile-error-on-warn t byte-compile-dest-file-function (lambda (_) (expand-file-name "compiled.elc" (getenv "HOME"))))' \
    -f batch-byte-compile "$here/../stepline-eglot.el"
}
started() { drawn "58.6 ms/step" && drawn "launch-bound"; }
findings() {
  command_named flymake-show-buffer-diagnostics && drawn "waits for the GPU once per" && drawn "can run as one fused kernel" && alone && gone "can run as one fused kernel"
}
hints() { go_to 63 && drawn "return self.down(F.gelu(self.up(x))) 3.58 ms · 22 %"; }
hints_gone() { go_to 63 && gone "3.58 ms · 22 %"; }
hover() {
  go_to 63 && drawn "3.58 ms on the GPU a step" && command_named eldoc-doc-buffer && drawn "GPU forward" && drawn "1.12 ms" && drawn "2.46 ms" && drawn "exact" && alone
}
fix() {
  go_to 119 && keys C-s && type_text "AdamW" && keys Enter && command_named eglot-code-actions && drawn "fused=True" && keys Enter &&
    drawn "lr=3e-4, fused=True)" && keys C-x C-s && holds "$project/gpt.py" "lr=3e-4, fused=True)"
}
hot_lines() {
  command_named stepline-eglot-hot-lines && drawn "gpt.py:63: 3.58 ms · 21.5 % · MLP.forward" && go_to_first && alone
}
# As from grep: the second error is the second line.
go_to_first() { keys M-g n && drawn " L63 " && keys M-g n && drawn " L26 "; }
report() { command_named stepline-eglot-report && drawn "launch bound" && alone; }
explain() { go_to 111 && command_named stepline-eglot-explain-rule && drawn "Rule: SYN" && keys Enter && drawn "Why it costs" && alone; }
unload() { command_named stepline-eglot-unload-trace && gone "58.6 ms/step"; }
load() { command_named stepline-eglot-load-trace && drawn "Trace: " && type_text "trace.json.gz" && keys Enter && drawn "2 steps of 58.6 ms" && drawn "58.6 ms/step"; }

# The command stands in for a script that trains: it writes a trace where the recorder would.
record() {
  command_named stepline-eglot-record && drawn "Record: python gpt.py" && keys C-a C-k && type_text "sh -c 'cp trace.json.gz runs/*/'" && keys Enter &&
    drawn "2 steps of 58.6 ms" && alone && gone "Compilation"
}

for suite in bookworm trixie; do
  folder=$repository/.cache/emacs-$suite
  if ! "$here/get-emacs.sh" "$folder" "$suite" >"$repository/.cache/emacs.log" 2>&1; then
    tail -n 5 "$repository/.cache/emacs.log"
    check "the Emacs of Debian $suite can be fetched" false
    continue
  fi
  emacs=$folder/emacs
  "$emacs" --version | head -n 1
  scratch=$(mktemp -d)
  project=$scratch/project
  mkdir -p "$project" "$scratch/bin"
  cp "$repository/testdata/traces/gpt/gpt.py" "$repository/testdata/traces/gpt/trace.json.gz" "$project/"
  ln -s "$stepline" "$scratch/bin/stepline" # found on PATH
  export HOME=$scratch TERM=xterm-256color
  check "stepline-eglot.el compiles without a warning" compiles
  terminal_start env -C "$project" PATH="$scratch/bin:$PATH" "$emacs" -nw -Q -l "$here/init.el" gpt.py
  check "the run is named in the mode line" started
  check "findings are Flymake's" findings
  [ "$suite" = bookworm ] || check "line ends show GPU time and share" hints # Eglot 1.9 has no inlay hints
  check "ElDoc has the numbers of the line" hover
  check "a fix is applied and saved" fix
  check "hot lines are listed and jumped to" hot_lines
  check "the report is shown" report
  check "the rule of a finding is explained" explain
  check "the trace is unloaded" unload
  [ "$suite" = bookworm ] || check "hints go with the trace" hints_gone
  check "a trace is loaded" load
  check "a recording is loaded when it ends" record
  terminal_stop
  rm -rf "$scratch"
done
summary
