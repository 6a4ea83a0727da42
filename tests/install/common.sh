# Sourced by the tests here, which CTest runs with:
#   SOURCE     the source tree           BUILD     the build that is installed
#   SCRATCH    a folder for this test    CC, CXX   the build's compilers
#   LIBDIR     where libraries go in a prefix, and likewise MANDIR, DOCDIR
set -euo pipefail
tree=$(dirname "$SCRATCH")/tree # put there by the test `tree`
programs=$SOURCE/tests/programs

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Whether its input has a line like that. It reads all of it: `grep -q` ends before, and whoever writes fails then, and the pipe with it.
shows() { grep -- "$1" > /dev/null; }

# Whether it runs, and that it is linked as it should be: with libweft.so.0, or without it.
check_program() {
  local program=$1 form=$2 needed
  "$program" > "$program.out" || fail "$program ended with $?"
  needed=$(readelf -d "$program" | grep NEEDED || true)
  case $form in
    shared) grep -q 'libweft\.so\.0' <<< "$needed" || fail "$program is not linked with libweft.so.0" ;;
    archive | static_library)
      if grep -q libweft <<< "$needed"; then fail "$program is linked with libweft.so"; fi
      # The stand-in for libudev is for programs without the real one only.
      if nm "$program" | shows udev_new; then fail "$program has Weft's stand-in for libudev"; fi
      # What stands before the C library's functions, and that its libraries find it.
      if [ "$form" = archive ]; then
        nm -D --defined-only "$program" | shows ' pthread_kill$' || fail "pthread_kill() of $program is not Weft's"
      fi
      ;;
    static) [ -z "$needed" ] || fail "$program is not fully static: $needed" ;;
  esac
}
