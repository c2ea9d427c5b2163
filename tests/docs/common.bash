# What the scripts that run a document begin with; they source it, and call run_document.
#
# In a document, a block of code that begins with a comment with the name of a file, '/* NAME.c' or
# '# NAME.txt', is (a part of) that file; of several blocks with one name each continues the last. A
# block of text is indented by four blanks; a line of it that begins with "$ " is a command for the
# shell, and the lines up to the next command or the end of the block are all that it prints.
# shellcheck shell=bash

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/../tools/common.bash"
# shellcheck source=tests/tools/document.bash
source tests/tools/document.bash

# cached NAME: what CMake knows by this name.
cached() {
  sed -nE "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}

# program NAME: reads the script that a document calls so.
program() {
  { echo '#!/bin/sh' && cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A home with Grove in it, and the names that documents use for an MPI: those of this build.
mkdir "$work/bin" "$work/here"
export HOME=$work XDG_CACHE_HOME=$work/cache
run cmake --install "$BUILD" --prefix "$work/grove"
((status == 0)) || fail 'Grove cannot be installed'
lib=$(dirname "$(dirname "$(find "$work/grove" -name grove.pc)")")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
# MPICH makes standard output unbuffered, and puts, which compilers make of printf("%s\n"), then
# writes the end of a line by itself, behind what another rank may have written meanwhile.
program mpicc <<<"exec '$(cached GROVE_MPICC)' -fno-builtin-printf \"\$@\""
program mpirun <<<"shift; exec '$PWD/tools/launch' \"\$@\""
PATH=$work/bin:$work/grove/bin:$PATH

# write_files DOCUMENT: into $work/here.
write_files() {
  awk -v folder="$work/here/" '
    /^```(c|cmake)$/ { inside = 1; file = ""; first = NR + 1; next }
    /^```$/ { inside = 0; if (file) print "" >>file }
    NR == first && match($0, /^(\/\*|#) [A-Za-z_]+\.(c|txt)/) {
      file = substr($0, RSTART, RLENGTH)
      sub(/^[^ ]* /, "", file)
      file = folder file
    }
    inside && file { print >>file }' "$1"
}

# comparable COMMAND FILE: what it said without what differs from run to run: times, which decide how
# wide a column is, and lines of code. Prices on a machine that the command names do not differ.
comparable() {
  local -a unlike=(-e 's/[0-9]+\.[0-9]+/TIME/g' -e 's/ +/ /g')
  if [[ $1 == *GROVE_MACHINE=* ]]; then unlike=(); fi
  sed -E "${unlike[@]}" -e 's/\[[./]*src[^]]*\]/[FILE]/' "$2"
}

# check COMMAND: its output against what is collected.
check() {
  status=0 what=$1
  (cd "$work/here" && timeout 100 bash -o pipefail -c "$1") \
    >"$work/out" 2>"$work/err" </dev/null || status=$?
  ((status == 0)) || fail 'it failed'
  cat "$work/out" "$work/err" >"$work/got"
  diff -u <(comparable "$1" "$work/expected") <(comparable "$1" "$work/got") ||
    fail "it does not say what $document has"
  commands=$((commands + 1))
}

# compile FILE: it does so without a warning. One that needs PETSc may do without that, and where
# there is none for this MPI its name goes into $work/without.
: >"$work/without"
compile() {
  local flags=(-Wall -Wextra -Werror -I"$work/grove/include") petsc
  if grep -q '<petscsf.h>' "$1"; then
    petsc=$({ pkg-config --cflags PETSc || pkg-config --cflags petsc; } 2>/dev/null) || petsc=
    read -ra flags <<<"$petsc"
    if ! mpicc "${flags[@]}" -fsyntax-only -x c - <<<'#include <petscsf.h>' 2>/dev/null; then
      echo "$1" >>"$work/without"
      echo "no PETSc for ${1##*/}"
      return
    fi
  fi
  run mpicc -std=c11 "${flags[@]}" -c "$1" -o "$work/object"
  ((status == 0)) || fail "${1##*/} of $document does not compile"
}

# Every name of a function or type in the document is in a public header, or is one, or a program,
# which may lack what it needs here.
check_names() {
  local name
  while read -r name; do
    [[ -e include/$name.h || -e $BUILD/bin/$name ]] ||
      compgen -G "bindings/*/$name.h*" >/dev/null ||
      grep -qw "$name" include/*.h bindings/*/grove_*.h* ||
      grep -q "add_executable($name " bindings/*/CMakeLists.txt ||
      fail "$document names $name, which is in no public header"
  done < <(grep -oE '\bgrove_[a-z_]+[a-z]\b' "$document" | sort -u)
}

# run_document NAME FILES COMMANDS: docs/NAME.md has so many files, all of which compile, and so
# many commands, each of which says what is written there.
run_document() {
  local file
  local -a files
  document=docs/$1.md commands=0
  write_files "$document"
  mapfile -t files < <(find "$work/here" -type f | sort)
  ((${#files[@]} == $2)) || fail "$document has ${#files[@]} files: ${files[*]}"
  for file in "${files[@]}"; do
    if [[ $file == *.c ]]; then compile "$file"; fi
  done
  check_names
  each_command "$document"
  ((commands == $3)) || fail "$document has $commands commands"
  echo "$2 files and $commands commands of $document are as they say"
}
