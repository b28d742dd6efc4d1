#!/usr/bin/env bash
# vscode-vsix.sh [TARGET] [OUT]: the VS Code extension as a file to install, with the server for one platform in it. TARGET is
# one of VS Code's names (linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64, win32-arm64); default: this machine's.
# The server reads SQLite through C, so another machine's needs a C compiler for it: CC=aarch64-linux-gnu-gcc.
set -euo pipefail
cd "$(dirname "$0")/.."
case "$(uname -s)-$(uname -m)" in
Linux-x86_64) host=linux-x64 ;; Linux-aarch64) host=linux-arm64 ;; Darwin-x86_64) host=darwin-x64 ;; Darwin-arm64) host=darwin-arm64 ;;
MINGW*-x86_64 | MSYS*-x86_64) host=win32-x64 ;; *) host= ;;
esac
target=${1:-$host}
[ -n "$target" ] || { echo "vscode-vsix: name the platform, such as linux-x64" >&2; exit 2; }
out=${2:-dist/stepline-$target.vsix}
case $target in
linux-x64) os=linux arch=amd64 ;; linux-arm64) os=linux arch=arm64 ;; darwin-x64) os=darwin arch=amd64 ;; darwin-arm64) os=darwin arch=arm64 ;;
win32-x64) os=windows arch=amd64 ;; win32-arm64) os=windows arch=arm64 ;;
*) echo "vscode-vsix: there is no platform $target" >&2; exit 2 ;;
esac
if [ "$target" != "$host" ] && [ -z "${CC:-}" ]; then
  echo "vscode-vsix: to build for $target on $host, name a C compiler for it: CC=… make vsix VSIX_TARGET=$target" >&2
  exit 2
fi
command -v npm >/dev/null || { echo "vscode-vsix: npm is missing; install Node.js 20 or newer with npm" >&2; exit 1; }
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")

cd editors/vscode
suffix=
[ "$os" != windows ] || suffix=.exe
rm -rf bin dist
../../scripts/vscode-node-modules.sh
npm run --silent check
npm run --silent build -- --minify
CGO_ENABLED=1 GOOS=$os GOARCH=$arch go build -C ../.. -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "editors/vscode/bin/stepline$suffix" ./cmd/stepline
npx --no-install vsce package --target "$target" --no-dependencies --skip-license --allow-missing-repository --no-rewrite-relative-links --out "$out" >&2
echo "$out"
