#!/usr/bin/env bash
# deb.sh FOLDER: builds the Debian packages from this tree and leaves them in FOLDER, checked by lintian.
#
# They are built in a copy, because dpkg wants debian/ at the top and writes beside its source.
set -euo pipefail
out=$(realpath -m "${1:?usage: $0 FOLDER}")
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(weft VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
[ "$version" = "$packaged" ] ||
  { echo "deb: packaging/debian/changelog says $packaged, CMakeLists.txt $version" >&2; exit 1; }

source=$out/weft-$version
rm -rf "$out"
mkdir -p "$source"
tar --exclude=./build --exclude=./.git -cf - . | tar -xf - -C "$source"
cp -r packaging/debian "$source/debian"

cd "$source"
DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --build=binary --no-sign
cd "$out"
rm -rf "$source"
lintian --fail-on error,warning ./*.changes
ls -l ./*.deb
