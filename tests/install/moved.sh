#!/usr/bin/env bash
# The installed tree works in another place, too. In C is enough: paths do not depend on the language.
. "$(dirname "$0")/common.sh"
mkdir -p "$SCRATCH"
export ONLY_C=yes
here=$(dirname "$0")
rm -rf "$SCRATCH/elsewhere"
mv "$tree" "$SCRATCH/elsewhere"
trap 'mv "$SCRATCH/elsewhere" "$tree"' EXIT
SCRATCH=$SCRATCH/cmake "$here/cmake.sh" "$SCRATCH/elsewhere"
SCRATCH=$SCRATCH/pkgconfig "$here/pkgconfig.sh" "$SCRATCH/elsewhere"
SCRATCH=$SCRATCH/argobots "$here/argobots.sh" "$SCRATCH/elsewhere"
