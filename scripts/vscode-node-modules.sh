#!/usr/bin/env bash
# vscode-node-modules.sh: the npm packages that package-lock.json names, in editors/vscode/node_modules; nothing where they
# are there already. Install scripts of packages do not run.
set -euo pipefail
cd "$(dirname "$0")/../editors/vscode"
[ -e node_modules/.stepline-lock ] && cmp -s package-lock.json node_modules/.stepline-lock && exit 0
npm ci --ignore-scripts --no-audit --no-fund >&2
cp package-lock.json node_modules/.stepline-lock
