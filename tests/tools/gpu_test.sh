#!/usr/bin/env bash
# tools/gpu-test counts, starts MPS in a folder of its own and ends it, keeps to its times, and says
# so where there is no GPU. Its tools are played here.
set -euo pipefail
# shellcheck source=tests/tools/common.bash
source "$(dirname "$0")/common.bash"

mkdir "$work/bin"
cat >"$work/bin/nvidia-smi" <<'END'
#!/bin/sh
echo 'GPU 0: none'
END
cat >"$work/bin/nvidia-cuda-mps-control" <<END
#!/bin/sh
if [ "\$1" = -d ]; then
  echo "start \$CUDA_MPS_PIPE_DIRECTORY" >>"$work/mps"
else
  read -r word && echo "\$word \$CUDA_MPS_PIPE_DIRECTORY" >>"$work/mps"
fi
END
cat >"$work/bin/compute-sanitizer" <<END
#!/bin/sh
echo "\$@" >>"$work/checker"
while [ "\${1#-}" != "\$1" ]; do shift; [ "\${1#-}" != "\$1" ] || shift; done
exec "\$@"
END
chmod +x "$work"/bin/*

# Tests of a build that is none: three pass, one of them registered with another device; one is
# skipped; one fails if it is told to, one takes as long as it is told to, and one is not for a GPU.
mkdir "$work/build"
cat >"$work/build/CTestTestfile.cmake" <<'END'
foreach(ranks 1 2)
  add_test(device/driver/np${ranks}
           sh -c "test $TEST_DRIVER = cuda && $LAUNCH_UNDER sh -c 'test $GROVE_DEVICE = cuda'")
endforeach()
set_tests_properties(device/driver/np1 PROPERTIES ENVIRONMENT GROVE_DEVICE=emulated)
add_test(device/recipes/np1 sh -c "$LAUNCH_UNDER true")
add_test(device/other/np1 sh -c "echo device/other: skipped: why not; exit 77")
set_tests_properties(device/other/np1 PROPERTIES SKIP_RETURN_CODE 77)
add_test(device/broken/np1 sh -c "test ! $WRONG")
add_test(device/slow/np2 sh -c "$LAUNCH_UNDER sleep \${SLOW:-0}")
set_tests_properties(device/driver/np1 device/driver/np2 device/recipes/np1 device/other/np1
                     device/broken/np1 device/slow/np2 PROPERTIES LABELS "case;gpu")
add_test(device/emulated/np1 false)
END
export BUILD=$work/build

if [[ ! -e /dev/nvidia0 ]] && ! command -v nvidia-smi >/dev/null; then
  run tools/gpu-test
  ((status == 77)) || fail 'without a GPU the exit status is not 77'
  grep -q 'no NVIDIA GPU' "$work/out" || fail 'why it did nothing is not told'
  (($(wc -l <"$work/out") == 1)) || fail 'it takes more than a sentence'
fi

PATH=$work/bin:$PATH
run tools/gpu-test --no-build
((status == 0)) || fail 'tests that pass are a failure'
grep -qx '12 passed, 0 failed, 2 skipped, 0 not run' "$work/out" || fail 'it counts wrongly'
grep -qx 'device/other: skipped: why not' "$work/out" || fail 'why it was skipped is not told'
for tool in memcheck initcheck; do
  grep -q "^--tool $tool " "$work/checker" || fail "there was no $tool"
done
for part in 'memcheck     2' 'initcheck    1'; do
  grep -qx "$part passed, 0 failed, 0 skipped, 0 not run; [0-9]* s" "$work/out" ||
    fail 'the counts of a part are wrong'
done
readarray -t lines <"$work/mps"
[[ ${#lines[@]} == 2 && ${lines[0]} == start\ /* && ${lines[1]} == "quit ${lines[0]#start }" ]] ||
  fail "MPS was told: ${lines[*]}"

WRONG=yes run tools/gpu-test --no-build
((status == 1)) || fail 'a test that fails is no failure'
grep -qx '11 passed, 1 failed, 2 skipped, 0 not run' "$work/out" || fail 'it counts wrongly'
CHECKED='^device/other' run tools/gpu-test --no-build '^device/other'
((status == 77)) || fail 'the exit status is not 77 where all was skipped'
run tools/gpu-test --no-build '^there/is/no/such/test'
((status == 1)) || fail 'no test is no failure'

: >"$work/mps" && : >"$work/checker"
run tools/gpu-test --no-build --only plain,initcheck 'driver|recipes'
((status == 0)) || fail 'some parts are a failure'
grep -qx '4 passed, 0 failed, 0 skipped, 0 not run' "$work/out" || fail 'it counts parts wrongly'
if [[ -s $work/mps ]] || grep -q memcheck "$work/checker"; then
  fail 'a part was run that was not named'
fi

SLOW=60 LIMIT=1 run tools/gpu-test --no-build --only plain slow
((status == 1)) || fail 'a test that takes too long is no failure'
SLOW=60 run tools/gpu-test --no-build --only plain --budget 2 'driver|slow'
((status == 3)) || fail 'the exit status is not 3 where the time was too short'
grep -qx '2 passed, 0 failed, 0 skipped, 1 not run' "$work/out" || fail 'what is left is not told'
for wrong in --budget '--budget soon' --only '--only plane' --unknown; do
  # shellcheck disable=SC2086 # two words
  run tools/gpu-test --no-build $wrong
  ((status == 2)) || fail "$wrong is not refused"
done
echo 'tools/gpu_test: passed'
