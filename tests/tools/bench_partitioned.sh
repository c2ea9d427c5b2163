#!/usr/bin/env bash
# The driver of channels on cases so small that they take no time: every mode, method and kind of
# noise gives right values, a wrong one is found; and what bench/run --partitioned makes of rows.
# Nothing here looks at a time.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/tools/grids.bash
source "$(dirname "${BASH_SOURCE[0]}")/grids.bash"
needs python3
limit=100

cat >"$work/grid" <<'EOG'
one whole 1 8,1Ki 1 none mpi-isend mpi-persistent none none:memory=alloc
at-once overhead 4,6 96,24Ki 2 none mpi-parts mpi-psend none table ploggp
single perceived 4 1Ki,256Ki parts single:1e-4:1e-4 limit mpi-isend none ploggp timer adaptive
fixed perceived 4 1Ki parts fixed:1e-4 adaptive timer:delta=1e-5
uniform perceived 4 1Ki cores uniform:1e-4 none timer
gauss perceived 4 1Ki 3 gauss:1e-5:1e-4 none timer
groups perceived 6 48Ki parts single:1e-4 ploggp search
carriers overhead 4 4Ki 2 none search search:transport_parts=mpi search:transport_parts=auto
wave sweep 3,6 1536 3 single:1e-5:1e-4 mpi-parts none timer # a comment
mark mark 64 512 4 none none:max_messages=1
last last 64 512 1 none none:max_messages=32
EOG
psend=$(grep -c 'GROVE_HAVE_PSEND:INTERNAL=1' "$BUILD/CMakeCache.txt" || true)

for parts in auto mpi; do
  export GROVE_TRANSPORT_PARTS=$parts
  bench 2
  ((status == 0)) || fail 'it failed'
  lines $((8 + 12 + 4 * psend + 12 + 2 + 2 + 2 + 5 + 9 + 2)) '^row '
  lines 1 '^row carriers 4 4096 none:max_messages=4,transport_parts=mpi 4 '
  lines $((4 + 4 * (1 - psend))) '^missing at-once '
  lines 0 '^wrong '
  bench 4 --pin --spin
  ((status == 0)) || fail 'it failed'
  lines 6 '^row wave '
done
bench 2 --case groups
lines 1 '^row groups 6 49152 none:max_messages=3 3 '
bench 2 --funneled --case mark
((status == 0)) || fail 'it failed'
lines 1 '^row '
bench 2 --case single --sabotage timer --most 1024
((status == 1)) || fail 'a wrong value is not found'
lines 1 '^wrong single 4 1024 timer '
lines 5 '^row '
unset GROVE_TRANSPORT_PARTS
# The committed lines over libfabric are read: every case but none larger than a byte.
bench 2 --grid bench/partitioned/fabric.txt --most 1
((status == 0)) || fail 'fabric.txt is not read'

# bad LINE: it is refused, with its place.
bad() {
  echo "$1" >"$work/grid"
  bench 2
  ((status == 2)) || fail "'$1' is taken"
  grep -qF "$work/grid:1: " "$work/err" || fail 'the place is not told'
}
bad 'x perceived 4 1Ki parts single:1e-4'
bad 'x sideways 4 1Ki parts none none'
bad 'x perceived 0 1Ki parts none none'
bad 'x perceived 3 1Ki parts none none'
bad 'x perceived 4 1Ki parts loud none'
bad 'x overhead 32 1Ki 2 none search search:delta=1e-5 search:delta=2e-5 search:delta=3e-5'

judge <<'END'
import partitioned

study = partitioned.Partitioned()

def rows(mpi, place, setting, *lines):
    return study.parse([f"row {line} 0 0 20" for line in lines],
                       partitioned.Run(mpi, place, setting))

