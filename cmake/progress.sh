# Sourced by setup.sh: how it tells what it does. `step TEXT COMMAND...` runs
# the command with its output in a log and shows one line on stderr, counting
# ninja's [done/all] along on a terminal; a step that is over within half a
# second on no terminal stays silent. On failure the log's end follows.

warn() { printf 'ruleengine: warning: %s\n' "$*" >&2; }
fail() { printf 'ruleengine: error: %s\n' "$*" >&2; exit 69; }

lock() {
  exec 9>"$1"
  flock -n 9 && return 0
  printf 'ruleengine: waiting for another set-up ...\n' >&2
  flock 9
}
unlock() { exec 9>&-; }

step() {
  text=$1
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/ruleengine-setup.XXXXXX")
  begun=$(date +%s)
  # The child holds the lock as well: should this script be killed, nobody else
  # builds in the same folder before the orphan is done.
  "$@" >"$log" 2>&1 &
  child=$!
  trap 'kill "$child" 2>/dev/null; rm -f "$log"; exit 130' INT TERM HUP
  watch_step
  code=0
  wait "$child" || code=$?
  trap - INT TERM HUP
  if [ "$code" != 0 ]; then
    [ ! -t 2 ] || printf '\r\033[K' >&2
    printf 'ruleengine: %s: failed (code %s)\n' "$text" "$code" >&2
    grep -v '^\[[0-9]*/[0-9]*\] \(Building\|Linking\)' "$log" |
      tail -n 60 >&2 || true
  elif [ -t 2 ]; then
    printf '\r\033[K' >&2
  fi
  seconds=$(($(date +%s) - begun))
  if [ "$code" = 0 ] && [ "$seconds" -gt 0 ]; then
    printf 'ruleengine: %s: %s s\n' "$text" "$seconds" >&2
  fi
  rm -f "$log"
  return "$code"
}

# Shows the line until the child ends.
watch_step() {
  waited=0
  while kill -0 "$child" 2>/dev/null; do
    if [ -t 2 ]; then
      count=$(tail -c 4000 "$log" | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1)
      printf '\r\033[Kruleengine: %s ... %s' "$text" "$count" >&2
    elif [ "$waited" = 10 ]; then
      printf 'ruleengine: %s ...\n' "$text" >&2
    fi
    waited=$((waited + 1))
    if [ "$waited" -lt 20 ]; then sleep 0.05; else sleep 0.2; fi
  done
}
