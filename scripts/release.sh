#!/usr/bin/env bash
# release.sh [PLATFORMS] [OUT]: everything that a release holds, into OUT (default: dist): for each platform an archive, a Python
# wheel and a bill of materials (CycloneDX); the VS Code extension where npm is there; SHA256SUMS over all of it. PLATFORMS are
# words such as linux/amd64,darwin/arm64 (default: all). The same commit gives the same bytes: SOURCE_DATE_EPOCH is its time
# unless set. VERSION names another version, WITHOUT_VSIX=1 leaves the extension out.
set -euo pipefail
cd "$(dirname "$0")/.."
platforms=${1:-all}
out=${2:-dist}
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
mkdir -p "$out"
if [ -n "$(ls -A "$out")" ]; then
  # Old files would be among the checksums. Only what a release writes is removed.
  rm -f "$out"/stepline-*.tar.gz "$out"/stepline-*.zip "$out"/stepline-*.whl "$out"/stepline-*.cdx.json "$out"/stepline-*.vsix "$out"/SHA256SUMS
fi
go run ./packaging -version "$version" -targets "$platforms" -out "$out"
if [ -n "${WITHOUT_VSIX:-}" ] || ! command -v npm >/dev/null; then
  echo "release: without the VS Code extension (it needs npm)" >&2
else
  for platform in ${platforms//,/ }; do
    name=${platform/windows/win32}
    name=${name/amd64/x64}
    name=${name//\//-}
    file=$out
    [ "$name" = all ] || file=$out/stepline-$name.vsix
    VERSION=$version ./scripts/vscode-vsix.sh "$name" "$file"
  done
fi
cd "$out"
sum=(sha256sum)
command -v sha256sum >/dev/null || sum=(shasum -a 256)
"${sum[@]}" stepline-* >SHA256SUMS
echo "$out/SHA256SUMS"
