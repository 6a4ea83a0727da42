#!/bin/sh
# weft run and weft info: what becomes of the command's status, streams, environment and signals.
# Environment: WEFT, the command.
set -u
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
failed=0
fail() {
  echo "$*"
  failed=1
}
unset LD_PRELOAD LD_LIBRARY_PATH
# expect STATUS command…
expect() {
  wanted=$1
  shift
  "$@" > "$scratch/out" 2> "$scratch/err"
  is=$?
  [ "$is" = "$wanted" ] || fail "$*: status $is, not $wanted: $(cat "$scratch/err")"
}

expect 0 "$WEFT" run true
expect 1 "$WEFT" run false
expect 42 "$WEFT" run -- sh -c 'exit 42'
expect 143 sh -c '"$1" run sh -c "kill -TERM \$\$"' sh "$WEFT"
expect 127 "$WEFT" run no-such-command
grep -q "cannot run 'no-such-command'" "$scratch/err" || fail "no word about a command that is not there"
touch "$scratch/plain"
expect 126 "$WEFT" run "$scratch/plain"
expect 125 "$WEFT" run
expect 125 "$WEFT" run --no-such-option true
expect 125 "$WEFT" run --wait=never true
expect 0 "$WEFT" run --help
expect 0 "$WEFT" --version

# The command's options are its own; so are a -- and all behind it.
expect 0 "$WEFT" run --threads 3 printf '%s|' --workers -v -- x
[ "$(cat "$scratch/out")" = "--workers|-v|--|x|" ] || fail "arguments: $(cat "$scratch/out")"
expect 0 "$WEFT" run -- printf '%s|' --help -- x
[ "$(cat "$scratch/out")" = "--help|--|x|" ] || fail "arguments behind --: $(cat "$scratch/out")"

# Streams.
[ "$(echo in | "$WEFT" run cat)" = in ] || fail "stdin"

# The environment, also of children, and of weft run below weft run.
expect 0 "$WEFT" run --threads 3,2 --workers 2 --bind off --wait passive --preemption on --slice 500 --blocking off \
  --identity worker --stack 4M --places cores --proc-bind close --stats "$WEFT" run sh -c env
for line in OMP_NUM_THREADS=3,2 WEFT_WORKERS=2 WEFT_WORKERS_COUNT=2 WEFT_WORKERS_BIND=off OMP_WAIT_POLICY=passive \
  WEFT_PREEMPTION=on WEFT_PREEMPTION_INTERVAL=500 WEFT_BLOCKING=off WEFT_OMP_IDENTITY=worker OMP_STACKSIZE=4M OMP_PLACES=cores \
  OMP_PROC_BIND=close WEFT_OMP_STATS=true; do
  grep -qx "$line" "$scratch/out" || fail "missing in the environment: $line"
done
directory=$(sed -n 's/^LD_LIBRARY_PATH=//p' "$scratch/out")
[ "$(sed -n 's/^LD_PRELOAD=//p' "$scratch/out")" = "$directory/libgomp.so.1" ] || fail "LD_PRELOAD: $(grep LD_ "$scratch/out")"
for name in libgomp.so.1 libgomp.so.1.0.0 libomp.so.5 libiomp5.so libabt.so.1; do
  [ -e "$directory/$name" ] || fail "no $name in $directory"
done
LD_PRELOAD=libc.so.6 LD_LIBRARY_PATH=/nowhere "$WEFT" run sh -c env > "$scratch/out"
grep -qx "LD_PRELOAD=$directory/libgomp.so.1:libc.so.6" "$scratch/out" || fail "LD_PRELOAD in front of another"
grep -qx "LD_LIBRARY_PATH=$directory:/nowhere" "$scratch/out" || fail "LD_LIBRARY_PATH in front of another"
expect 0 "$WEFT" run --verbose --threads 3 true
grep -qx 'weft run: OMP_NUM_THREADS=3' "$scratch/err" || fail "--verbose does not say what is set"

expect 0 "$WEFT" info
grep -q '^machine' "$scratch/out" || fail "info: $(cat "$scratch/out")"
OMP_NUM_THREADS=7 "$WEFT" info --json > "$scratch/out" || fail "info --json"
if command -v python3 > /dev/null; then
  python3 - "$scratch/out" <<'EOF' || fail "info --json is none: $(cat "$scratch/out")"
import json, sys
info = json.load(open(sys.argv[1]))
assert info["machine"]["workers by default"] >= 1
threads = [o for o in info["options"] if o["name"] == "OMP_NUM_THREADS"]
assert threads == [{"name": "OMP_NUM_THREADS", "value": "7", "source": "environment"}], threads
assert any(o["name"] == "WEFT_STACK_SIZE" for o in info["options"])
EOF
fi
exit $failed
