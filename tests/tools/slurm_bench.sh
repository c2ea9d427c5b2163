#!/usr/bin/env bash
# tools/slurm-bench without Slurm: a tiny grid on two ranks of this host, each of them a node. The
# results are whole and name neither user nor host; a run that fails is counted; --dry-run says what
# a job of Slurm would run.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
bench=$PWD/tools/slurm-bench
for name in ${!SLURM_@}; do unset "$name"; done
mkdir "$work/here"
printf '#!/bin/sh\nMPIEXEC=%q exec %q "$@"\n' "${MPIEXEC-}" "$PWD/tools/launch" >"$work/launch"
chmod +x "$work/launch"
unset MPIEXEC

# --- what Slurm would be told ---

dry() {
  run env SLURM_JOB_NUM_NODES=6 SLURM_NTASKS_PER_NODE=8 "$@"
  ((status == 0)) || fail "exit status $status"
}
dry "$bench" --dry-run --patterns random
cat >"$work/expected" <<'END'
srun --nodes=6 --ntasks-per-node=8 --ntasks=48 grove machine measure
srun --nodes=1 --ntasks-per-node=8 --ntasks=8 grove bench random
srun --nodes=2 --ntasks-per-node=1 --ntasks=2 grove bench random
srun --nodes=2 --ntasks-per-node=8 --ntasks=16 grove bench random
srun --nodes=4 --ntasks-per-node=1 --ntasks=4 grove bench random
srun --nodes=4 --ntasks-per-node=8 --ntasks=32 grove bench random
srun --nodes=6 --ntasks-per-node=1 --ntasks=6 grove bench random
srun --nodes=6 --ntasks-per-node=8 --ntasks=48 grove bench random
END
diff "$work/expected" <(cut -d' ' -f1-7 "$work/out") || fail 'another grid'
dry env MPIEXEC='mpiexec -ppn {ppn} -n {ranks}' "$bench" --dry-run --shapes 3x4 \
  tests/tools/matrices/*.mtx
has 'mpiexec -ppn 4 -n 12 grove bench 27-point --reduce --json --machine profile.machine'
(($(grep -c ' bench .*\.mtx ' "$work/out") == 4)) ||
  fail 'not every matrix'
for bad in '--shapes 4' '--shapes 0x1' '--patterns 9-point' '--fast' '-o' 'no-such.mtx'; do
  # shellcheck disable=SC2086 # words
  run "$bench" --dry-run $bad
  ((status == 2)) || fail "$bad: exit status $status, not 2"
done
echo 'the grid is as Slurm would be told'

# --- a tiny grid ---

matrix=$PWD/tests/tools/matrices/symmetric.mtx
export MPIEXEC="$work/launch {ranks}" GROVE_NODE_SIZE=1
cd "$work/here"
run "$bench" --grove "$grove" --quick --shapes 1x1,2x1 --patterns 7-point "$matrix" -o tiny.tar.gz
((status == 0)) || fail "exit status $status"
has '5 runs, 0 failed'
[[ $(ls) == tiny.tar.gz ]] || fail "more than the results is left: $(ls)"
tar -xzf tiny.tar.gz
name=$(basename "$matrix" .mtx)
for file in about.txt profile.machine results/machine.json results/{7-point,"$name"}-{1x1,2x1}.json
do [[ -s $file ]] || fail "no $file"; done
python3 - results/7-point-2x1.json <<'END' || fail 'the result of 7-point is wrong'
import json, sys

result = json.load(open(sys.argv[1], encoding="utf-8"))
assert result["ranks"] == 2 and result["nodes"] == 2 and result["rounds"] == 5, result
assert all(row["verified"] for row in result["routes"]), result["routes"]
END
grep -qF "$("$grove" --version)" about.txt || fail 'no version'
if grep -rwF -e "$(uname -n)" -e "$work" -e "$matrix" about.txt profile.machine results \
  >"$work/out"; then fail 'a host or a path is named'; fi
echo 'a tiny grid ran; no host and no path is in its results'

# --- one that fails ---

run "$bench" --grove false --shapes 1x1 --patterns random -o failed.tar.gz
((status == 1)) || fail "exit status $status, not 1"
has '2 runs, 2 failed'
[[ -s failed.tar.gz ]] || fail 'nothing was packed'
echo 'what fails is counted, and the rest is packed'
