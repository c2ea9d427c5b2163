#!/usr/bin/env bash
# tools/bootstrap on machines made up for the purpose: a folder of small programs that stand for
# the compilers, MPIs and tools, and for apt-get, dpkg-query and sudo. PATH leads there alone, so
# nothing is installed or removed, and what this machine has does not matter.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# A copy, so that a user who may not enter the source tree can run it.
cp "$here/../../tools/bootstrap" "$work/bootstrap"

readonly tools='bash cat chmod cp env grep mktemp rm sed sh touch true'
readonly everything='gcc libc6-dev cmake make pkg-config libhwloc-dev libopenmpi-dev openmpi-bin
  libmpich-dev mpich zlib1g-dev libfabric-dev g++ clang-format valgrind iproute2 util-linux
  gnuplot-nox libmetis-dev python3 groff-base ninja-build gfortran'

fail() {
  echo "FAIL: $*"
  echo "--- output (exit status $status)"
  cat "$work/out"
  echo "--- calls"
  cat "$work/state/calls"
  exit 1
}

# program NAME: reads the body of a made-up program.
program() {
  { echo '#!/bin/sh' && cat; } >"$work/bin/$1"
  chmod 755 "$work/bin/$1"
}

# give PACKAGE...: what apt would have put there. The made-up apt-get calls it too.
cat >"$work/give" <<'EOF'
#!/bin/sh
work=$1
shift
for package in "$@"; do
  touch "$work/state/has-$package"
  case $package in
    gcc) set -- cc ;;
    g++) set -- c++ ;;
    libopenmpi-dev) set -- mpicc.openmpi ;;
    libmpich-dev) set -- mpicc.mpich ;;
    openmpi-bin) set -- mpiexec.openmpi ;;
    mpich) set -- mpiexec.mpich ;;
    iproute2) set -- ip ;;
    gnuplot-nox) set -- gnuplot ;;
    groff-base) set -- groff ;;
    ninja-build) set -- ninja ;;
    util-linux) set -- unshare ;;
    libc6-dev | libhwloc-dev | libfabric-dev | zlib1g-dev | libmetis-dev) set -- ;;
    *) set -- "$package" ;;
  esac
  for name in "$@"; do cp "$work/prototypes/$name" "$work/bin/$name"; done
done
EOF
chmod 755 "$work/give"

# machine [--without PACKAGE...]: a fresh one that has everything but these.
machine() {
  local package name
  rm -rf "${work:?}"/{bin,state,prototypes}
  mkdir "$work/bin" "$work/state"
  chmod 777 "$work/bin" "$work/state"
  touch "$work/state/calls"
  chmod 666 "$work/state/calls"

  for name in make ninja clang-format valgrind ip unshare gnuplot python3 groff c++ gfortran \
    mpiexec.openmpi mpiexec.mpich; do
    program "$name" <<<'exit 0'
  done
  program cmake <<<'echo cmake version 3.25.1'
  # A header is there if its package is. An MPI compiler is of one make only.
  program cc <<EOF
source=\$(cat)
lacks() { case \$source in *"<\$1>"*) test ! -e $work/state/has-\$2 ;; *) false ;; esac; }
if lacks stdio.h libc6-dev || lacks zlib.h zlib1g-dev || lacks hwloc.h libhwloc-dev ||
  lacks metis.h libmetis-dev; then exit 1; fi
EOF
  program mpicc.openmpi <<<'! grep -q "defined(MPICH"'
  program mpicc.mpich <<<'! grep -q "(defined(OPEN_MPI"'
  program pkg-config <<EOF
case "\$*" in
*PETSc* | *petsc*) test -e $work/state/has-libpetsc-real-dev ;;
*libfabric*) test -e $work/state/has-libfabric-dev ;;
*) test -e $work/state/has-libhwloc-dev ;;
esac
EOF
  mv "$work/bin" "$work/prototypes"
  mkdir "$work/bin"
  chmod 777 "$work/bin"

  for name in $tools; do ln -s "$(command -v "$name")" "$work/bin/$name"; done
  program dpkg-query <<EOF
for package; do :; done
if test -e "$work/state/has-\$package"; then echo "installed "; else exit 1; fi
EOF
  # state/no-network makes it fail, state/unknown-PACKAGE only with that one.
  program apt-get <<EOF
