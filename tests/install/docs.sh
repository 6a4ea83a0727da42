#!/usr/bin/env bash
# The reference: Doxygen had nothing to complain of; each function of the C interface has a page,
# which says what the header says, and all pages can be shown.
. "$(dirname "$0")/common.sh"
[ ! -s "$BUILD/docs/warnings.txt" ] || fail "Doxygen warns: $(cat "$BUILD/docs/warnings.txt")"
[ ! -s "$BUILD/docs/warnings-pages.txt" ] || fail "Doxygen warns: $(cat "$BUILD/docs/warnings-pages.txt")"

html=$tree/$DOCDIR/html
[ -e "$html/index.html" ] || fail "there is no HTML"
grep -q 'weft::thread' "$html/annotated.html" "$html"/classweft_1_1thread.html || fail "no page of weft::thread"

functions=$(sed -n 's/^WEFT_API [^(]*\b\(weft_[a-z0-9_]*\)(.*/\1/p' "$tree"/include/weft/*.h)
for function in $functions; do
  grep -q "$function" "$html"/group__*.html || fail "$function is not in the HTML"
done

if [ ! -d "$tree/$MANDIR" ]; then
  echo "no man pages: doxygen2man was not found when the build was configured"
  exit 0
fi
for function in $functions; do
  page=$tree/$MANDIR/man3/$function.3
  [ -e "$page" ] || fail "$function has no man page"
  for section in NAME SYNOPSIS DESCRIPTION; do
    grep -q "^\.SH $section" "$page" || fail "$page has no $section"
  done
  if grep -qE '§|Red Hat|@par' "$page"; then fail "$page shows what it should not"; fi
done
grep -q '^\.SH CONTEXT' "$tree/$MANDIR/man3/weft_join.3" || fail "weft_join(3) does not say where it may be called"
grep -q '^\.SH BLOCKING' "$tree/$MANDIR/man3/weft_join.3" || fail "weft_join(3) does not say that it blocks"
grep -q 'WEFT_ERR_JOINED' "$tree/$MANDIR/man3/weft_join.3" || fail "weft_join(3) does not say its errors"

if ! command -v man > /dev/null; then
  echo "no man here: whether the pages can be shown was not looked at"
  exit 0
fi
for page in "$tree/$MANDIR"/man3/*.3; do
  said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 > /dev/null)
  [ -z "$said" ] || fail "$page: $said"
done
