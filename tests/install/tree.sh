#!/usr/bin/env bash
# Installs into a scratch prefix, and looks whether all is there, and nothing that says where.
. "$(dirname "$0")/common.sh"
rm -rf "$SCRATCH"
DESTDIR='' cmake --install "$BUILD" --prefix "$SCRATCH" > "$SCRATCH.log"

version=$(sed -n 's/^ *project(weft VERSION \([0-9.]*\).*/\1/p' "$SOURCE/CMakeLists.txt")
cd "$SCRATCH"
for file in include/weft/weft.h include/weft/weft.hpp $LIBDIR/libweft.a $LIBDIR/libweft_intercept.a $LIBDIR/libweft.so \
  "$LIBDIR/libweft.so.$version" $LIBDIR/cmake/weft/weft-config.cmake $LIBDIR/pkgconfig/weft.pc $LIBDIR/pkgconfig/weft-archive.pc \
  $DOCDIR/LICENSE share/weft/weft-gdb.py "$LIBDIR/libweft.so.$version-gdb.py" \
  include/abt.h include/weft/abt_ext.h $LIBDIR/libabt.so $LIBDIR/libabt.so.1.1.0 $LIBDIR/cmake/argobots/argobots-config.cmake \
  $LIBDIR/pkgconfig/argobots.pc include/weft/omp/omp.h $LIBDIR/weft/omp/libgomp.so.1 $LIBDIR/weft/omp/libgomp.so.1.0.0 \
  $LIBDIR/weft/omp/libomp.so.5 $LIBDIR/weft/omp/libiomp5.so $LIBDIR/weft/omp/libabt.so.1 \
  bin/weft share/man/man1/weft.1; do
  [ -e "$file" ] || fail "$file is not installed"
done
for option in $(bin/weft run --help | grep -oE -- ' --[a-z-]+|,--[a-z-]+' | tr -d ' ,' | sort -u); do
  grep -qF -- "${option//-/\\-}" share/man/man1/weft.1 || fail "weft.1 does not tell of $option"
done
[ "$(find include -type f | wc -l)" = "$(find "$SOURCE/include" "$SOURCE/frontends/abt/include" "$SOURCE/frontends/omp/include" \
  -type f | wc -l)" ] ||
  fail "include/ is not what the source has"
readelf -d $LIBDIR/libweft.so | shows 'SONAME.*\[libweft\.so\.0\]' || fail "the SONAME is not libweft.so.0"
readelf -d $LIBDIR/libabt.so | shows 'SONAME.*\[libabt\.so\.1\]' || fail "the SONAME is not libabt.so.1"
readelf -d $LIBDIR/weft/omp/libomp.so.5 | shows 'SONAME.*\[libgomp\.so\.1\]' || fail "the SONAME is not libgomp.so.1"
for library in libabt.so weft/omp/libgomp.so.1; do
  readelf -d $LIBDIR/$library | shows 'Auxiliary.*\[libweft\.so\.0\]' || fail "the loader will not look into libweft.so before $library"
done
if readelf -d $LIBDIR/libweft.so | grep -E 'RUNPATH|RPATH'; then fail "libweft.so looks elsewhere for libraries"; fi
for file in bin/* $LIBDIR/*.so $LIBDIR/weft/omp/*.so.*; do
  if readelf -d "$file" | grep -E 'RUNPATH|RPATH' | grep -vE '\[\$ORIGIN[^:]*(:\$ORIGIN[^:]*)?\]'; then fail "$file looks elsewhere for libraries"; fi
done
if grep -rnF -e "$SOURCE" -e "$BUILD" -e "$PWD" $LIBDIR/cmake $LIBDIR/pkgconfig include; then
  fail "these say where Weft was built or installed"
fi

header=$(awk '/define WEFT_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' include/weft/weft.h)
[ "$header" = "$version" ] || fail "weft.h says $header, the build $version"
packaged=$(PKG_CONFIG_PATH=$LIBDIR/pkgconfig pkg-config --modversion weft)
[ "$packaged" = "$version" ] || fail "weft.pc says $packaged, the build $version"
packaged=$(PKG_CONFIG_PATH=$LIBDIR/pkgconfig pkg-config --modversion argobots)
[ "$packaged" = 1.2 ] || fail "argobots.pc says $packaged, the interface is of 1.2"
