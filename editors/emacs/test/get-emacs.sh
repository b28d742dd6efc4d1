#!/usr/bin/env bash
# get-emacs.sh FOLDER [SUITE]: a real Emacs without windows and Eglot from Debian (bookworm: 28.2 with Eglot 1.9, trixie: 30.1
# with its own), unpacked with its libraries into FOLDER beside the system; FOLDER/emacs starts it.
set -euo pipefail
folder=${1:?where to put it} suite=${2:-trixie}
packages=(emacs-nox)
[ "$suite" != bookworm ] || packages+=(elpa-eglot) # newer ones have it within
"$(dirname "$0")/../../test/get-debian.sh" "$folder" "$suite" "${packages[@]}"
cat >"$folder/emacs" <<'S'
#!/usr/bin/env bash
# Emacs is built for /usr; here it is told where its parts lie.
folder=$(dirname "$(readlink -f "$0")")
share=$(echo "$folder"/system/usr/share/emacs/[0-9]*)
dump=$(echo "$folder"/system/usr/lib*/emacs/*/*/emacs*.pdmp)
EMACSLOADPATH=$share/lisp
for package in "$folder"/system/usr/share/emacs/site-lisp/elpa-src/*/; do
  [ ! -d "$package" ] || EMACSLOADPATH+=:$package
done
export EMACSLOADPATH EMACSDATA=$share/etc EMACSDOC=$share/etc EMACSPATH=${dump%/*}
exec "$folder/run" usr/bin/emacs-nox --dump-file="$dump" "$@"
S
chmod +x "$folder/emacs"
"$folder/emacs" --version | head -n 1