echo "apt-get \$DEBIAN_FRONTEND \$*" >>$work/state/calls
if test -e $work/state/no-network; then exit 100; fi
case \$* in *install*) ;; *) exit 0 ;; esac
while test "\$1" != --no-install-recommends; do shift; done
shift
for package; do if test -e $work/state/unknown-\$package; then exit 100; fi; done
$work/give $work "\$@"
EOF
  if [[ ${1-} == --without ]]; then shift; fi
  for package in $everything; do
    if [[ " $* " != *" $package "* ]]; then "$work/give" "$work" "$package"; fi
  done
}

# sudo that works without a password, or one that wants one: -v then needs a terminal.
sudo_is() {
  program sudo <<EOF
echo "sudo \$*" >>$work/state/calls
case $1 in
  free) ;;
  refuses) exit 1 ;;
  asks) case \$1 in -n) exit 1 ;; -v) touch $work/state/asked; exit 0 ;; esac
        test -e $work/state/asked || exit 1 ;;
esac
if test "\$1" = -n; then shift; fi
"\$@"
EOF
}

# as USER [VARIABLE=VALUE...] [ARGUMENT...]: runs bootstrap, for root in truth or in this user's
# name. Leaves status and the files out and state/calls.
as() {
  local who=$1 words=()
  shift
  local -a settings=(PATH="$work/bin" TMPDIR="$work/state")
  while [[ ${1-} == *=* && ${1-} != --* ]]; do
    settings+=("$1")
    shift
  done
  words=(env -i "${settings[@]}" "$BASH" "$work/bootstrap" "$@")
  if [[ $who == user ]] && ((EUID == 0)); then
    words=(setpriv --reuid 65534 --regid 65534 --clear-groups "${words[@]}")
  fi
  status=0
  if [[ ${terminal-} ]]; then
    script -qec "${words[*]@Q}" /dev/null >"$work/out" 2>&1 </dev/null || status=$?
  else
    "${words[@]}" >"$work/out" 2>&1 </dev/null || status=$?
  fi
}

says() {
  grep -qF -e "$1" "$work/out" || fail "it should say '$1'"
}

silent_on() {
  if grep -qF -e "$1" "$work/out"; then fail "it should not say '$1'"; fi
}

called() {
  grep -qE -e "$1" "$work/state/calls" || fail "it should call '$1'"
}

calls_nothing() {
  [[ ! -s $work/state/calls ]] || fail 'it should call neither apt-get nor sudo'
}

exits() {
  [[ $status == "$1" ]] || fail "it should exit with $1"
}

# Root's cases need no root: what they do after the check of the right is seen through sudo, too.
become=user
if ((EUID == 0)); then
  become=root
  if ! setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$work/bootstrap"; then
    echo 'skipped: root cannot become an ordinary user who may read the temporary folder'
    exit 77
  fi
fi

machine
as "$become"
exits 0
says "all that 'test' needs is there"
[[ $(wc -l <"$work/out") == 1 ]] || fail 'one line is enough'
calls_nothing
as user
exits 0
calls_nothing
echo 'with everything there it says one line and calls neither apt-get nor sudo'

machine --without valgrind libmpich-dev python3
as "$become" --dry-run
exits 0
says 'would install:'
says '  valgrind - checks the use of memory'
says '  python3 - makes the manual pages; used if found'
says '  libmpich-dev - '
silent_on cmake
calls_nothing
as "$become" --dry-run --for build
says '  python3 - '
silent_on valgrind
machine --without valgrind libmpich-dev
as "$become" --dry-run --for build
says "all that 'build' needs is there"
as "$become" MPI=mpich --dry-run --for build
says '  libmpich-dev - '
silent_on valgrind
as "$become" MPICC=mpicc.openmpi --dry-run
silent_on libmpich-dev
as "$become" --dry-run --for all
says '  clang - fuzzes what reads files'
says '  libpetsc-real-dev - what Grove is compared with: PETSc'
silent_on libhypre-dev
as "$become" --dry-run --for bench
says '  libpetsc-real-dev - what Grove is compared with: PETSc'
says '  valgrind - '
calls_nothing
echo 'a dry run names each package with its reason, by level and MPI, and calls nothing'

