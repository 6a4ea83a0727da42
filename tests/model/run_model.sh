#!/usr/bin/env bash
# run_model.sh pass|fail|fail_late|ends MODEL.pml [-DNAME[=VALUE]...]: checks one configuration with spin, in the
# current directory.
#
#   pass  no error, and the search was complete
#   fail  the define is a mutation: an error must be found; fail_late: that lies where the search comes late, so
#         it tries the transitions of each process in reverse order
#   ends  no cycle without progress: every run ends
#
# By what the other tests leave of the processors: those wait for moments, this one computes.
set -euo pipefail
chrt --idle --pid 0 $$ || true

want=$1
model=$2
shift 2

optimise=-Og # more takes gcc longer than it saves
[[ $want == fail* ]] && optimise=-O0 # found soon: most of the time is the compiler's
search=(-DSAFETY)
options=()
table=25 # the larger models have 25 million states
case $want in
  ends) search=(-DNP) options=(-l) ;;
  fail_late) search+=(-DT_REVERSE) ;;&
  fail | fail_late) want=fail table=22 ;;
esac

cp "$model" model.pml
spin "$@" -a model.pml
# Of a model with many lines gcc optimises one function of many thousand, for longer than that would run.
[ "$(wc -c < pan.m)" -lt 150000 ] || optimise=-O0
# Compressed, states take half the memory, of which the largest model would have 4 GB. By code that is not optimised that takes a third of
# the time.
[ "$optimise" = -O0 ] || search+=(-DCOLLAPSE)
"${CC:-cc}" "$optimise" -w "${search[@]}" -DNOFAIR -DVECTORSZ=2048 -DMEMLIM=4096 -o pan pan.c
# In huge pages.
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ./pan "${options[@]}" -m500000 "-w$table" > pan.out || true
cat pan.out

errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.out)
complain() {
  echo "model: $1: $(basename "$model") $*" >&2
  exit 1
}
[ -n "$errors" ] || complain "the search did not run to its end"
if [ "$want" = fail ]; then
  [ "$errors" -gt 0 ] || complain "this mutation is not caught"
  grep -q 'assertion violated\|invalid end state\|non-progress cycle' pan.out ||
    complain "an error, but not in the model"
  exit 0
fi
if [ "$errors" -gt 0 ]; then
  spin "$@" -t -p -g -l model.pml > trail.txt || true
  complain "an error; the trace is in $PWD/trail.txt"
fi
! grep -q 'Search not completed\|max search depth too small\|out of memory\|reached -DMEMLIM' pan.out ||
  complain "the search was not complete"
