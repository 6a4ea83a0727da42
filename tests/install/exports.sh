#!/usr/bin/env bash
# exports.sh [--renew]: libweft.so exports what tests/install/exports.txt lists, and nothing else, so
# that nobody adds to the interface or takes from it without noticing. --renew writes the list anew
# from the shared library of the release build.
if [ "${1:-}" = --renew ]; then
  cd "$(dirname "$0")/../.."
  library=build/release/libweft.so
else
  . "$(dirname "$0")/common.sh"
  library=$tree/$LIBDIR/libweft.so
fi

# Name and version; of weak symbols (inline functions, type information) which there are is up to the
# compiler, so they are left out.
exported() {
  nm --dynamic --defined-only --with-symbol-versions "$library" | awk '$2 ~ /^[TDBRAi]$/ { print $3 }' | LC_ALL=C sort
}

if [ "${1:-}" = --renew ]; then
  exported > tests/install/exports.txt
else
  exported | diff -u "$SOURCE/tests/install/exports.txt" - ||
    fail "the exported symbols have changed; if they should, run tests/install/exports.sh --renew"
fi
