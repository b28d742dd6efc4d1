#!/usr/bin/env bash
# get-debian.sh FOLDER SUITE PACKAGE…: Debian packages of a suite with their libraries, unpacked into FOLDER/system, apart from
# the machine's own, for FOLDER/run PROGRAM ARGS… (a program of them, run by its own loader). The machine's packages and apt
# state stay as they are, no root is needed. Does nothing where the same packages are there already.
set -euo pipefail
folder=${1:?where to put it} suite=${2:?which suite of Debian}
shift 2
wanted="$suite $*"
[ ! -d "$folder/system" ] || [ "$(cat "$folder/complete" 2>/dev/null)" != "$wanted" ] || exit 0
fail() {
  echo "get-debian: $*" >&2
  exit 1
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "this needs apt-get and dpkg-deb (Debian or a relative)"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian/?$' | sort -u | head -1 || true)
[ -n "$mirror" ] || fail "apt has no Debian source configured on this machine; add one to /etc/apt/sources.list"
key=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$key" ] || fail "$key is missing; install debian-archive-keyring"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
state=$folder/apt
rm -rf "$folder/system" "$folder/run" "$folder/complete" "$state"
mkdir -p "$state"/{lists/partial,archives/partial,etc/preferences.d,etc/apt.conf.d,log}
: >"$state/status"
echo "deb [signed-by=$key] $mirror $suite main" >"$state/sources.list"
options=(-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o Dir::Etc::preferencesparts="$state/etc/preferences.d" -o Dir::State="$state" -o Dir::State::lists="$state/lists"
  -o Dir::State::status="$state/status" -o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives"
  -o Dir::Log="$state/log" -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=false -o Acquire::Languages=none
  -o Acquire::Retries=3 -o Debug::NoLocking=true)
apt-get -q "${options[@]}" update >&2
apt-get -q -y "${options[@]}" --download-only install "$@" >&2
for package in "$state"/archives/*.deb; do dpkg-deb -x "$package" "$folder/system"; done
rm -rf "$state"
cat >"$folder/run" <<'S'
#!/usr/bin/env bash
# run PROGRAM ARGS…: PROGRAM is a path under system, such as usr/bin/nvim.
system=$(dirname "$(readlink -f "$0")")/system
program=$system/$1
shift
# Where a suite still has /lib beside /usr/lib, the packages are split over both.
libraries=$(printf '%s:' "$system"/usr/lib/*-linux-gnu* "$system"/lib/*-linux-gnu*)
for loader in "$system"/usr/lib/*-linux-gnu*/ld-linux-*.so.* "$system"/lib/*-linux-gnu*/ld-linux-*.so.*; do
  [ ! -x "$loader" ] || exec "$loader" --library-path "$libraries" --argv0 "$program" "$program" "$@"
done
echo "$0: no loader under $system" >&2
exit 127
S
chmod +x "$folder/run"
echo "$wanted" >"$folder/complete"
