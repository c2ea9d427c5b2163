#!/usr/bin/env bash
# What `make install` leaves: the files, and that programs of C and C++ can be built against them,
# shared and static, through pkg-config (staged with DESTDIR) and through CMake (a real prefix).
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source=$PWD
BUILD=$(readlink -f "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR PREFIX LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

fail() {
  echo "FAIL: $*"
  exit 1
}

# quiet COMMAND...: shows what it says only when it fails.
quiet() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "$*"
  }
}

# cached NAME: what CMake knows by this name.
cached() {
  sed -nE "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}

# there PATH...: plain files or links under the staged prefix.
there() {
  for path in "$@"; do [[ -s $stage/$path ]] || fail "$path is not installed, or empty"; done
}

version=$(sed -nE 's/.*project\(grove VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
soname=libgrove.so.${version%.*}
cc=$(cached GROVE_MPICC)
[[ $cc ]] || cc=$(cached MPI_C_COMPILER)
cxx=${cc/mpicc/mpicxx}
[[ $cxx != "$cc" ]] && command -v "$cxx" >/dev/null || cxx=
sanitize=$(cached GROVE_SANITIZE)
flags=(-Wall -Werror ${sanitize:+"-fsanitize=$sanitize"})

# --- the files ---

make -n install BUILD="$BUILD" DESTDIR=/staged PREFIX=/opt/grove >"$work/log"
grep -qF "DESTDIR=\"/staged\" cmake --install $BUILD --prefix \"/opt/grove\"" "$work/log" ||
  fail 'make install does not pass DESTDIR and PREFIX on'

DESTDIR=$work/staged quiet cmake --install "$BUILD" --prefix /opt/grove
stage=$work/staged/opt/grove
[[ $(ls "$work/staged" "$work/staged/opt") == *grove* ]] || fail 'there is no /opt/grove'
outside=$(find "$work/staged" -type f ! -path "$stage/*")
[[ ! $outside ]] || fail "installed outside the prefix: $outside"
pc=$(find "$stage" -name grove.pc)
[[ $pc == */pkgconfig/grove.pc ]] || fail 'there is no pkg-config file'
lib=$(dirname "$(dirname "$pc")")
libdir=${lib#"$stage/"}
there "$libdir/libgrove.so.$version" "$libdir/$soname" "$libdir/libgrove.so" "$libdir/libgrove.a"
there include/grove.h include/grove_cuda.h bin/grove "$libdir/cmake/grove/grove-config.cmake"
there "$libdir/cmake/grove/grove-config-version.cmake" share/doc/grove/{LICENSE,README.md}
for file in machines/*.machine; do there "share/grove/$file"; done
if [[ -s docs/man/grove.1 ]]; then
  there share/man/man1/grove.1
fi
if [[ $(cached GROVE_PYTHON) != *-NOTFOUND ]]; then
  there share/man/man7/grove.7 share/man/man7/grove_cuda.7
  while read -r name; do
    there "share/man/man3/$name.3"
  done < <(sed -nE 's/^GROVE_API .*[ *](grove_[a-z0-9_]+)\(.*/\1/p' include/grove*.h)
fi
[[ -L $lib/libgrove.so && -L $lib/$soname ]] || fail 'the names of the library are no links'
[[ $(readlink -f "$lib/libgrove.so") == "$lib/libgrove.so.$version" ]] || fail 'they lead astray'
cmp -s include/grove.h "$stage/include/grove.h" || fail 'another header is installed'
cmp -s LICENSE "$stage/share/doc/grove/LICENSE" || fail 'another licence is installed'

readelf -d "$lib/libgrove.so" | grep "SONAME.*\[$soname\]" >/dev/null ||
  fail "the soname is not $soname"
for file in "$lib/libgrove.so" "$stage/bin/grove"; do
  if readelf -d "$file" | grep -E 'RPATH|RUNPATH' | grep -Fe "$BUILD" -e "$source" >/dev/null; then
    fail "$file looks for libraries in the build tree"
  fi
done
# As a whole path, not as the end of another one: the tree may be called /grove.
whole='(^|[^[:alnum:]}/._-])'
if grep -rlIEe "$whole$BUILD" -e "$whole$source" -e "$whole$work" "$stage" >"$work/log"; then
  fail "the build tree is named in $(<"$work/log")"
fi
"$stage/bin/grove" --version | grep -F "grove $version" >/dev/null ||
  fail 'the command does not run'

# What is exported is what the header declares.
sed -nE 's/^GROVE_API .*[ *](grove_[a-z0-9_]+)\(.*/\1/p' include/grove*.h | sort >"$work/declared"
nm -D --defined-only "$lib/libgrove.so" | awk '{ print $3 }' | grep -vE '^(_|__)' |
  sed 's/@.*//' | sort >"$work/exported"
(($(wc -l <"$work/declared") > 20)) || fail 'the header declares nothing'
diff "$work/declared" "$work/exported" || fail 'header (<) and library (>) have different functions'

# --- a program: every rank gets the number of the next ---

cat >"$work/consumer.c" <<'EOF'
#include <grove.h>
#include <stdio.h>
#define CALL(x) do { grove_status s = (x); if (s != GROVE_OK) return bad(#x); } while (0)
static int bad(const char *what)
{
  fprintf(stderr, "%s: %s\n", what, grove_last_error());
  return 1;
}
int main(int argc, char **argv)
{
  grove_context *ctx;
  grove_forest *f;
  int rank, size, from = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  grove_root next = {(rank + 1) % size, 0};
  CALL(grove_context_create(MPI_COMM_WORLD, &ctx));
  CALL(grove_forest_create(ctx, &f));
  CALL(grove_forest_set_graph(f, 1, 1, NULL, &next));
  CALL(grove_forest_set_up(f));
  CALL(grove_bcast(f, MPI_INT, &rank, &from, MPI_REPLACE));
  CALL(grove_forest_free(&f));
  CALL(grove_context_free(&ctx));
  if (from != (rank + 1) % size) return bad("another number");
  if (rank == 0) printf("%d ranks agree\n", size);
  MPI_Finalize();
  return 0;
}
EOF
cp "$work/consumer.c" "$work/consumer.cc"

# runs PROGRAM: with one rank and with two.
runs() {
  local ranks
  for ranks in 1 2; do
    quiet tools/launch $ranks "$1"
    grep -qx "$ranks ranks agree" "$work/log" || fail "$1 with $ranks ranks says $(<"$work/log")"
  done
}

# needs PROGRAM: does it load the shared library?
needs() {
  readelf -d "$1" | grep "NEEDED.*\[$soname\]" >/dev/null
}

# installed_here: reads the words of a static link, and leaves out libraries that are not there.
# What hwloc needs for a program without any shared library is not always installed with it.
installed_here() {
  local word name
  for word in $(sed 's/-lgrove\b/-l:libgrove.a/'); do
    name=lib${word#-l}
    if [[ $word != -l[a-z]* || $("$cc" -print-file-name="$name.so") == */* ||
      $("$cc" -print-file-name="$name.a") == */* ]]; then
      printf '%s ' "$word"
    fi
  done
  echo
}

# --- through pkg-config, from where it was staged ---

export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/staged
[[ $(pkg-config --modversion grove) == "$version" ]] || fail 'pkg-config has another version'
[[ $(readlink -f "$(pkg-config --variable=prefix grove)") == */opt/grove ]] ||
  fail 'pkg-config has another prefix'
read -ra shared < <(pkg-config --cflags --libs grove)
read -ra static < <(pkg-config --static --cflags --libs grove | installed_here)
[[ " ${shared[*]} " != *' -lhwloc '* ]] || fail 'a shared link names what the library needs itself'
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
export LD_LIBRARY_PATH=$lib
for language in c cc; do
  compiler=$cc
  if [[ $language == cc ]]; then compiler=$cxx; fi
  [[ $compiler ]] || continue
  quiet "$compiler" "${flags[@]}" "$work/consumer.$language" "${shared[@]}" -o "$work/shared"
  needs "$work/shared" || fail 'it is not linked with the shared library'
  runs "$work/shared"
  quiet "$compiler" "${flags[@]}" "$work/consumer.$language" "${static[@]}" -o "$work/static"
  if needs "$work/static"; then fail 'it is not linked with the static library'; fi
  quiet tools/launch 2 "$work/static"
done
unset LD_LIBRARY_PATH

# --- through CMake, from a real prefix, which pkg-config then knows too ---

prefix="$work/real prefix" # with a blank
quiet cmake --install "$BUILD" --prefix "$prefix"
PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --variable=prefix grove >"$work/log"
[[ $(readlink -f "$(sed 's/\\//g' "$work/log")") == "$prefix" ]] ||
  fail "pkg-config thinks it is in $(<"$work/log")"

# consumer LANGUAGE FILE: a project of this language alone, which names no MPI.
consumer() {
  local folder=$work/$1
  mkdir "$folder"
  cat >"$folder/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES $1)
find_package(grove ${version%.*} REQUIRED)
foreach(kind grove grove_static)
  add_executable(with_\${kind} ../$2)
  target_link_libraries(with_\${kind} PRIVATE grove::\${kind})
endforeach()
EOF
  cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_"$1"_FLAGS="${flags[*]}" && cmake --build "$folder/build"
}

languages=(C)
if [[ $cxx ]]; then languages+=(CXX); fi
for language in "${languages[@]}"; do
  file=consumer.c
  if [[ $language == CXX ]]; then file=consumer.cc; fi
  quiet consumer "$language" "$file"
  needs "$work/$language/build/with_grove" || fail 'it is not linked with the shared library'
  if needs "$work/$language/build/with_grove_static"; then fail 'it is not a static link'; fi
  # The MPI is the one that Grove was built with, though nobody named it.
  [[ $(ldd "$work/$language/build/with_grove" | grep -oE 'lib(mpi|mpich)\.so[0-9.]*' | sort -u) == \
    $(ldd "$stage/bin/grove" | grep -oE 'lib(mpi|mpich)\.so[0-9.]*' | sort -u) ]] ||
    fail 'it has another MPI'
  quiet tools/launch 1 "$work/$language/build/with_grove_static"
  quiet tools/launch 2 "$work/$language/build/with_grove"
done

# A program that asks for another minor version is refused.
for wanted in "${version%.*}:TRUE" "$version:TRUE" 99.0:FALSE; do
  cat >"$work/version.cmake" <<EOF
set(PACKAGE_FIND_VERSION ${wanted%:*})
string(REPLACE "." ";" numbers \${PACKAGE_FIND_VERSION})
list(GET numbers 0 PACKAGE_FIND_VERSION_MAJOR)
list(GET numbers 1 PACKAGE_FIND_VERSION_MINOR)
set(CMAKE_SIZEOF_VOID_P 8)
include("$prefix/$libdir/cmake/grove/grove-config-version.cmake")
if(NOT PACKAGE_VERSION_COMPATIBLE STREQUAL ${wanted#*:})
  message(FATAL_ERROR "\${PACKAGE_FIND_VERSION}: '\${PACKAGE_VERSION_COMPATIBLE}'")
endif()
EOF
  quiet cmake -P "$work/version.cmake"
done

if [[ ! $cxx || $(cached GROVE_PYTHON) == *-NOTFOUND ]]; then
  echo 'skipped: installed, found, linked and run, but from C only, or without manual pages'
  exit 77
fi
echo 'installed, found, linked and run, from C and from C++'
