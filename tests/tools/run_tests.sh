#!/usr/bin/env bash
# The end of tools/run-tests, on made-up tests: it names what failed, with what that said, what was
# skipped, and the counts. A log of which only the end is kept then says enough.
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mkdir -p "$work/tree/tools" "$work/tree/build-fuzz/tests/cases" "$work/bin"
cp tools/run-tests "$work/tree/tools/"
ln -s "$(type -P true)" "$work/tree/tools/build"
ln -s "$(type -P true)" "$work/bin/clang"
cat >"$work/bin/ctest" <<'END'
#!/usr/bin/env bash
cat "${0%/*}/../printed"
cp "${0%/*}/../report" build-fuzz/tests/cases/suite_np2.report
END
chmod +x "$work/bin/ctest"

fuzz() {
  PATH=$work/bin:$PATH "$work/tree/tools/run-tests" fuzz
}
ends() {
  diff <(sed -n '/^the slowest/,$p' "$work/out") - || fail "another end"
}

cat >"$work/printed" <<'END'
 1/4 Test #1: read/good .....................   Passed    0.10 sec
 2/4 Test #2: read/bad ......................***Failed    0.20 sec
bad: two and two are five

 3/4 Test #3: read/absent ...................***Skipped   0.00 sec
 4/4 Test #4: suite/np2 .....................***Failed    0.50 sec
FAIL: send/bad/np2
== send/bad/np2
rank 1 is late
again: ctest -R send
1 passed, 1 failed, 0 skipped
END
printf '%s\n' 'passed send/good/np2 0.4' 'failed send/bad/np2 0.3' >"$work/report"
run fuzz
((status == 1)) || fail "a failure is not told by the exit status"
ends <<'END'
the slowest tests:
     0.4 s  send/good/np2 (build-fuzz)
     0.3 s  send/bad/np2 (build-fuzz)
     0.2 s  read/bad (build-fuzz)
     0.1 s  read/good (build-fuzz)
skipped: read/absent 0.00 build-fuzz
-- failed: send/bad/np2 in build-fuzz
FAIL: send/bad/np2
== send/bad/np2
rank 1 is late
again: ctest -R send
-- failed: read/bad in build-fuzz
 2/4 Test #2: read/bad ......................***Failed    0.20 sec
bad: two and two are five

2 passed, 2 failed, 1 skipped
END

echo ' 1/1 Test #1: read/good .....................   Passed    0.10 sec' >"$work/printed"
: >"$work/report"
run fuzz
((status == 0)) || fail "a failure where none is"
ends <<'END'
the slowest tests:
     0.1 s  read/good (build-fuzz)
1 passed, 0 failed, 0 skipped
END

: >"$work/printed"
run fuzz
((status == 1)) || fail "no test at all passes"
has "-- failed: no test ran in build-fuzz"

# After TESTS_UNTIL no part begins, and every one is told.
more() {
  PATH=$work/bin:$PATH TESTS_UNTIL=1 "$work/tree/tools/run-tests" more
}
run more
((status == 1)) || fail "no test at all passes"
for part in page 'many ranks' 'random programs' sanitizers tsan valgrind 'many forests'; do
  has "skipped: $part, for TESTS_UNTIL has passed"
done
has '0 passed, 0 failed, 15 skipped'
