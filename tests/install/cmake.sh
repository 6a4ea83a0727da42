#!/usr/bin/env bash
# cmake.sh [TREE]: a project of somebody else finds the installed package, in C alone and with C++.
. "$(dirname "$0")/common.sh"
tree=$(realpath "${1:-$tree}")
rm -rf "$SCRATCH"
sets=(C 'C;CXX')
[ -z "${ONLY_C:-}" ] || sets=(C)
for languages in "${sets[@]}"; do
  build=$SCRATCH/${languages/;/}
  cmake -S "$SOURCE/tests/install/consumer" -B "$build" -G Ninja -DCMAKE_PREFIX_PATH="$tree" \
    -DLANGUAGES="$languages" -DPROGRAMS="$programs" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX"
  grep -q "^weft_DIR:PATH=$tree/$LIBDIR/cmake/weft$" "$build/CMakeCache.txt" || fail "another weft was found"
  cmake --build "$build"
  for language in c cpp; do
    [ -e "$build/hello_${language}_weft" ] || continue
    check_program "$build/hello_${language}_weft" shared
    check_program "$build/hello_${language}_static" archive
    check_program "$build/hello_${language}_static_program" static
  done
done