KI, MI = 1 << 10, 1 << 20
found = [
    *rows("mpich", "shm", "installed", f"overhead 32 {MI} mpi-psend 0 900",
          f"overhead 32 {MI} ploggp 4 100"),
    *rows("mpich", "shm", "best", f"overhead 32 {64 * KI} mpi-psend 0 20",
          f"overhead 32 {64 * KI} ploggp 4 10"),
    *rows("openmpi", "tcp", "-",
          f"overhead 32 {KI} none 32 90", f"overhead 32 {KI} ploggp 1 30",
          f"overhead 128 {KI} none 128 90", f"overhead 128 {KI} ploggp 1 30",
          f"groups-8 8 {KI} ploggp 2 12", f"groups-8 8 {KI} none:max_messages=1 1 10",
          f"groups-8 8 {KI} none:max_messages=2 2 12",
          f"late-8 8 {KI} ploggp 2 11", f"late-8 8 {KI} adaptive 2 15",
          f"late-8 8 {KI} none:max_messages=1 1 12", f"late-8 8 {KI} none:max_messages=8 8 10.5",
          f"laggard 32 {MI} limit 1 7", f"laggard 32 {MI} timer 3 10",
          f"laggard 32 {MI} adaptive 2 11",
          f"delta 32 {MI} limit 1 7", f"delta 32 {MI} timer:delta=1e-5 3 95",
          f"delta 32 {MI} timer:delta=1e-4 3 100"),
    *rows("openmpi", "ofi", "-",
          f"carriers 32 {64 * KI} none:max_messages=1 1 5",
          f"carriers 32 {64 * KI} none:max_messages=1,transport_parts=mpi 1 10",
          f"carriers 32 {64 * KI} none:max_messages=32 32 8",
          f"carriers 32 {64 * KI} none:max_messages=32,transport_parts=mpi 32 10",
          f"carriers 32 {MI} none:max_messages=1 1 60",
          f"carriers 32 {MI} none:max_messages=1,transport_parts=mpi 1 40",
          f"carriers 32 {MI} none:max_messages=1,transport_parts=auto 1 99",
          f"carriers 32 {64 * KI} none:max_messages=32,transport_parts=auto 32 99",
          f"endpoints 16 {MI} none:transport_parts=mpi 16 90",
          f"endpoints 16 {MI} none:endpoints=1 16 60", f"endpoints 16 {MI} none:endpoints=8 16 45",
          f"transport 32 {MI} none:transport_parts=mpi 32 100",
          f"transport 32 {MI} none:max_messages=2,endpoints=2 2 50",
          f"transport 32 {MI} none:max_messages=16,endpoints=2 16 80",
          f"groups-8 8 {KI} ploggp 2 12", f"groups-8 8 {KI} none:max_messages=1 1 10",
          f"groups-8 8 {KI} none:max_messages=2 2 12",
          f"laggard 32 {MI} limit 1 7", f"laggard 32 {MI} timer 3 10",
          f"laggard 32 {MI} adaptive 2 9"),
    *rows("openmpi", "shm", "cma", "one 1 64 mpi-persistent 1 2", "one 1 64 none 1 1"),
    *rows("openmpi", "shm", "nocma", "one 1 64 mpi-persistent 1 1", "one 1 64 none 1 1"),
]
for row in found:  # so the price chose libfabric for the mebibyte, and MPI for the others
    if (row["line"], row["bytes"]) == ("carriers", MI) and row["method"].endswith("=mpi"):
        row["predicted"] = 30
