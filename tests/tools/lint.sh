#!/usr/bin/env bash
# tools/lint on a small tree made for the purpose: clean it passes; then each rule is broken once,
# and lint must name exactly that file and line.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lint=$here/../../tools/lint
tree=$(mktemp -d)
output=$(mktemp)
trap 'rm -rf "$tree" "$output"' EXIT
export GROVE_ROOT=$tree
unset CLANG_FORMAT

# What this machine lacks. What is not shown for that is not a test passed.
lacking=()

# file PATH: reads it.
file() {
  mkdir -p "$tree/$(dirname "$1")"
  cat >"$tree/$1"
}

# header NAME: a header that keeps all rules, around what is read.
header() {
  local guard=${1//[^a-z]/_}
  { echo "#ifndef $guard" && echo "#define $guard" && cat && echo "#endif"; } | file "$1"
}

# A tree that keeps all rules, each with something that looks like a breach of it.
plant() {
  rm -rf "${tree:?}"/* "$tree"/.[!.]*
  cp "$here/../../.clang-format" "$tree/"
  header include/grove.h <<<'int grove_one(void);'
  header src/base/status.h <<<'#include "grove.h"'
  header src/topo/topo.h <<<'#include "base/status.h"'
  header src/plan/plan.h <<<'#include "topo/topo.h"'
  header src/context/context.h <<<'#include "plan/plan.h"'
  header src/exec/op.h <<<'#include "context/context.h"'
  file src/base/options.c <<'EOF'
#include "base/status.h"
#include <stdlib.h>
const char *grove_home(void)
{
  return getenv("GROVE_HOME");
}
EOF
  file src/context/create.c <<'EOF'
#include <context/context.h>
/* #include "exec/op.h"
   MPI_Wait(x); getenv("x") */
int grove_create(void)
{
  return MPI_Comm_idup(0) + MPI_Ibarrier(1);
}
EOF
  file src/exec/op.c <<'EOF'
#include "exec/op.h"
#include <mpi.h> // not MPI_Recv
static const char *text = "MPI_Send(\" getenv(";
int grove_start(void)
{
  MPI_Reduce_local();
  MPI_Send_init();
  MPI_Comm_idup();
  MPI_Comm_free();
  MPI_Comm_create_errhandler();
  MPI_Ibarrier();
  my_MPI_Wait();
  return '"' + MPI_Testall() + '"';
}
EOF
  header tests/support/check.h <<<'#include <stdio.h>'
  file tests/plan/reverse.c <<'EOF'
#include "check.h"
#include "grove.h"
#include "plan/plan.h"
EOF
  header tools/grove/command.h <<<'#include "base/status.h"'
  file tools/grove/main.c <<'EOF'
#include "command.h"
#include "plan/plan.h"
EOF
  header tools/matrix_market.h <<<'#include <stdio.h>'
  file examples/halo.c <<<'#include <grove.h>'
  file bench/bench.c <<'EOF'
#include "grove.h"
#include "matrix_market.h"
EOF
  file CMakeLists.txt <<<'project(grove VERSION 0.2.10 LANGUAGES C)'
  file CHANGELOG.md <<<'## 0.2.10'
  # 100 columns, of more bytes; and a template that is no note.
  { echo '#!/bin/sh' && printf '# %098d\n' 0 | sed 's/0000/éééé/' && echo 'mktemp a.XXXXXX'; } |
    file tools/script
}

fail() {
  echo "FAIL: $*"
  cat "$output"
  exit 1
}

lint() {
  status=0
  "$lint" "$@" >"$output" 2>&1 || status=$?
}

# finds CHECK FILE:LINE...: exactly these, and counts one check as failed.
finds() {
  local check=$1
  shift
  lint "$check"
  diff <(sed -nE 's/^([^ :]+:[0-9]+): .*/\1/p' "$output") <(printf '%s\n' "$@") ||
    fail "$check should find what is on the right (>), and not what is on the left (<)"
  [[ $status == 1 ]] || fail "$check should exit with 1, not $status"
  [[ $(tail -n 1 "$output") == '0 passed, 1 failed, 0 skipped' ]] || fail "$check miscounts"
}

# at PATH LINE TEXT: inserts the text there.
at() {
  sed -i "$2i\\
$3" "$tree/$1"
}

plant
lint layers tags names verdicts getenv blocking pipes prose changelog
[[ $status == 0 ]] || fail 'a clean tree should pass'
[[ $(cat "$output") == '9 passed, 0 failed, 0 skipped' ]] || fail 'a clean tree needs one line'
echo 'a clean tree passes'

at src/plan/plan.h 3 '#include "exec/op.h"'
finds layers src/plan/plan.h:3
plant
at src/topo/topo.h 2 '#  include <plan/plan.h>'
finds layers src/topo/topo.h:2
plant
at src/base/options.c 2 '#include "status.h"'
at src/exec/op.c 2 '#include "../base/status.h"'
finds layers src/base/options.c:2 src/exec/op.c:2
plant
at tests/plan/reverse.c 1 '#include "exec/op.h"'
at tests/plan/reverse.c 3 '#include "command.h"'
finds layers tests/plan/reverse.c:1 tests/plan/reverse.c:3
plant
at tools/grove/main.c 2 '#include "exec/op.h"'
at examples/halo.c 1 '#include "base/status.h"'
at bench/bench.c 1 '#include "exec/op.h"'
at include/grove.h 3 '#include "base/status.h"'
finds layers bench/bench.c:1 examples/halo.c:1 include/grove.h:3 tools/grove/main.c:2
echo 'layers: arrows that the table does not have, in the library and outside, are found'

# What each row may include, written out: 'all above' and 'A to B' must mean what DESIGN says.
plant
all='base topo pack plan model context forest route device transport measure exec algebra
  partitioned tools'
allowed='
base:
topo: base
pack: base
plan: base topo pack
model: base topo plan
context: base topo pack plan model
forest: base topo context
route: base topo pack plan model context forest
device: base topo pack model context
transport: base topo context device
measure: base topo plan model context route device transport
exec: base topo pack plan model context forest route device transport
algebra: base context forest
partitioned: base topo pack plan model context forest route device transport measure exec algebra
tools: base topo plan model route device transport measure'
rm -r "$tree"/{src,tests,tools,bench,examples}
expected=()
while IFS=: read -r layer may; do
  folder=src/$layer
  if [[ $layer == tools ]]; then folder=tools; fi
  line=0
  for other in $all; do
    if [[ $layer == tools && $other == tools ]]; then continue; fi
    line=$((line + 1))
    echo "#include \"$other/x.h\"" >>"$tree/includes"
    if [[ $other != "$layer" && " $may " != *" $other "* ]]; then
      expected+=("$folder/x.c:$line")
    fi
  done
  file "$folder/x.c" <"$tree/includes"
  rm "$tree/includes"
done < <(sed '/^$/d' <<<"$allowed")
mapfile -t expected < <(printf '%s\n' "${expected[@]}" | sort -t: -k1,1 -k2,2n)
finds layers "${expected[@]}"
echo "layers: of $((15 * 15 - 1)) arrows exactly the ${#expected[@]} forbidden ones are found"

plant
at src/plan/plan.h 3 'typedef struct grove_twin {'
at src/exec/op.c 2 'struct grove_twin { /* struct grove_other { */'
at src/exec/op.c 3 'struct grove_twin *use; enum grove_other { A };'
finds tags src/plan/plan.h:3
echo 'tags: a struct that is defined twice is found, its uses are not'

plant
at src/base/options.c 3 'static int find(void);'
at src/context/create.c 4 'static const char *look_up(int a);'
file src/topo/topo.c <<'EOF'
static int look_up(void);
static int looks[] = {find(1)};
static int look_up(void)
EOF
finds names src/base/options.c:3 src/topo/topo.c:1
echo 'names: static functions of one word, and those of two files, are found'

plant
header include/grove.h <<'EOF'
GROVE_API grove_status grove_go(int x);
GROVE_API grove_status grove_look(
  int x);
EOF
file src/exec/op.c <<'EOF'
__attribute__((noinline)) static grove_status go_on(int x, grove_status status)
{
  if (x) return status;
  return grove_verdict(NULL, status);
}
static grove_status look_twice(int x)
{
  GROVE_PASS(go_on(x, GROVE_OK));
  GROVE_PASS_CHECK(x, GROVE_ERR_ARG, "x");
  return x ? GROVE_OK : /* or */
    go_on(x, GROVE_OK);
}
grove_status grove_go(int x)
{
  GROVE_TRY(unseen(x)); /* return status; */
  return go_on(x, GROVE_ERR_ARG);
fail:
  return GROVE_VERDICT(x, status);
}
grove_status grove_look(int x)
{
  if (x) return GROVE_OK;
  grove_status verdict = grove_verdict_alone(GROVE_ERR_ARG);
  if (x > 1) return look_twice(x);
  if (x > 2) return go_elsewhere(x);
  return verdict;
}
static grove_status unseen(int x)
{
  return x;
}
EOF
finds verdicts src/exec/op.c:3 src/exec/op.c:9 src/exec/op.c:10 src/exec/op.c:25
echo 'verdicts: a failure that leaves a public function without one is found'

plant
at src/exec/op.c 5 '  /* a */ use(secure_getenv("x"));'
finds getenv src/exec/op.c:5
plant
at src/exec/op.c 6 '  if (x) getenv("x");'
finds getenv src/exec/op.c:6
echo 'getenv: found outside the option table, not in comments and texts'

names='Send Recv Ssend Bsend Rsend Sendrecv Sendrecv_replace Wait Waitall Waitany Waitsome Probe
  Mprobe Mrecv Barrier Bcast Gather Gatherv Allgather Allgatherv Scatter Scatterv Alltoall Alltoallv
  Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Comm_dup Comm_split
  Comm_split_type Comm_create Comm_create_group Win_create Win_fence Win_free File_open
  Neighbor_alltoallv Dist_graph_create_adjacent'
plant
expected=()
for name in $names; do
  echo "GROVE_TRY_MPI(MPI_$name(x)); static int (*f)() = PMPI_$name;" >>"$tree/src/exec/all.c"
  expected+=("src/exec/all.c:$((${#expected[@]} / 2 + 1))")
  expected+=("${expected[-1]}")
done
finds blocking "${expected[@]}"
mkdir "$tree/src/transport"
cp "$tree/src/exec/all.c" "$tree/src/transport/mpi_rma.c"
mv "$tree/src/exec/all.c" "$tree/src/transport/mpi_neighbor.c"
for name in Isend Irecv Start Startall Test Testall Iprobe Improbe Imrecv Ibcast Iallreduce \
  Ibarrier Alltoallv_init Comm_idup Comm_free Reduce_local Comm_create_keyval Request_free; do
  at src/exec/op.c 7 "  MPI_$name(x);"
done
lint blocking
[[ $status == 0 ]] || fail 'what does not block is allowed, and two files may'
echo "blocking: $((${#expected[@]} / 2)) calls that block are found, those that do not are not"

plant
sed 's/^  //; s/then/|/' >"$tree/early" <<'EOF'
  #!/bin/bash
  set -euo pipefail
  ls then head -1
  ls then grep -qF x || ls
  ls then sed '1q'
  ls then sed -n "1{p;q;}"
  # ls then head -1
  ls || head -1 x; head -1 x then sort
  grep -q x y then sort; ls | sed s/quiet/q/
EOF
grep -v pipefail "$tree/early" >"$tree/careless"
finds pipes early:3 early:4 early:5 early:6
echo 'pipes: readers that go early are found, where pipefail is set'

plant
at src/exec/op.c 3 '/* blank behind */ '
at CHANGELOG.md 1 $'a tab behind\t'
finds prose CHANGELOG.md:1 src/exec/op.c:3
plant
at tools/script 2 "# $(printf '%099d' 0)"
at src/exec/op.c 1 "/* $(printf '%098d' 0) */"
at CHANGELOG.md 1 "$(printf '%0200d' 0)"
finds prose src/exec/op.c:1 tools/script:2
plant
for ((i = 1; i <= 80; i++)); do echo '/* an example is short */'; done >>"$tree/examples/halo.c"
finds prose examples/halo.c:81
plant
at src/base/status.h 2 "/* T""ODO: later */"
at CHANGELOG.md 1 "FIX""ME, and XX""X"
finds prose CHANGELOG.md:1 src/base/status.h:2
plant
printf 'int x;\nint y;' >"$tree/src/exec/op.c"
finds prose src/exec/op.c:2
echo 'prose: blanks, long lines, long examples, notes and a missing newline are found'

plant
sed -i 's/0.2.10/0.2.1/' "$tree/CHANGELOG.md"
finds changelog CHANGELOG.md:1
plant
file CHANGELOG.md <<<'## 10.2.10'
finds changelog CHANGELOG.md:1
plant
sed -i 's/VERSION/version/' "$tree/CMakeLists.txt"
finds changelog CMakeLists.txt:1
echo 'changelog: a version that is not named is found'

plant
lint headers
if [[ $status == 77 ]]; then
  lacking+=('an MPI compiler')
else
  [[ $status == 0 ]] || fail 'these headers compile alone'
  at src/plan/plan.h 4 'grove_status needs_another_header(void);'
  at src/topo/topo.h 4 'int class;'
  at include/grove.h 4 '#error "in all that include this, too"'
  lint headers
  grep -q '^include/grove.h:4: does not compile alone in C11: ' "$output" || fail 'C11'
  plant
  at src/exec/op.h 4 'grove_status needs_another_header(void);'
  lint headers
  grep -q '^src/exec/op.h:4: does not compile alone in C11: ' "$output" || fail 'the header itself'
  [[ $status == 1 ]] || fail 'a finding is exit status 1'
  plant
  at src/exec/op.h 4 'int grove_f(int class);'
  lint headers
  if grep -q '^lint: headers skipped: there is no C++ compiler' "$output"; then
    lacking+=('a C++ compiler')
  else
    [[ $(grep -c . "$output") == 2 ]] || fail 'valid C11 is to be found in C++ only'
    grep -q '^src/exec/op.h:4: does not compile alone in C++11: ' "$output" || fail 'C++11'
  fi
  plant
  at src/exec/op.h 4 'int grove_f(void);'
  at src/exec/op.h 5 'extern int grove_empty[0];'
  lint headers
  grep -q '^src/exec/op.h:5: .* in C11: ' "$output" || fail 'warnings count'
  echo 'headers: one that does not compile alone is found, in C11 and in C++'
  CXX=no-such-compiler MPICXX=no-such-compiler lint headers
  grep -q '^src/exec/op.h:5: .* in C11: ' "$output" || fail 'C11 without C++'
fi

plant
lint circles
[[ $status == 77 ]] || fail 'without objects circles is skipped'
if command -v cc >/dev/null && command -v nm >/dev/null; then
  object() {
    mkdir -p "$tree/build-x/src/exec" "$tree/src/exec"
    touch "$tree/src/exec/$1"
    cc -c -x c - -o "$tree/build-x/src/exec/$1.o" <<<"$2"
  }
  object one.c 'int grove_two(void); int grove_one(void) { return grove_two(); }'
  object two.c 'int grove_three(void); int grove_two(void) { return grove_three(); }'
  object three.c 'int grove_three(void) { return 3; }'
  lint circles
  [[ $status == 0 ]] || fail 'one after the other is no circle'
  object three.c 'int grove_one(void); int grove_three(void) { return grove_one(); }'
  finds circles src/exec/one.c:1 src/exec/three.c:1 src/exec/two.c:1
  rm "$tree/src/exec/two.c"
  lint circles
  [[ $status == 0 ]] || fail 'what is left of a source that is gone does not count'
  echo 'circles: three files that call each other are found'
else
  lacking+=('cc or nm')
fi

plant
lint symbols
[[ $status == 77 && $(tail -n 1 "$output") == '0 passed, 0 failed, 1 skipped' ]] ||
  fail 'without a library symbols is skipped'
if command -v cc >/dev/null && command -v nm >/dev/null; then
  mkdir -p "$tree/build-x/lib"
  build() {
    cc -shared -fPIC -x c - -o "$tree/build-x/lib/libgrove.so" <<<"$1"
    cc -c -x c - -o "$tree/one.o" <<<"$1"
    rm -f "$tree/build-x/lib/libgrove.a"
    ar rc "$tree/build-x/lib/libgrove.a" "$tree/one.o"
  }
  build 'int grove_one(void) { return 1; } static int two = 2; int grove_two(void) { return two; }'
  lint symbols
  [[ $status == 0 ]] || fail 'these symbols are in order'
  build 'int stray; int grove_one(void) { return stray; }'
  finds symbols build-x/lib/libgrove.so:1 build-x/lib/libgrove.a:1
  build '__attribute__((visibility("hidden"))) int stray; int grove_one(void) { return stray; }'
  finds symbols build-x/lib/libgrove.a:1
  echo 'symbols: a stray name is found in the shared library, and in the static one'
else
  lacking+=('cc or nm')
fi

plant
if command -v clang-format >/dev/null; then
  sed -i '/_init\|Ibarrier/d' "$tree/src/exec/op.c"
  lint format
  [[ $status == 0 ]] || fail 'this layout is in order'
  at src/base/options.c 5 '  int far=0;'
  finds format src/base/options.c:5
  echo 'format: another layout is found'
else
  lacking+=(clang-format)
fi
CLANG_FORMAT=no-such-program lint format
[[ $status == 77 ]] || fail 'without clang-format the check is skipped'
[[ $(tail -n 1 "$output") == '0 passed, 0 failed, 1 skipped' ]] || fail 'and counted'
echo 'format: without clang-format it is skipped, and counted'

if command -v git >/dev/null; then
  plant
  git -C "$tree" init -q
  echo '/build*/' >"$tree/.gitignore"
  printf 'blank ' | file build/x.c
  printf 'no newline' | file docs/new.md
  finds prose docs/new.md:1
  echo 'in a git tree, new files are checked and ignored ones are not'
else
  lacking+=(git)
fi

plant
lint manual
[[ $status == 77 ]] || fail 'where nothing is public there is nothing to check'
header include/grove.h <<'EOT'
/* Grove: a header. */
#define GROVE_VERSION_MAJOR 0
#define GROVE_VERSION_MINOR 2
#define GROVE_API
/* ---- status ---- */
typedef enum grove_status { GROVE_OK } grove_status;

/* Both see `x`, or grove_one; not Collective.
 *
 *     .TH drawn 'as it is'
 */
GROVE_API grove_status grove_one(int x);
GROVE_API grove_status grove_two(int x,
                                 int y);

/* 'Quoted. */
GROVE_API const char *grove_three(void);
EOT
lint manual
if [[ $status == 77 ]]; then
  lacking+=("what the manual needs ($(sed -n 's/^lint: manual skipped: //p' "$output"))")
else
  [[ $status == 0 ]] || fail 'this manual is in order'
  sed -i '/Quoted/d' "$tree/include/grove.h"
  finds manual include/grove.h:18
  at include/grove.h 18 '/* A comment that stands apart. */'
  at include/grove.h 19 ''
  finds manual include/grove.h:20
  echo 'manual: a function without a comment is found'
fi

lint no-such-check
[[ $status == 2 ]] || fail 'an unknown check is wrong usage'
lint --list
[[ $status == 0 && $(wc -l <"$output") == 14 ]] || fail 'fourteen checks are listed'
echo 'wrong usage is exit status 2'

if ((${#lacking[@]})); then
  printf 'skipped: there is no %s\n' "${lacking[@]}"
  exit 77
fi
echo PASS
