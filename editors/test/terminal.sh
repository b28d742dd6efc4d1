# terminal.sh, to be sourced: drives a program in a terminal as a person does, by keys and what is drawn, through Debian's tmux
# in .cache/tmux. A test calls check once for every thing it has looked at, and summary at its end.
#   terminal_start COMMAND…                       starts the program in a terminal of 150 columns and 60 lines
#   keys KEY…                                     sends keys by tmux's names: Enter, Escape, C-c, M-x, x
#   type_text TEXT                                types a text
#   screen                                        prints what is drawn
#   drawn TEXT                                    waits until TEXT is drawn (20 s); the screen is printed where it never is
#   gone TEXT                                     waits until TEXT is no longer drawn
#   holds FILE TEXT                               waits until FILE holds TEXT
#   check NAME COMMAND…                           runs COMMAND and counts it
export LC_ALL=C.UTF-8
passed=0 failed=0 broken=

terminal_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
terminal_tmux=$terminal_tests/../../.cache/tmux

terminal() { "$terminal_tmux/run" usr/bin/tmux -S "$terminal_socket" -f /dev/null "$@"; }
terminal_start() {
  broken=
  "$terminal_tests/get-debian.sh" "$terminal_tmux" trixie tmux 2>&1 || return
  terminal_scratch=$(mktemp -d)
  terminal_socket=$terminal_scratch/socket
  trap terminal_stop EXIT
  terminal new-session -d -x 150 -y 60 "$@"
  # What the program said last stays readable when it ends early.
  terminal set-option -g remain-on-exit on >/dev/null
}
terminal_stop() {
  [ -z "${terminal_socket:-}" ] || terminal kill-server 2>/dev/null
  [ -z "${terminal_scratch:-}" ] || rm -rf "$terminal_scratch"
  terminal_socket='' terminal_scratch=''
}
keys() { terminal send-keys "$@"; }
type_text() { terminal send-keys -l -- "$1"; }
screen() { terminal capture-pane -p; }

# until_true COMMAND…: tries until it succeeds, at most 20 s.
until_true() {
  local end=$((SECONDS + 20))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}
is_drawn() { screen | grep -qF -- "$1"; }
is_gone() { ! is_drawn "$1"; }
drawn() {
  until_true is_drawn "$1" && return
  echo "waited in vain for “$1” to be drawn; drawn is:"
  screen
  return 1
}
gone() {
  until_true is_gone "$1" && return
  echo "waited in vain for “$1” to go; drawn is:"
  screen
  return 1
}
holds() {
  until_true grep -qF -- "$2" "$1" && return
  echo "waited in vain for “$2” in $1:"
  grep -nF -- "${2%%,*}" "$1"
  return 1
}

# Checks build on each other: after one that failed the others of the same program count as failed without being tried.
check() {
  local name=$1 output
  shift
  if [ -n "$broken" ]; then
    failed=$((failed + 1))
    echo "FAIL $name: not tried"
  elif output=$("$@" 2>&1); then
    passed=$((passed + 1))
    echo "ok   $name"
  else
    failed=$((failed + 1)) broken=yes
    echo "FAIL $name"
    printf '%s\n' "$output" | sed 's/^/     /'
  fi
}
# summary: `N passed, N failed`, also appended to the file STEPLINE_COUNT names; fails where something has failed.
summary() {
  [ -z "${STEPLINE_COUNT:-}" ] || echo "$passed $failed" >>"$STEPLINE_COUNT"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