sixteen = [dict(row, machine="some-16-cores") for row in [
    *rows("openmpi", "shm", "nocma", f"sweep-10 24 {MI} none 24 150",
          f"sweep-10 24 {MI} ploggp 3 100"),
    *rows("openmpi", "mpi", "funneled", "ready-mark-1 64 512 none 1 0.05",
          "ready-mark-32 64 512 none 1 0.3"),
]]
said = judgement(study, found + sixteen, found)
expected = {
    ("MPI's own calls / ploggp, 32 parts, 1Mi", "mpich shm installed"): "missed",
    ("MPI's own calls / ploggp, 32 parts, 64Ki", "mpich shm best"): "met",
    ("none / ploggp, 32 parts, up to 128Ki", "openmpi tcp"): "met",
    ("none / ploggp, 128 parts, up to 128Ki", "openmpi tcp"): "missed",
    ("one part / mpi-persistent, 64 to 64", "openmpi shm"): "missed",
    ("ploggp / best by search, all at once, mean of 1", "openmpi tcp"): "missed",
    ("ploggp / best by search, all at once, worst", "openmpi tcp"): "met",
    ("ploggp / best by search, one late, mean of 1", "openmpi tcp"): "met",
    ("adaptive / best by search, one late, worst", "openmpi tcp"): "missed",
    ("ploggp / predicted, 32 and 128 parts, up to 128Ki", "openmpi tcp"): "missed",
    ("perceived bandwidth of timer / limit, 256Ki to 4Mi", "openmpi tcp"): "met",
    ("perceived bandwidth of adaptive / limit, 256Ki to 4Mi", "openmpi tcp"): "missed",
    ("perceived bandwidth, delta of 10 to 100 us: spread", "openmpi tcp"): "met",
    ("libfabric / MPI, same groups, 32 parts, 4Ki to 4Mi, mean of 3", "openmpi ofi"): "missed",
    ("libfabric / MPI, same groups, 32 parts, 64Ki, mean of 2", "openmpi ofi"): "missed",
    ("chosen by price / MPI, same groups, worst of 2", "openmpi ofi"): "missed",
    ("ploggp / best by search, all at once, mean of 1", "openmpi ofi"): "missed",
    ("perceived bandwidth of adaptive / limit, 256Ki to 4Mi", "openmpi ofi"): "met",
    ("sweep, none / ploggp, at its best", "openmpi shm nocma"): "met",
    ("sweep, none / ploggp, never below", "openmpi shm nocma"): "met",
    ("a mark, ns", "openmpi mpi funneled"): "met",
    ("a mark, 32 threads / 1", "openmpi mpi funneled"): "missed",
}
price = said["chosen by price / MPI, same groups, worst of 2", "openmpi ofi"]
assert price[1] == "1.500", price
assert expected.items() <= {key: line[-1] for key, line in said.items()}.items(), said
assert "| none / ploggp, 32 parts, up to 128Ki | openmpi tcp | >= 3 | 3.00 to 3.00 | met |" in (
    said.page), said.page
for line in (
        "| 64Ki | 0.50 (5.000) | 0.80 (8.000) | 0.63 |",  # carriers
        "| 1Mi | 1.50 (60.00) | - | 1.50 |",
        "| parts | bytes | MPI | 1 | 8 |",  # endpoints
        "| 16 | 1Mi | 90.00 | 60.00 (1.50) | 45.00 (2.00) |",
        "| bytes | MPI | 2 | 16 |",  # transport
        "| 1Mi | 100.0 | 50.00 (2.00) | 80.00 (1.25) |",
        "| 1Ki | 1 | 10.00 | 2 | 12.00 | 1.20 |",  # the model beside the search
        "![Speedup by endpoints, 16 parts, ofi](../pictures/partitioned-ofi-endpoints-16.svg)",
        "![Speedup by messages over two endpoints, 32 parts, ofi]"
        "(../pictures/partitioned-ofi-transport.svg)"):
    assert line in said.page, (line, said.page)

# Each picture that the page names is drawn, where there is gnuplot.
studies.PICTURES = sys.argv[1] + "/pictures"
study.draw(found)
if studies.has_gnuplot():
    import os
    drawn = set(os.listdir(studies.PICTURES))
    for name in ("ofi", "tcp", "ofi-endpoints-16", "ofi-transport"):
        assert f"partitioned-{name}.svg" in drawn, drawn
END

echo 'every method of channels is right, and its figures are judged'
