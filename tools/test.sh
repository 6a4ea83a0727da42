#!/usr/bin/env bash
# test.sh [build…]: builds each configuration, then runs the tests of all of them in one ctest.
#
# One run rather than one per build, so that a single closing line counts everything and a
# failure in an early build does not hide the later ones.
set -euo pipefail
cd "$(dirname "$0")/.."

builds=("$@")
[ ${#builds[@]} -gt 0 ] || builds=(release asan tsan clang)
jobs=${JOBS:-$(nproc)}

mkdir -p build/all
for build in "${builds[@]}"; do
  models=OFF
  [ "$build" = release ] && models=ON # the models do not depend on how we are compiled
  echo "== building $build"
  cmake --preset "$build" -DWEFT_TESTS=ON -DWEFT_MODELS=$models -Wno-dev > "build/$build.log" 2>&1 ||
    { cat "build/$build.log"; exit 1; }
  cmake --build --preset "$build" --parallel "$jobs"
done

printf 'subdirs("../%s")\n' "${builds[@]}" > build/all/CTestTestfile.cmake
log=build/all/test.log
status=0
# Twice as many as there are processors: many tests mostly sleep.
ctest --test-dir build/all --parallel $((2 * jobs)) --output-on-failure --no-tests=error \
  --output-junit junit.xml | tee "$log" || status=$?

# "12/90 Test #12: asan.unit.options_test    ....   Passed    0.01 sec", by build and kind.
echo
awk '$2 == "Test" && match($0, /#[0-9]+: /) {
       split(substr($0, RSTART + RLENGTH), part, ".")
       kind = sprintf("%-8s %-8s", part[1], part[2])
       if (/ Passed /) passed[kind]++; else if (/Skipped/) skipped[kind]++; else failed[kind]++
       all[kind]
     }
     END { for (k in all) printf "%s %5d passed %3d failed %3d skipped\n", k, passed[k], failed[k],
                          skipped[k] }' \
  "$log" | sort

# What failed, and where: of each such test's output the first lines that say so, or else the last ones. The
# first failure of a program is the one to understand; others often follow from it.
awk 'function tell() {
       if (failed && said == "") for (i = 0; i < 5; i++) said = said last[(n + i) % 5]
       if (failed) printf "\n%s\n%s", failed, said
       if (failed && more) printf "(and %d lines more)\n", more
       failed = ""
     }
     / tests passed, / { tell() }
     $2 == "Test" && /#[0-9]+: / { tell(); failed = /\*\*\*/ && !/Skipped/ ? $0 : ""; said = ""; left = n = lines = more = 0; split("", last); next }
     $1 == "Start" || /^$/ { next }
     failed && /^weft: |: Failure$|ERROR: |WARNING: ThreadSanitizer|in the child: |terminate called/ { left = 7 }
     failed && left-- > 0 { if (lines++ < 25) said = said $0 "\n"; else more++ }
     failed { last[n++ % 5] = $0 "\n" }
     END { tell() }' "$log" | head -80
grep 'tests passed' "$log"
exit "$status"
