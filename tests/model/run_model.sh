#!/usr/bin/env bash
# run_model.sh pass|pass_long|fail|fail_late|ends MODEL.pml [-DNAME[=VALUE]...]: checks one configuration with spin, in the
# current directory.
#
#   pass  no error, and the search was complete; pass_long: it has tens of millions of states
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

# What spin makes of a model is a function of many thousand lines: gcc takes up to 40 s for it, tcc none that can be seen, and its code
# half as long again as gcc's without optimisation. Only where the search takes longer is it worth another compiler; compressed, states
# take half the memory, of which that would have 4 GB.
compile=(tcc)
command -v tcc > /dev/null || compile=("${CC:-cc}" -O0)
search=(-DSAFETY)
options=()
table=25 # the larger models have 25 million states
case $want in
  ends) search=(-DNP) options=(-l) ;;
  fail_late) search+=(-DT_REVERSE) ;;&
  fail | fail_late) want=fail table=22 ;;
  pass_long) want=pass compile=("${CC:-cc}" -O2 -DCOLLAPSE) ;;
esac

cp "$model" model.pml
spin "$@" -a model.pml
"${compile[@]}" -w "${search[@]}" -DNOFAIR -DVECTORSZ=2048 -DMEMLIM=4096 -o pan pan.c
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
