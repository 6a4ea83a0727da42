#!/usr/bin/env bash
# argobots.sh [TREE]: a program for Argobots is built by what pkg-config and CMake say of `argobots`, and runs. Of
# libweft.so.0 it knows nothing: libabt.so.1 finds it beside itself, or from where the OpenMP runtime is.
. "$(dirname "$0")/common.sh"
tree=$(realpath "${1:-$tree}")
rm -rf "$SCRATCH" && mkdir -p "$SCRATCH"
source=$SOURCE/tests/install/argobots

check() {
  "$1" > "$1.out" || fail "$1 ended with $?: $(cat "$1.out")"
  readelf -d "$1" | shows 'NEEDED.*libabt\.so\.1' || fail "$1 is not linked with libabt.so.1"
  if readelf -d "$1" | shows 'NEEDED.*libweft'; then fail "$1 is linked with libweft"; fi
}

PKG_CONFIG_PATH=$tree/$LIBDIR/pkgconfig pkg-config --exists 'argobots >= 1.2' || fail "argobots.pc is too old for Margo"
read -ra flags <<< "$(PKG_CONFIG_PATH=$tree/$LIBDIR/pkgconfig pkg-config --cflags --libs argobots)"
"$CC" -std=c11 "$source/hello_abt.c" "${flags[@]}" "-Wl,-rpath,$tree/$LIBDIR" -o "$SCRATCH/hello_abt"
check "$SCRATCH/hello_abt"
# As where the library is replaced, and the program is told by the environment.
"$CC" -std=c11 "$source/hello_abt.c" "${flags[@]}" -o "$SCRATCH/hello_abt_plain"
LD_LIBRARY_PATH=$tree/$LIBDIR check "$SCRATCH/hello_abt_plain"
LD_LIBRARY_PATH=$tree/$LIBDIR/weft/omp check "$SCRATCH/hello_abt_plain"

# abt.h is Argobots' one file: BOLT takes it alone.
mkdir "$SCRATCH/alone"
ln -s "$tree/include/abt.h" "$SCRATCH/alone/"
"$CC" -std=c11 -O2 "$source/own_mutex.c" -I"$SCRATCH/alone" "-L$tree/$LIBDIR" -labt "-Wl,-rpath,$tree/$LIBDIR" -o "$SCRATCH/own_mutex_alone"
check "$SCRATCH/own_mutex_alone"

# Mutexes in the program's own code: however it is compiled and linked, and on a library that knows nothing of them.
mkdir "$SCRATCH/other"
"$CC" -shared -fPIC -Wl,-soname,libabt.so.1 "$source/other_library.c" -o "$SCRATCH/other/libabt.so.1"
for kind in '-O2 -fPIE -pie' '-O2 -fno-pie -no-pie' '-O2 -fPIC -pie' '-O2 -masm=intel' '-O0 -fPIE -pie'; do
  # shellcheck disable=SC2086
  "$CC" -std=c11 $kind -Wall -Wextra -Werror "$source/own_mutex.c" "${flags[@]}" -o "$SCRATCH/own_mutex"
  if [[ $kind == -O2* ]]; then
    nm -D "$SCRATCH/own_mutex" | shows ABTX_own_1 || fail "$kind: each lock is a call"
  fi
  LD_LIBRARY_PATH=$tree/$LIBDIR check "$SCRATCH/own_mutex"
  LD_LIBRARY_PATH=$SCRATCH/other check "$SCRATCH/own_mutex"
done

cmake -S "$source" -B "$SCRATCH/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_C_COMPILER="$CC"
cmake --build "$SCRATCH/cmake"
check "$SCRATCH/cmake/hello_abt"
