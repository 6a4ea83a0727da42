#!/bin/sh
# same.sh WEFT COMMAND...: whether a command says the same under `weft run` as without it.
# Environment: RUNTIME, which it gets as its last argument under `weft run`.
set -eu
weft=$1
shift
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
"$@" > "$scratch/without"
"$weft" run -- "$@" "$RUNTIME" > "$scratch/with"
diff "$scratch/without" "$scratch/with"
