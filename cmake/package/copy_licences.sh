#!/usr/bin/env bash
# copy_licences.sh DIR FILE...: the copyright of the Debian package that each file is from, into DIR, the licences
# that these name, and DIR/README, which says what is from where. More files may be added to a DIR by a second call.
set -euo pipefail
place=$1
shift
command -v dpkg-query >/dev/null || { echo "no dpkg here: no licences copied" >&2; exit 0; }
mkdir -p "$place"
if [ ! -e "$place/README" ]; then
  cat >"$place/README" <<'TEXT'
Weir is Apache-2.0. These parts of Debian are in its executables or beside them, unchanged, each under its own
licence, which PACKAGE.copyright has. The sources of each are Debian's: apt-get source SOURCE=VERSION, or
https://snapshot.debian.org/package/SOURCE/VERSION/

file, package, source, version:
TEXT
fi

# dpkg knows a file by one of its names: /usr/lib is /lib, and some are links that alternatives made.
package_of() {
  local name
  for name in "$1" "$(readlink -f "$1")" "/usr$1" "$(readlink -f "$1" | sed 's,^/usr,,')"; do
    dpkg-query -S "$name" 2>/dev/null | head -1 | cut -d: -f1 && return 0
  done | head -1
}

for file in "$@"; do
  package=$(package_of "$file")
  [ -n "$package" ] || { echo "$file is of no package: its licence is not known" >&2; exit 1; }
  echo "$(basename "$file"), $(dpkg-query -W -f='${Package}, ${source:Package}, ${source:Version}\n' "$package" | head -1)" \
    >>"$place/README"
  cp -L "/usr/share/doc/$package/copyright" "$place/$package.copyright"
done
for text in $(grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.-]+' "$place"/*.copyright | sed 's/[.]$//' | sort -u); do
  if [ -e "$text" ]; then cp -L "$text" "$place/"; fi
done
