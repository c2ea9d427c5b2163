#!/usr/bin/env bash
# tools/mutants on a small project whose tests notice some changes and not others; and the entries
# of tests/mutants.txt are about the source as it is.
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
mutants=$PWD/tools/mutants
tree=$work/small

# A project with a library of two files and a header, and with two tests.
mkdir -p "$tree"/{src/base,tests/base,tools}
cp tools/build "$tree/tools/"
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(small LANGUAGES C)
enable_testing()
message(STATUS "Grove on a small scale") # tools/build shows it
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
add_library(grove_static STATIC src/base/sum.c src/base/most.c)
add_executable(test_base_sums tests/base/sums.c)
target_include_directories(test_base_sums PRIVATE src)
target_link_libraries(test_base_sums PRIVATE grove_static)
set_target_properties(test_base_sums PROPERTIES OUTPUT_NAME sums
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/base)
add_test(NAME base/sums COMMAND ${PROJECT_SOURCE_DIR}/tests/launch $<TARGET_FILE:test_base_sums>)
add_test(NAME base/absent COMMAND sh -c "exit 77")
END
cat >"$tree/src/base/twice.h" <<'END'
static inline int twice(int x)
{
  return x + x;
}
END
cat >"$tree/src/base/most.c" <<'END'
int most(void);
int most(void)
{
  return 1000; /* no test asks for so many */
}
END
cat >"$tree/src/base/sum.c" <<'END'
#include "twice.h"
int most(void);
int sum(int n);
int sum(int n)
{
  int total = 0;
  if (n > most()) return -1;
  while (n > 0) {
    total += twice(n) - n;
    n--;
  }
  return total * 1;
}
END
cat >"$tree/tests/base/sums.c" <<'END'
int sum(int n);
int main(void)
{
  return sum(4) == 10 && sum(0) == 0 ? 0 : 1;
}
END
# A launcher that leaves a process behind, in a group of its own.
seconds=$((100000 + $$))
cat >"$tree/tests/launch" <<END
#!/usr/bin/env bash
set -m
sleep $seconds &
"\$@"
END
chmod +x "$tree/tests/launch"

entry() {
  printf '%s\n' "src/base/$1, $2" "- $3" "+ $4" "${5:-why: a test}" ''
}
list() {
  {
    entry sum.c sum 'total += twice' 'total -= twice' # noticed
    entry twice.h twice 'x + x' 'x * x'               # in a header
    entry most.c most '1000' '3'                      # in another file
    entry most.c most '1000' '500'                    # nobody asks
    entry sum.c sum 'n--;' ';'                        # never ends
    entry sum.c sum 'total * 1' 'total / 1'           # no difference
    entry sum.c sum 'total = 0' 'total = nothing'     # no C
    entry sum.c sum 'return -1' 'return 1' 'survives: nobody asks'
  } >"$tree/tests/mutants.txt"
}

# on_tree OPTION...: tools/mutants there.
on_tree() {
  run env GROVE_ROOT="$tree" MPICC="${CC:-cc}" "$mutants" "$@"
}

list
on_tree --kept --json --limit 2 --seed 5
((status == 0)) || fail 'a run ends with 0, whatever survives'
python3 - "$work/out" <<'END' || fail 'these are not the verdicts'
import json, sys
result = json.load(open(sys.argv[1]))
got = {m["diff"][-1]: (m["verdict"], m["by"]) for m in result["mutants"]}
want = {
    "+ total -= twice(n) - n;": ("killed", ["base/sums"]),
    "+ return x * x;": ("killed", ["base/sums"]),
    "+ return 3; /* no test asks for so many */": ("killed", ["base/sums"]),
    "+ return 500; /* no test asks for so many */": ("survived", []),
    "+ ;": ("killed", ["base/sums (hung)"]),
    "+ return total / 1;": ("same code", []),
    "+ int total = nothing;": ("does not compile", []),
}
for change in sorted(want.keys() | got.keys()):
    if want.get(change) != got.get(change):
        sys.exit(f"{change}: {got.get(change)}, not {want.get(change)}")
order = list(got)  # what a change leaves behind would spoil the next
if order.index("+ ;") > order.index("+ return 500; /* no test asks for so many */"):
    sys.exit("take another seed: nothing is killed before one survives")
counts = {"killed": 4, "survived": 1, "not counted": 2}
if result["folders"] != {"base": counts} or result["accepted"] != {"base": 1}:
    sys.exit(f"counts: {result['folders']}, {result['accepted']}")
END
if pgrep -f "^sleep $seconds" >"$work/left"; then
  xargs kill <"$work/left"
  fail 'processes of tests are left over'
fi
diff -r "$tree/src" "$tree/build-mutants/tree/src" || fail 'a change was not taken back'
echo 'kept changes: noticed, survived, hung, without a difference, and no C are told apart'

on_tree --count 100000 --list-only
drawn=$(grep -c '^src\|^base' "$work/out")
has '(sign), src/base/twice.h:3'
has '+ return x;'
grep -q '+ if (n > most()) return 1;' "$work/out" && fail 'what is allowed to survive is not made'
name=$(sed -n 's/^\(base[^ ]*\) (sign), src.base.twice.h:3/\1/p' "$work/out")
on_tree --only "$name"
((status == 0)) || fail 'one change again'
has 'killed by base/sums'
has 'all                1       1         0       100             0         1'
on_tree --count 6 --seed 3 --list-only
cp "$work/out" "$work/first"
[[ $(grep -c '^base' "$work/first") == 6 ]] || fail 'six were asked for'
sed -i '1i /* A line more. */' "$tree/src/base/sum.c"
on_tree --count 6 --seed 3 --list-only
diff <(sed 's/,.*//' "$work/first") <(sed 's/,.*//' "$work/out") || fail 'names depend on lines'
on_tree --count 6 --seed 4 --list-only
cmp -s "$work/first" "$work/out" && fail 'another seed draws others'
echo "drawn changes: $drawn, with names that do not depend on lines"

entry sum.c sum 'no such text' 'x' >>"$tree/tests/mutants.txt"
on_tree --check
((status == 1)) || fail 'an entry that fits nothing is found'
grep -q "^tests/mutants.txt:41: 'no such text' is 0 times in sum" "$work/err" ||
  fail 'with its line'
list
sed -i 's/== 10/== 11/' "$tree/tests/base/sums.c"
on_tree --kept
((status == 1)) || fail 'tests that fail on what is not changed end the run'
grep -q 'do not pass on what is not changed' "$work/err" || fail 'and it says so'
on_tree --folder nowhere
((status == 2)) || fail 'an unknown folder is wrong usage'
echo 'entries that fit nothing, tests that fail unchanged, and wrong usage are told'

run "$mutants" --check
((status == 0)) || fail 'tests/mutants.txt is not about this source; mend its entries'
run "$mutants" --folder plan topo --count 20 --list-only
[[ $(grep -c '^plan/\|^topo/' "$work/out") == 40 ]] || fail 'there are changes to be made in Grove'
tail -n 1 <("$mutants" --check)
echo PASS
