#!/usr/bin/env bash
# pkgconfig.sh [TREE]: programs are built by what pkg-config says of the installed library: shared, with the archive in them,
# fully static, and by plain -lweft where there is no shared library.
. "$(dirname "$0")/common.sh"
tree=$(realpath "${1:-$tree}")
rm -rf "$SCRATCH" && mkdir -p "$SCRATCH/archive"
export PKG_CONFIG_PATH=$tree/$LIBDIR/pkgconfig
cp -a "$tree/$LIBDIR"/*.a "$SCRATCH/archive" # this folder has no libweft.so

for program in "$programs"/hello.c "$programs"/hello.cpp; do
  [[ -n ${ONLY_C:-} && $program == *.cpp ]] && continue
  out=$SCRATCH/$(basename "$program" | tr . _)
  compile=("$CC" -std=c11)
  [[ $program == *.cpp ]] && compile=("$CXX" -std=c++20)
  read -ra shared <<< "$(pkg-config --cflags --libs weft)"
  read -ra archive <<< "$(pkg-config --cflags --libs weft-archive)"
  read -ra static <<< "$(pkg-config --static --cflags --libs weft)"
  "${compile[@]}" "$program" "${shared[@]}" "-Wl,-rpath,$tree/$LIBDIR" -o "${out}_shared"
  check_program "${out}_shared" shared
  "${compile[@]}" "$program" -static "${static[@]}" -o "${out}_static"
  check_program "${out}_static" static
  "${compile[@]}" "$program" "-L$SCRATCH/archive" "${static[@]}" -o "${out}_only"
  check_program "${out}_only" static_library
  "${compile[@]}" "$program" "${archive[@]}" -o "${out}_archive"
  check_program "${out}_archive" archive
done
