#!/usr/bin/env bash
# Makes sure that a Go that can build this module is there, and prints the folder of that `go` as its last line. Debian and its
# relatives get what is missing from apt; elsewhere it says what to install. Nothing is changed where nothing is missing. With
# --with-torch also what only tests need: a C compiler for the race detector, a Python with torch (Debian's, 300 MB) for the
# recorder, virtual environments for the wheel, Prometheus, shells and man for what is made for them.
set -euo pipefail
say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 1; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

install_packages() {
  command -v apt-get >/dev/null || fail "missing: $*. Install them with your package manager and run this again."
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || fail "missing: $*. Run as root: apt-get install $*"
    sudo=(sudo -n)
  fi
  say "installing $* from Debian"
  "${sudo[@]}" apt-get update -q >&2 </dev/null || say "apt-get update failed; trying with the lists there are"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2 </dev/null
}

packages=()
command -v make >/dev/null || packages+=(make)
[ -d /etc/ssl/certs ] || packages+=(ca-certificates)
if [ "${1:-}" = --with-torch ]; then
  command -v cc >/dev/null || command -v gcc >/dev/null || packages+=(gcc libc6-dev)
  [ -e /usr/include/stdlib.h ] || [ "$(uname)" != Linux ] || packages+=(libc6-dev)
  found=
  for python in /usr/bin/python3 python3; do
    if command -v "$python" >/dev/null && "$python" -c 'import torch' 2>/dev/null; then found=$python; fi
  done
  [ -n "$found" ] || packages+=(python3-torch)
  command -v promtool >/dev/null && command -v prometheus >/dev/null || packages+=(prometheus)
  /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv) # the wheel is installed into one
  [ -e /usr/share/bash-completion/bash_completion ] || packages+=(bash-completion)
  command -v zsh >/dev/null || packages+=(zsh)
  command -v fish >/dev/null || packages+=(fish)
  command -v man >/dev/null || packages+=(man-db)
fi
[ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"

# A Go of 1.21 or newer fetches the version go.mod wants by itself (GOTOOLCHAIN=auto).
go_minor() { "$1" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p'; }
usable() { [ -x "$1" ] && [ "$(go_minor "$1" || true)" -ge "$2" ] 2>/dev/null; }
wanted=$(sed -n 's/^toolchain go//p' "$here/go.mod")
[ -n "$wanted" ] || wanted=$(sed -n 's/^go //p' "$here/go.mod")
cached="${XDG_CACHE_HOME:-$HOME/.cache}/stepline/go-$wanted/bin/go"
for go in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go/bin/go "$HOME/go/bin/go" "$cached"; do
  if [ -n "$go" ] && usable "$go" 21; then dirname "$go"; exit 0; fi
done

# None or too old: an old go can still download the wanted toolchain as a module, checked against the checksum database.
old=$(command -v go || true)
if [ -z "$old" ]; then
  install_packages golang-go
  old=$(command -v go) || fail "apt installed no go; install Go $wanted from https://go.dev/dl/"
fi
if usable "$old" 21; then dirname "$old"; exit 0; fi
platform="$("$old" env GOOS)-$("$old" env GOARCH)"
say "go on this machine is $("$old" env GOVERSION); fetching Go $wanted through the module proxy"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && "$old" mod init setup >/dev/null 2>&1 && "$old" mod download "golang.org/toolchain@v0.0.1-go$wanted.$platform") >&2 ||
  fail "could not fetch Go $wanted; install it from https://go.dev/dl/"
unpacked="$("$old" env GOMODCACHE)/golang.org/toolchain@v0.0.1-go$wanted.$platform"
rm -rf "$(dirname "$(dirname "$cached")")"
mkdir -p "$(dirname "$(dirname "$(dirname "$cached")")")"
cp -r "$unpacked" "$(dirname "$(dirname "$cached")")"
chmod -R u+w "$(dirname "$(dirname "$cached")")"
chmod +x "$(dirname "$cached")"/* "$(dirname "$(dirname "$cached")")"/pkg/tool/*/* 2>/dev/null || true
usable "$cached" 21 || fail "the fetched Go $wanted does not run; install it from https://go.dev/dl/"
dirname "$cached"
