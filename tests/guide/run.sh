#!/usr/bin/env bash
# run.sh EXPECTED COMMAND…: runs the command, which must succeed, and print what the file EXPECTED has, where
# there is such a file.
set -euo pipefail
expected=$1
shift

[ -e "$expected" ] || exec "$@"

printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
status=0
"$@" > "$printed" || status=$?
diff -u --label "what the page says" --label "what it prints" "$expected" "$printed"
[ "$status" = 0 ] || { echo "$*: exit status $status" >&2; exit 1; }
