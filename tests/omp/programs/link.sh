#!/bin/sh
# link.sh SYMBOLS OUT COMPILER: what programs of clang's are linked with where its runtime is not installed: a library of that
# name and with those symbols, of their version, that does nothing.
set -eu
echo 'VERSION { *; };' > "$2.map"
awk '{ printf ".globl %s\n.type %s, @function\n%s:\n", $1, $1, $1 } END { print "ret\n.section .note.GNU-stack,\"\",@progbits" }' "$1" |
  "$3" -shared -x assembler - -Wl,-soname,libomp.so.5 -Wl,--version-script="$2.map" -o "$2"
