#!/usr/bin/env bash
# run.sh STEPLINE: a real Helix (Debian trixie's, 25.01) in a terminal, with the languages.toml and config.toml of this folder,
# on the gpt script, whose trace is recorded after it was opened; it is driven by keys and its screen is read back. Ends with
# `N passed, N failed`.
set -uo pipefail
stepline=$(readlink -f "${1:?the program stepline}")
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../.." && pwd)
. "$here/../../test/terminal.sh"
folder=$repository/.cache/helix
mkdir -p "$repository/.cache"
if ! "$here/../../test/get-debian.sh" "$folder" trixie hx >"$repository/.cache/helix.log" 2>&1; then
  tail -n 5 "$repository/.cache/helix.log"
  check "Helix can be fetched" false
  summary
  exit
fi

scratch=$(mktemp -d)
mkdir -p "$scratch/config/helix" "$scratch/bin" "$scratch/project"
cp "$here/../languages.toml" "$here/../config.toml" "$scratch/config/helix/"
cp "$repository/testdata/traces/gpt/gpt.py" "$scratch/project/"
ln -s "$stepline" "$scratch/bin/stepline" # the configuration finds it on PATH
helix=(env -C "$scratch/project" HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" XDG_CACHE_HOME="$scratch/cache" PATH="$scratch/bin:$PATH"
  HELIX_RUNTIME="$folder/system/usr/lib/hx/runtime" TERM=xterm-256color COLORTERM=truecolor "$folder/run" usr/bin/hx)

health() { "${helix[@]}" --health python | grep -F "stepline"; }
started() { drawn "return self.proj(y)"; }
# Waits until the cursor is there, so that no key arrives while Helix moves.
go_to() { type_text ":$1" && keys Enter && drawn "sel  $1:1"; }
finding() { go_to 111 && drawn "waits for the GPU once per parameter in every training" && is_gone "it leaves the GPU"; }
# As a recorder does: a folder of its own, then the trace. Helix itself tells of no file but those that it saved.
priced() {
  mkdir -p "$scratch/project/runs/new" && cp "$repository/testdata/traces/gpt/trace.json.gz" "$scratch/project/runs/new/train.trace.json.gz" &&
    drawn "it leaves the GPU" && drawn "the host waits 482 µs"
}
hints() { go_to 63 && drawn "return self.down(F.gelu(self.up(x))) 3.58 ms · 22 %"; }
hover() {
  keys z t Space k && drawn "3.58 ms on the GPU a step" && drawn "GPU forward | 1.12 ms" && drawn "GPU backward | 2.46 ms" && keys Escape && gone "GPU forward"
}
picker() { keys Space d && drawn "SYN006" && drawn "OPT002" && keys Escape && gone "SYN006"; }
fix() {
  go_to 118 && drawn "can run as one fused kernel" && keys "]" d Space a && drawn "Add \`fused=True\`" && drawn "Ignore OPT002 on this line" &&
    keys Enter Enter && drawn "lr=3e-4, fused=True)" && gone "can run as one fused kernel" && type_text ":write" && keys Enter && holds "$scratch/project/gpt.py" "lr=3e-4, fused=True)"
}
unload() { go_to 111 && type_text ":lsp-workspace-command stepline.unloadTrace" && keys Enter && gone "it leaves the GPU"; }

check "hx --health finds the server" health
terminal_start "${helix[@]}" gpt.py
check "Helix opens the script" started
check "a finding stands under its line" finding
check "a recording is loaded when it is written, and prices the finding" priced
check "line ends show GPU time and share" hints
check "the hover has the numbers" hover
check "findings are in the picker" picker
check "a fix is applied and saved" fix
check "the trace is unloaded by a command" unload
terminal_stop
rm -rf "$scratch"
summary
