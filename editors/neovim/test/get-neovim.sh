#!/usr/bin/env bash
# get-neovim.sh FOLDER [SUITE]: a real Neovim from Debian (trixie: 0.10.4, forky: 0.12), unpacked with its libraries into
# FOLDER beside the system and run by its own loader; FOLDER/nvim starts it. The machine's packages and apt state stay as
# they are, no root is needed. Does nothing if FOLDER/nvim already runs.
set -euo pipefail
folder=${1:?where to put it}
suite=${2:-trixie}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ -x "$folder/nvim" ] && "$folder/nvim" --version >/dev/null 2>&1; then exit 0; fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
  echo "get-neovim: this needs apt-get and dpkg-deb (Debian or a relative)" >&2
  exit 1
}
state=$folder/apt
rm -rf "$folder/root" "$state"
mkdir -p "$state"/{lists/partial,archives/partial,etc/preferences.d,etc/apt.conf.d,log}
: >"$state/status"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian/?$' | sort -u | head -1 || true)
key=/usr/share/keyrings/debian-archive-keyring.gpg
trust="signed-by=$key"
[ -e "$key" ] || {
  echo "get-neovim: $key is missing; install debian-archive-keyring" >&2
  exit 1
}
[ -n "$mirror" ] || {
  echo "get-neovim: apt has no Debian source configured on this machine; add one to /etc/apt/sources.list" >&2
  exit 1
}
echo "deb [$trust] $mirror $suite main" >"$state/sources.list"
options=(-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o Dir::Etc::preferencesparts="$state/etc/preferences.d" -o Dir::State="$state" -o Dir::State::lists="$state/lists"
  -o Dir::State::status="$state/status" -o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives"
  -o Dir::Log="$state/log" -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=false -o Acquire::Languages=none
  -o Acquire::Retries=3 -o Debug::NoLocking=true)
apt-get -q "${options[@]}" update >&2
apt-get -q -y "${options[@]}" --download-only install neovim >&2
for package in "$state"/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
rm -rf "$state"
cat >"$folder/nvim" <<'S'
#!/usr/bin/env bash
root=$(dirname "$(readlink -f "$0")")/root
libraries=$(echo "$root"/usr/lib/*-linux-gnu*)
export VIMRUNTIME=$root/usr/share/nvim/runtime
exec "$libraries"/ld-linux-*.so.* --library-path "$libraries" --argv0 nvim "$root/usr/bin/nvim" --cmd "set rtp+=$root/usr/lib/nvim" "$@"
S
chmod +x "$folder/nvim"
"$folder/nvim" --version | head -1
