#!/usr/bin/env bash
# vscode-vsix.sh [TARGET] [OUT]: the VS Code extension as a file to install, with the server for one platform in it. TARGET is
# one of VS Code's names (linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64, win32-arm64), or `all`; default: this
# machine's. OUT is the file to write, for `all` a folder; default: dist. Each file's contents are checked before it counts.
set -euo pipefail
cd "$(dirname "$0")/.."
all=(linux-x64 linux-arm64 darwin-x64 darwin-arm64 win32-x64 win32-arm64)
fail() {
  echo "vscode-vsix: $*" >&2
  exit 1
}
case "$(uname -s)-$(uname -m)" in
Linux-x86_64) host=linux-x64 ;; Linux-aarch64) host=linux-arm64 ;; Darwin-x86_64) host=darwin-x64 ;; Darwin-arm64) host=darwin-arm64 ;;
MINGW*-x86_64 | MSYS*-x86_64) host=win32-x64 ;; *) host= ;;
esac
target=${1:-$host}
[ -n "$target" ] || fail "name the platform, such as linux-x64"
case $target in
all) targets=("${all[@]}") ;;
*)
  targets=("$target")
  [[ " ${all[*]} " == *" $target "* ]] || fail "there is no platform $target; there are ${all[*]} and all"
  ;;
esac
command -v npm >/dev/null || fail "npm is missing; install Node.js 20 or newer with npm"
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}

# platform TARGET: sets os, arch and program as Go and the system call them.
platform() {
  case $1 in linux-*) os=linux ;; darwin-*) os=darwin ;; win32-*) os=windows ;; esac
  case $1 in *-x64) arch=amd64 ;; *-arm64) arch=arm64 ;; esac
  program=stepline
  [ "$os" != windows ] || program=stepline.exe
}
# file_for TARGET: the absolute path of its VSIX.
file_for() {
  local out=${given:-dist/stepline-$1.vsix}
  [ "$target" != all ] || out=${given:-dist}/stepline-$1.vsix
  mkdir -p "$(dirname "$out")"
  echo "$(cd "$(dirname "$out")" && pwd)/$(basename "$out")"
}
given=${2:-}
files=()
for each in "${targets[@]}"; do files+=("$(file_for "$each")"); done

cd editors/vscode
../../scripts/vscode-node-modules.sh
npm run --silent check
rm -rf dist
npm run --silent build -- --minify
for i in "${!targets[@]}"; do
  platform "${targets[$i]}"
  rm -rf bin
  # The server needs no C compiler, so each platform's is built on any other.
  GOFLAGS= CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -C ../.. -buildvcs=false -trimpath -ldflags "-s -w -buildid= -X main.version=$version" \
    -o "editors/vscode/bin/$program" ./cmd/stepline
  npx --no-install vsce package --target "${targets[$i]}" --no-dependencies --skip-license --allow-missing-repository \
    --no-rewrite-relative-links --out "${files[$i]}" >&2
  node scripts/check-vsix.mjs "${files[$i]}" "${targets[$i]}"
  echo "${files[$i]}"
done