if [[ $become == root ]]; then
  machine --without valgrind libmpich-dev
  as root
  exits 0
  called '^apt-get noninteractive .* update$'
  called '^apt-get noninteractive .*install -y --no-install-recommends libmpich-dev valgrind$'
  says "all that 'test' needs is there"
  echo 'root installs what is missing, and nothing else, without sudo'

  machine --without libmpich-dev zlib1g-dev valgrind
  touch "$work/state/unknown-valgrind"
  as root
  exits 0
  called 'install .* zlib1g-dev$'
  says '  valgrind - '
  echo 'a package that the release does not have spoils only the optional ones'

  machine --without valgrind
  touch "$work/state/no-network"
  as root
  exits 0
  says 'that failed'
  says '  valgrind - '
  machine --without libhwloc-dev valgrind
  touch "$work/state/no-network"
  as root
  exits 1
  says 'cannot be built without:'
  says '  hwloc (libhwloc-dev)'
  silent_on 'CMake 3.16'
  echo 'where apt-get fails it goes on without what is optional, and stops without what is hard'

  machine --without gcc
  touch "$work/state/has-gcc" # installed, but no compiler is found
  as root
  exits 1
  calls_nothing
  says 'gcc - compiles the library (C11) (installed, but not seen to work)'
  echo 'a package that is installed but broken is named, and not installed again'
fi

machine --without libc6-dev mpich
sudo_is free
as user
exits 0
called '^sudo -n true$'
called '^sudo -n sh -c '
called 'install .*libc6-dev mpich$'
[[ $(grep -c '^sudo' "$work/state/calls") == 2 ]] || fail 'one question and one command for sudo'
echo 'a user whose sudo wants no password installs with sudo -n'

machine --without valgrind
sudo_is asks
as user
exits 0
says 'no right to install packages'
says 'apt-get install valgrind'
says '  valgrind - '
if grep -q -e '-v' "$work/state/calls"; then fail 'no password without a terminal'; fi
machine --without cmake make libopenmpi-dev libmpich-dev
as user # and no sudo at all
exits 1
says '  CMake 3.16 or newer (cmake)'
says '  make (make)'
says '  one MPI (libopenmpi-dev, or libmpich-dev, or MPICC)'
silent_on '  a C11 compiler'
echo 'without the right it lists what is missing, and stops only for a hard dependency'

if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  machine --without valgrind make
  sudo_is asks
  terminal=yes as user
  exits 0
  [[ $(grep -m1 sudo "$work/state/calls") == 'sudo -v' ]] || fail 'the password comes first'
  called '^sudo sh -c '
  says 'sudo may ask for your password now'
  says "all that 'test' needs is there"
  machine --without valgrind
  sudo_is refuses
  terminal=yes as user
  exits 0
  says 'no right to install packages'
  echo 'at a terminal the password is asked for once, before anything is done'
else
  echo "not shown: a password at a terminal (no pseudo-terminal here)"
fi

machine --without libopenmpi-dev openmpi-bin
rm "$work/bin/apt-get"
as user
exits 0
says 'this is not Debian or Ubuntu'
says '  libopenmpi-dev - '
as user MPI=openmpi
exits 0
says '  libopenmpi-dev - '
rm "$work/bin/mpicc.mpich"
as user MPI=openmpi
exits 1
says '  one MPI '
program any-cc <<<'grep -q mpi.h'
as user MPI= MPICC='any-cc -flag'
exits 0
silent_on mpi
echo 'elsewhere one MPI of any make is enough'

machine
as user MPICC=no-such-compiler
exits 1
says '  one MPI '
program cmake <<<'echo cmake version 3.13.4'
as user
exits 1
says '  CMake 3.16 or newer'
program cmake <<<'echo cmake version 4.0.3-dirty'
as user
exits 0
echo 'a hard dependency is what works: a broken MPICC and an old CMake are none'

as user --for nothing
exits 2
as user --frob
exits 2
as user MPI=lam
exits 2
as user --help
exits 0
says 'usage: tools/bootstrap'
echo 'wrong usage is one sentence and exit status 2'

echo PASS
