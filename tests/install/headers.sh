#!/usr/bin/env bash
# Each installed header compiles as the only one, without a warning and without our own flags: C ones
# as C11 and C17, all as C++20; with optimisation, since there is more in them then.
. "$(dirname "$0")/common.sh"
mkdir -p "$SCRATCH"
strict=(-I "$tree/include" -O2 -pedantic -Wall -Wextra -Wconversion -Werror -fsyntax-only)

check() {
  local header=${1#"$tree/include/"} language=$2 compiler=$3
  printf '#include <%s>\nint main(void) { return 0; }\n' "$header" > "$SCRATCH/only.${language:0:1}"
  echo "$language $header"
  "$compiler" "-std=$language" "${strict[@]}" -x "${language%%[0-9]*}" "$SCRATCH/only.${language:0:1}"
}
for header in "$tree"/include/*.h "$tree"/include/weft/*.h; do
  check "$header" c11 "$CC"
  check "$header" c17 "$CC"
done
for header in "$tree"/include/*.h "$tree"/include/weft/*.h "$tree"/include/weft/*.hpp "$tree"/include/weft/omp/*.h; do
  check "$header" c++20 "$CXX"
done
