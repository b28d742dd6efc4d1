#!/usr/bin/env bash
# get-neovim.sh FOLDER [SUITE]: a real Neovim from Debian (trixie: 0.10.4, forky: 0.12), unpacked with its libraries into
# FOLDER beside the system; FOLDER/nvim starts it.
set -euo pipefail
folder=${1:?where to put it}
"$(dirname "$0")/../../test/get-debian.sh" "$folder" "${2:-trixie}" neovim
cat >"$folder/nvim" <<'S'
#!/usr/bin/env bash
folder=$(dirname "$(readlink -f "$0")")
export VIMRUNTIME=$folder/system/usr/share/nvim/runtime
exec "$folder/run" usr/bin/nvim --cmd "set rtp+=$folder/system/usr/lib/nvim" "$@"
S
chmod +x "$folder/nvim"
"$folder/nvim" --version | head -1
