#!/usr/bin/env bash
# setup.sh run|test|bench|install|deb: makes sure that what a make target needs is installed.
#
# Installs what is missing with apt, as root or through a sudo that asks nothing; otherwise prints
# the one line to run, and fails.
set -euo pipefail

run=(g++ make cmake ninja-build pkg-config libhwloc-dev libunwind-dev libcli11-dev libfmt-dev)
install=("${run[@]}" python3 doxygen doxygen2man)
deb=("${install[@]}" dpkg-dev debhelper lintian)
test=("${install[@]}" "bpftool|linux-tools-generic" libbpf-dev libgtest-dev gdb valgrind spin tcc clang-19 libclang-rt-19-dev lld-19 llvm-19 gfortran
  libssl-dev libpython3-dev libjemalloc2 "libmimalloc2.0|libmimalloc3" "libtcmalloc-minimal4|libtcmalloc-minimal4t64"
  libfftw3-dev libopenblas-openmp-dev python3-sklearn)
bench=("${run[@]}" "bpftool|linux-tools-generic" libbpf-dev libtbb-dev libboost-fiber-dev libomp-19-dev clang-19
  libfftw3-dev libopenblas-openmp-dev)

case "${1:-}" in
  run) packages=("${run[@]}") ;;
  test) packages=("${test[@]}") ;;
  bench) packages=("${bench[@]}") ;;
  install) packages=("${install[@]}") ;;
  deb) packages=("${deb[@]}") ;;
  *) echo "usage: $0 run|test|bench|install|deb" >&2; exit 2 ;;
esac

if ! command -v dpkg-query > /dev/null; then
  echo "setup: no dpkg here; please install what stands for: ${packages[*]}" >&2
  exit 0
fi

# A package may be there under another name (pkg-config is provided by pkgconf), hence `Provides`.
here=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}, ${Provides}\n' |
  sed -n 's/^ii //p' | sed 's/ ([^)]*)//g' | tr -s ', ' '\n')
installed() { grep -qxF -- "$1" <<< "$here"; }

missing=()
for package in "${packages[@]}"; do # "a|b": either
  for one in ${package//|/ }; do installed "$one" && continue 2; done
  missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

# Of either, the first that apt has, or else the last.
choose() {
  for package in "$@"; do
    for one in ${package//|/ }; do [[ $(LC_ALL=C apt-cache policy "$one") == *"Candidate: "[0-9]* ]] && break; done
    echo "$one"
  done
}
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
  as_root=(sudo -n)
else
  mapfile -t names < <(choose "${missing[@]}")
  echo "setup: missing packages; run:  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names[*]}" >&2
  exit 1
fi

echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update -qq
mapfile -t names < <(choose "${missing[@]}")
for name in "${names[@]}"; do
  [[ $(LC_ALL=C apt-cache policy "$name") == *"Candidate: "[0-9]* ]] && continue
  echo "setup: apt has no package $name here: docs/install.md says on which systems everything can be built and tested" >&2
  exit 1
done
"${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${names[@]}"
