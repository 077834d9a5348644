#!/usr/bin/env bash
# collect_libraries.sh PREFIX: puts what PREFIX/bin/* loads into PREFIX/lib, tells the executables to look there
# first, and lays the copyright of each library beside. What stays the system's is glibc, and GCC's run-time
# libraries of C and C++: the GPU's, sanitizers' or a plug-in's copy of those must be the same as ours.
set -euo pipefail
prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$prefix/lib"

# In the words of the loader, which knows what a library of a library needs.
loaded() {
  ldd "$1" | awk '/=> not found/ { print "missing: " $1 > "/dev/stderr"; exit 1 } $2 == "=>" { print $3 }'
}
stays() {
  case $(basename "$1") in
    libc.so.6 | libm.so.6 | libdl.so.2 | librt.so.1 | libpthread.so.0 | ld-linux*) return 0 ;;
    libstdc++.so.6 | libgcc_s.so.1) return 0 ;;
  esac
  return 1
}

bundled=()
for program in "$prefix"/bin/*; do
  libraries=$(loaded "$program")
  for library in $libraries; do
    if stays "$library" || [ -e "$prefix/lib/$(basename "$library")" ]; then continue; fi
    cp -L "$library" "$prefix/lib/"
    bundled+=("$library")
  done
  # RPATH and not RUNPATH: it counts for the libraries of libraries too, and goes before LD_LIBRARY_PATH, in which
  # an environment's own libraries of these names may be.
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$program"
done
chmod 644 "$prefix"/lib/*.so*
bash "$here/copy_licences.sh" "$prefix/share/doc/weir/licences" "${bundled[@]}"

# Nothing newer than Debian 12's may have come in.
newest=$(objdump -T "$prefix"/bin/* "$prefix"/lib/*.so* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
echo "libraries: ${#bundled[@]}, newest symbol: $newest"
if [ "$(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -1)" != GLIBC_2.36 ]; then
  echo "a tarball for glibc 2.36 cannot be built here: something needs $newest" >&2
  exit 1
fi
