#!/usr/bin/env bash
# exports.sh [--renew]: libweft.so exports what tests/install/exports.txt lists, libabt.so what exports_abt.txt
# does, and nothing else, so that nobody adds to the interfaces or takes from them without noticing. --renew
# writes the lists anew from the shared libraries of the release build.
if [ "${1:-}" = --renew ]; then
  cd "$(dirname "$0")/../.."
  core=build/release/libweft.so abt=build/release/frontends/abt/libabt.so
else
  . "$(dirname "$0")/common.sh"
  core=$tree/$LIBDIR/libweft.so abt=$tree/$LIBDIR/libabt.so
fi

# Name and version; of weak symbols (inline functions, type information) which there are is up to the
# compiler, so they are left out.
exported() {
  nm --dynamic --defined-only --with-symbol-versions "$1" | awk '$2 ~ /^[TDBRAi]$/ { print $3 }' | LC_ALL=C sort
}

if [ "${1:-}" = --renew ]; then
  exported $core > tests/install/exports.txt
  exported $abt > tests/install/exports_abt.txt
else
  same() {
    exported "$1" | diff -u "$SOURCE/tests/install/$2" - ||
      fail "what $1 exports has changed; if it should, run tests/install/exports.sh --renew"
  }
  same "$core" exports.txt
  same "$abt" exports_abt.txt
fi
