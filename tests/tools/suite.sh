#!/usr/bin/env bash
# tools/suite on a made-up suite: one case that fails hides no other, what dies is named with how to
# repeat it, and so is what happens before the first case and behind the last.
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mkdir -p "$work/tests/cases"
cases=$work/tests/cases/suite_np2
unset CASES CASES_NOT

# Does in each case what its program is called; `finalize` does it when all are over.
cat >"$work/suite" <<'END'
#!/usr/bin/env bash
echo launched >>"$0.launches"
end=0
while read -r name program variables; do
  if [[ $program == refuses ]]; then exit 3; fi
  if [[ $program == absent ]]; then echo 'there are no hosts'; exit 77; fi
  echo "== $name"
  echo "begin $name" >>"$3"
  case $program in
  passes) echo "passed $name 0.25" >>"$3" ;;
  skips) echo "skipped $name 0.01" >>"$3" ;;
  returns) echo "failed $name 0.50" >>"$3" ;;
  dies) echo "$name: rank 1 (SEED=77): not so ($variables)" >&2 && exit 1 ;;
  finalize) echo "passed $name 0.10" >>"$3" && end=9 ;;
  esac
done <"$2"
echo 'begin MPI_Finalize' >>"$3"
echo end >>"$3"
exit "$end"
END
chmod +x "$work/suite"

# suite: on the cases that it reads.
suite() {
  cat >"$cases"
  : >"$work/suite.launches"
  run tools/suite "$cases" 2 "$work/suite" env
}

# expect STATUS LAUNCHES REPORT...
expect() {
  ((status == $1)) || fail "the exit status is not $1"
  (($(wc -l <"$work/suite.launches") == $2)) || fail "not $2 launches"
  diff <(printf '%s\n' "${@:3}") "$cases.report" || fail 'the report is another'
}

suite <<'END'
a/one/np2 passes
a/two/np2 skips
a/three/messages/np2 passes GROVE_CHECK=1
END
expect 0 1 'passed a/one/np2 0.25' 'skipped a/two/np2 0.01' 'passed a/three/messages/np2 0.25'
has '2 passed, 0 failed, 1 skipped'
! grep -q FAIL "$work/out" || fail 'something failed'

suite <<'END'
a/one/np2 passes
a/two/check/np2 dies GROVE_CHECK=1
a/three/np2 returns
a/four/np2 dies
a/five/np2 passes
END
expect 1 3 'passed a/one/np2 0.25' 'failed a/two/check/np2 0' 'failed a/three/np2 0.50' \
  'failed a/four/np2 0' 'passed a/five/np2 0.25'
has 'FAIL: a/two/check/np2'
has 'a/two/check/np2: rank 1 (SEED=77): not so (GROVE_CHECK=1)'
has "again: SEED=77 ctest --test-dir $work --output-on-failure -R '^a/two/check/np2\$'"
has 'FAIL: a/three/np2'
has '2 passed, 3 failed, 0 skipped'

suite <<'END'
a/one/np2 dies
a/two/np2 passes
END
expect 1 2 'failed a/one/np2 0' 'passed a/two/np2 0.25'
suite <<<'a/one/np2 finalize'
expect 1 1 'passed a/one/np2 0.10' 'failed suite_np2 0'
suite <<<'a/one/np2 refuses'
expect 1 1 'failed suite_np2 0'
suite <<<'a/one/np2 absent'
expect 77 1 'skipped a/one/np2 0'
has 'there are no hosts'

export CASES='^a/(one|two)/' CASES_NOT='two'
suite <<'END'
a/one/np2 passes
a/two/np2 dies
a/three/np2 dies
END
expect 0 1 'passed a/one/np2 0.25'
CASES='^b/'
suite <<<'a/one/np2 dies'
((status == 0)) || fail 'no case is no failure'
[[ ! -s $cases.report && ! -s $work/suite.launches ]] || fail 'something was launched'

echo 'one failure hides no other'
