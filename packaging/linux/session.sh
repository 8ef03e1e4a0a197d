#!/bin/sh
# A person's session with the installed program, inside the clean root: a scenario is opened the way a
# file manager does, changed, saved, and the window closed.  Usage: session.sh FILE TYPE
set -eu
file=$1 type=$2
say() { echo "      $*"; }
fail() { echo "      FAILED: $*" >&2; exit 1; }

export DISPLAY=:9 XDG_CURRENT_DESKTOP=GNOME LANG=C.UTF-8 HOME=/srv/person
export XDG_RUNTIME_DIR=$HOME/.run
mkdir -p -m 700 "$XDG_RUNTIME_DIR"
cd "$HOME"

found=$(gio info -a standard::content-type "$file" | sed -n 's/.*content-type: //p')
[ "$found" = "$type" ] || fail "the file's type is '$found'"
found=$(xdg-mime query default "$type")
[ "$found" = inferometer.desktop ] || fail "the type is opened by '$found'"
say "type and its program are known"

xdg-open "$file" > session.log 2>&1 &
window=
for _ in $(seq 120); do
  window=$(xdotool search --onlyvisible --class inferometer 2>/dev/null | tail -n 1) || true
  [ -n "$window" ] && break
  sleep 0.5
done
[ -n "$window" ] || { cat session.log; fail "no window"; }
pid=$(pgrep -n -x inferometer) || fail "no process"
tr '\0' '\n' < "/proc/$pid/cmdline" | grep -qxF "$file" || fail "the file did not reach the program"
say "window: $(xdotool getwindowname "$window")"
sleep 3

cp "$file" before.json
xdotool windowfocus "$window"
saved=
# Up the column of the forms: the first editor of a number that is met takes a step.
for y in $(seq 840 -14 80); do
  xdotool mousemove --window "$window" 150 "$y" click 1
  sleep 0.2
  xdotool key Up
  sleep 0.3
  xdotool key ctrl+s
  sleep 0.5
  if ! cmp -s "$file" before.json; then saved=yes; break; fi
  xdotool key Escape
done
[ -n "$saved" ] || fail "nothing was saved"
inferometer estimate "$file" > /dev/null || fail "what was saved cannot be read"
say "changed, saved, and read again"

for _ in $(seq 20); do
  xdotool key ctrl+s
  sleep 0.3
  xdotool key ctrl+q
  sleep 1
  kill -0 "$pid" 2>/dev/null || break
done
! kill -0 "$pid" 2>/dev/null || fail "the window does not close"
log=$HOME/.local/share/inferometer/crash.log
[ -s "$log" ] || fail "there is no log of faults"
! grep -qv ' start: ' "$log" || { cat "$log"; fail "something went wrong inside"; }
say "closed; the log of faults names the start and nothing else"
