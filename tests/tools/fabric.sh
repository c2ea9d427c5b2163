#!/usr/bin/env bash
# grove fabric. And: a library with libfabric opens it when it is needed, and not before, so no
# program with Grove in it loads it. Without libfabric its files compile.
set -euo pipefail
# shellcheck source=tests/tools/common.bash
source "$(dirname "$0")/common.bash"

# good COMMAND...: it must succeed.
good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
}

libraries=("$BUILD/lib/libgrove.a" "$BUILD/lib/libgrove.so")
good "$grove" --version
if grep -qx 'libfabric: not built in' "$work/out"; then
  for library in "${libraries[@]}"; do
    if grep -aqF 'libfabric.so' "$library"; then fail "$library has traces of libfabric"; fi
  done
else
  grep -qE '^libfabric: built in \(library ([0-9.]+ |not )found\)$' "$work/out" ||
    fail 'nothing is said of libfabric'
  for library in "${libraries[@]}"; do
    grep -aqF 'libfabric.so.1' "$library" || fail "$library would open no libfabric"
  done
  run ldd "${libraries[1]}"
  if grep -q libfabric "$work/out"; then fail 'every program with Grove would load libfabric'; fi
fi

# bad STATUS WORD COMMAND...: this exit status, and one sentence with the word in it.
bad() {
  local wanted=$1 word=$2
  shift 2
  run "$@"
  ((status == wanted)) || fail "the exit status is not $wanted"
  grep -qF -e "$word" "$work/err" || fail "no '$word'"
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
}

compiler=$(sed -nE 's/^GROVE_MPICC:[A-Z]+=//p' "$BUILD/CMakeCache.txt")
for file in src/transport/ofi*.c; do
  run "$compiler" -std=c11 -Iinclude -Isrc -Wall -Werror -c "$file" -o "$work/ofi.o"
  ((status == 0)) || fail "$file does not compile without libfabric"
done

bad 2 "'--no-such-flag'" "$grove" fabric --no-such-flag
bad 2 'seconds, from 0.1' "$grove" fabric --try --limit soon
bad 2 'goes with --try' "$grove" fabric --provider tcp
good "$grove" --version
if ! grep -q 'libfabric: built in (library [0-9]' "$work/out"; then
  bad 2 'libfabric' "$grove" fabric
  bad 2 'libfabric' tools/launch 2 "$grove" fabric --try
  echo 'skipped: there is no libfabric'
  exit 77
fi

# Every provider that libfabric has is there once; those over TCP and in memory are always usable.
good "$grove" fabric
for provider in 'tcp;ofi_rxm' shm; do
  grep -qE "^$provider +written with data +[48] .* yes " "$work/out" || fail "no $provider"
done
grep -qE '^tcp +not usable +only as tcp;ofi_rxm' "$work/out" || fail 'tcp alone is no such network'
good "$grove" fabric --json
python3 - "$work/out" <<'END' || fail 'the list'
import json, sys
rows = {r["provider"]: r for r in json.load(open(sys.argv[1], encoding="utf-8"))["providers"]}
assert len(rows) >= 3
for name, r in rows.items():
    assert r["usable"] == (r["why"] is None) == (r["form"] != "not usable"), name
tcp, shm = rows["tcp;ofi_rxm"], rows["shm"]
assert tcp["letters"] and tcp["data_bytes"] >= 4 and tcp["largest_bytes"] > 1 << 20
assert tcp["domain"]
assert shm["within_host"] and not tcp["within_host"] and tcp["polled"]
END

# A try looks at each byte; what does not work is named with the reason, and is given up.
good tools/launch 2 "$grove" fabric --try --provider 'tcp;ofi_rxm' --limit 60 --json
python3 - "$work/out" <<'END' || fail 'the try'
import json, sys
tries = json.load(open(sys.argv[1], encoding="utf-8"))["tries"]
assert len(tries) == 1 and tries[0]["works"] and tries[0]["why"] is None
assert [s["bytes"] for s in tries[0]["sizes"]] == [8, 4096, 262144, 4194304]
assert all(s["seconds"] > 0 for s in tries[0]["sizes"])
END
good tools/launch 3 "$grove" fabric --try --provider shm --limit 60 # the third looks on
has 'every byte right'
run tools/launch 2 "$grove" fabric --try --provider pigeon
((status == 1)) || fail 'a pigeon carries it'
has 'given up: rank 0: libfabric has no '
bad 2 'needs two ranks' tools/launch 1 "$grove" fabric --try
echo 'tools/fabric: passed'
