#!/bin/sh
# Whether libweft_omp.so exports what libgomp and libomp do, under their versions: symbols.txt beside this, of gcc 16's,
# LLVM 23's and some of Intel's 2026.2. A line: the name, and the versions of gcc's; each name has the default version VERSION as well.
# Environment: LIBRARY.
set -eu
list=$(dirname "$0")/symbols.txt
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

readelf --dyn-syms -W "$LIBRARY" | awk '$7 != "UND" && $8 ~ /@/ { print $8 }' | LC_ALL=C sort -u > "$scratch/has"
awk '{ print $1 "@@VERSION"; for (i = 2; i <= NF; i++) print $1 "@" $i }' "$list" | LC_ALL=C sort -u > "$scratch/wanted"
LC_ALL=C comm -13 "$scratch/has" "$scratch/wanted" > "$scratch/missing"
if [ -s "$scratch/missing" ]; then
  echo "missing in $LIBRARY:"
  cat "$scratch/missing"
  exit 1
fi
# The other way round: what has one of gcc's versions is on the list.
awk 'NF > 1' "$list" | awk '{ for (i = 2; i <= NF; i++) print $1 "@" $i }' | LC_ALL=C sort -u > "$scratch/gnu"
grep -v '@@' "$scratch/has" | LC_ALL=C comm -23 - "$scratch/gnu" > "$scratch/surplus" || true
if [ -s "$scratch/surplus" ]; then
  echo "not on the list, with one of libgomp's versions:"
  cat "$scratch/surplus"
  exit 1
fi
