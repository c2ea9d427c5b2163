# What tests of grove_bench_parts have in common; they source it after common.bash.
# shellcheck shell=bash

# bench RANKS ARGUMENT...: runs the driver on $work/grid, as little as can be.
bench() {
  local ranks=$1
  shift
  run tools/launch "$ranks" "$BUILD/bin/grove_bench_parts" --grid "$work/grid" --samples 1 "$@"
}

# lines N REGEX: so many lines of standard output match.
lines() {
  local n
  n=$(grep -cE "$2" "$work/out" || true)
  ((n == $1)) || fail "$n lines match '$2', not $1"
}

# judge: what standard input, Python, asserts of judgement(study, rows, part): rows are saved, first
# a part of them, and read again. It has the lines of targets by what they say and where, and `page`.
judge() {
  {
    cat <<'END_OF_HEAD'
import sys
import study as studies

class judgement(dict):
    def __init__(self, study, found, part):
        study.figures.path = sys.argv[1] + "/figures"
        for rows in (part, found):
            study.figures.save(rows, ("2026-01-01", "-", "by hand"))
        again = study.figures.load()
        assert again == found, again
        studies.RESULTS = sys.argv[1]
        with open(studies.page_path(study.name), "w", encoding="utf-8") as file:
            file.write(f"by hand\n{studies.BELOW}old\n")
        studies.write_page(study.name, study.page(again))
        with open(studies.page_path(study.name), encoding="utf-8") as file:
            self.page = file.read()
        assert self.page.startswith(f"by hand\n{studies.BELOW}\n## "), self.page
        super().__init__({(line[0], line[1]): line[2:] for _, some in study.by_machine(again)
                          for line in study.targets(some)})

END_OF_HEAD
    cat
  } | PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 - "$work" 2>"$work/err" ||
    fail 'the study is not as it should be'
}
