#!/usr/bin/env bash
# build.sh VERSION [DOXYGEN2MAN]: makes the reference in the current folder, where CMake has put the
# Doxyfiles: html/, and with doxygen2man man/man3/.
#
#   weft.h.3           what is in it             Doxygen
#   weft-<group>.3     a group, with its types   Doxygen
#   weft_<type>_t.3    a type                    Doxygen
#   weft_<function>.3  a function                doxygen2man, whose pages can stand alone
#
# C++ is described in HTML only: its pages would have the names of C functions.
set -euo pipefail

rm -rf html man xml pages
: > warnings-pages.txt
doxygen Doxyfile
mv man pages

if [ -n "${2:-}" ]; then
  mkdir -p man/man3
  doxygen Doxyfile.pages
  today=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)
  for group in xml/group__*.xml; do
    "$2" -m -d xml -o man/man3 -p "Weft $1" -H "Weft" -D "$today" -I weft/weft.h "${group#xml/}" > /dev/null
  done
  # The headings that filter.py has marked; doxygen2man names a holder of rights who is not ours.
  sed -i -e '/^\.PP$/{N;s/^\.PP\n§\(.*\)$/.SH \U\1/}' -e '/^\.SH "COPYRIGHT"$/,$d' \
    -e '/^\.SH SEE ALSO$/,$s/^\\fIweft_/\\fIweft.h\\fR(3), &/' man/man3/*.3
  cp pages/man3/weft.h.3 pages/man3/weft-*.3 pages/man3/weft_*_t.3 man/man3/
  # Doxygen leaves NAME without a text where there is none, and a quote where it begins a command.
  sed -i -e '/^\.SH NAME$/{n;/ \\- /!s/$/ \\- part of weft.h/}' -e "s/^'/\\\\\&'/" -e '/^\.SH "Author"$/,$d' \
    man/man3/weft.h.3 man/man3/weft-*.3 man/man3/weft_*_t.3
fi

cat warnings.txt warnings-pages.txt >&2
touch done
