#!/usr/bin/env bash
# uninstall.sh MANIFEST: removes what `cmake --install` has listed there (install_manifest.txt in the
# build folder), below DESTDIR where that is set, and the folders named for Weft that are empty then.
set -euo pipefail

manifest=${1:?usage: $0 MANIFEST}
[ -f "$manifest" ] || { echo "uninstall: nothing was installed from here: no $manifest" >&2; exit 1; }

# The last line has no end.
mapfile -t files < "$manifest"
for file in "${files[@]}"; do
  rm -vf -- "${DESTDIR:-}$file"
done
printf '%s\n' "${files[@]%/*}" | sort -ru | while read -r folder; do
  while [[ $folder == */weft || $folder == */weft/* ]]; do
    rmdir --ignore-fail-on-non-empty -- "${DESTDIR:-}$folder" 2> /dev/null || true
    folder=${folder%/*}
  done
done
