#!/usr/bin/env bash
# clean_root.sh SUITE TARBALL [DEB...]: the packages in roots that mmdebstrap makes of nothing, and throws away.
# The tarball's root has the run-time libraries of C and C++ and not even a shell; the .deb's is Debian's smallest
# with apt, which fetches what the .deb says it depends on.
set -euo pipefail
suite=$1 tarball=$(realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=$(basename "$tarball" .tar.gz)
say() { echo "== $suite: $*"; }

# The next release may not be on a mirror; this system's own must be.
if [ "$suite" != "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" ] &&
  ! mmdebstrap --quiet --simulate --variant=extract --include=libc6 "$suite" /dev/null >/dev/null 2>&1; then
  say "cannot be had here: nothing tried"
  exit 0
fi

# Output goes to a log, which is shown where it fails.
root() {
  local variant=$1
  shift
  mmdebstrap --quiet --variant="$variant" "$@" "$suite" /dev/null >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
  grep '^weir 0\|^llama\|^  Requests\|^  Throughput\|^note: no fig\|^Inst weir' "$work/log" || true
}

# mmdebstrap runs these with the root's folder as $1. Two places, one with a blank: nothing knows where it lies.
# /proc is a Linux's own: the loader finds by it where a program lies.
cat >"$work/tarball_hook" <<TEXT
set -eu
mkdir -p "\$1/proc"
mount --bind /proc "\$1/proc"
trap 'umount "\$1/proc"' EXIT
for place in /opt "/home/two words"; do
  mkdir -p "\$1\$place" "\$1/tmp"
  tar -xzf "$tarball" -C "\$1\$place"
  weir="\$place/$name/bin/weir" scenario="\$place/$name/scenarios/quickstart.json"
  rm -rf "\$1/tmp/out"
  code=0
  chroot "\$1" "\$weir" run "\$scenario" --figures --out /tmp/out 2>"$work/err" || code=\$?
  cat "$work/err" >&2
  [ \$code = 0 ]
  grep -q 'apt-get install gnuplot-nox' "$work/err"
  for file in summary.json requests.csv timeseries.csv; do cp "\$1/tmp/out/\$file" "$work/tarball_\$file"; done
  chroot "\$1" "\$weir" sweep "\$place/$name/scenarios/sweeps/chunk_size.json" --out /tmp/sweep >/dev/null
done
if [ -e "\$1/bin/sh" ]; then echo 'this root has a shell: it is not the empty one'; exit 1; fi
TEXT
say "$name where there is nothing but libc6, libgcc-s1 and libstdc++6"
root extract --include=base-files,libc6,libgcc-s1,libstdc++6 --extract-hook="sh $work/tarball_hook \"\$1\""

# The same bytes as of the program that was built here; of another glibc the last digits may differ.
build/weir run scenarios/quickstart.json --out "$work/here" --quiet
for file in requests.csv timeseries.csv; do
  if cmp "$work/here/$file" "$work/tarball_$file"; then say "$file: the same bytes as here"; elif [ "$suite" = bookworm ]; then exit 1; fi
done

[ $# -gt 0 ] || exit 0
cat >"$work/deb_hook" <<TEXT
set -eu
mkdir -p "\$1/debs"
cp $(realpath "$@" | tr '\n' ' ') "\$1/debs"
chroot "\$1" sh -euc '
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends /debs/weir_*.deb
  apt-get install --simulate --no-install-recommends /debs/*.deb | grep "^Inst weir-mpi"
  cd /tmp
  weir --version
  weir run /usr/share/weir/scenarios/quickstart.json
  test -s out/quickstart/summary.json
  for file in man/man1/weir.1 bash-completion/completions/weir weir/scenarios/schema.json weir/docs/scenarios.md \
              doc/weir/licences/README; do
    test -s /usr/share/\$file || { echo "/usr/share/\$file is missing"; exit 1; }
  done
  apt-get remove -y weir
  test ! -e /usr/bin/weir'
cp "\$1/tmp/out/quickstart/requests.csv" "$work/deb_requests.csv"
TEXT
say "$(basename -a "$@" | tr '\n' ' ')"
root minbase --customize-hook="sh $work/deb_hook \"\$1\""
cmp "$work/here/requests.csv" "$work/deb_requests.csv"
say "requests.csv: the same bytes as here"
