#!/usr/bin/env bash
# Every command in docs/trace.md is run, and says what is written there, but for times; the file
# that a trace leaves is what a viewer expects.
#
# A block is indented by four blanks; a line of it that begins with "$ " is a command for the shell,
# and the lines up to the next command or the end of the block are all that it prints.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/tools/document.bash
source tests/tools/document.bash
needs python3
document=$PWD/docs/trace.md
mkdir "$work/bin" "$work/here"

# What the document calls mpirun is the launcher of this build.
cat >"$work/bin/mpirun" <<END
#!/bin/sh
shift
exec '$PWD/tools/launch' "\$@"
END
chmod +x "$work/bin/mpirun"
PATH=$work/bin:$BUILD/bin:$PATH

# Numbers with a point are times; they decide how wide a column is.
without_times() {
  sed -E -e 's/[0-9]+\.[0-9]+/TIME/g' -e 's/ +/ /g' "$1"
}

# check COMMAND: its output against what is collected.
check() {
  status=0 what=$1
  (cd "$work/here" && timeout 100 bash -o pipefail -c "$1") \
    >"$work/out" 2>"$work/err" </dev/null || status=$?
  ((status == 0)) || fail 'it failed'
  cat "$work/out" "$work/err" >"$work/got"
  diff -u <(without_times "$work/expected") <(without_times "$work/got") ||
    fail 'it does not say what docs/trace.md has'
  commands=$((commands + 1))
}

commands=0
each_command "$document"
((commands == 4)) || fail "$commands commands were found"

# --- the file, as another reader of JSON sees it ---

python3 - "$work/here/trace.json" <<'END' >"$work/out" 2>"$work/err" || fail 'the trace is wrong'
import json, sys

trace = json.load(open(sys.argv[1], encoding="utf-8"))
events = trace["traceEvents"]
spans = [e for e in events if e["ph"] == "X"]
names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["grove"]
assert sorted(names) == [1, 2, 3, 4], names
assert all(names[t].startswith(f"rank {t - 1}, node 0 (") for t in names), names
assert {e["ph"] for e in events} == {"X", "M"} and {e["pid"] for e in events} == {1}
for tid in names:
    row = [e for e in spans if e["tid"] == tid]
    assert [e["cat"] for e in row].count("start") == [e["cat"] for e in row].count("wait") == 238
    assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-4 for a, b in zip(row, row[1:])), tid
    assert row[0]["ts"] >= 0 and row[0]["name"] == "set up (27-point)", row[0]
    start = next(e for e in row if e["cat"] == "start")["args"]
    assert start["on_node_messages"] == 3 and start["on_node_bytes"] == (16 + 16 + 4) * 8, start
END

echo "$commands commands of docs/trace.md say what is written there"
