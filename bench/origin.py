"""Where figures come from, and whether what they measure has changed since.

A file of figures has a comment line for each run that it has rows of:

    # made RUN | date | commit | command

RUN is how the rows of that run begin: machine, MPI and ranks, for instance. A + after the commit
means that there were changes that were not committed. Some files also have the conditions of a run,
and what did not run, in the driver's words:

    # note RUN | text

A page whose study has no file of figures says the same at its beginning (heading).
"""

import os
import re
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK, NOTE = "# made ", "# note "
UNKNOWN = ("-", "-", "-")

# What every figure depends on, besides the file of its cases.
MEASURED = ["include", "src", "bench/kit", "bench/driver", "bench/methods", "bench/peers"]


def git(*words):
    """Output of git; nothing where there is no git, or no repository."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True,
                              check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def here(command):
    """Date, commit and command of this run. COMMIT names the commit of a copy of the tree."""
    date, named = time.strftime("%Y-%m-%d"), os.environ.get("COMMIT")
    if named:
        return date, named, command
    commit = git("rev-parse", "--short=10", "HEAD") or "-"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *MEASURED)
    return date, commit + ("+" if changed else ""), command


def lines_of(path):
    """No lines where there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.readlines()


def rows(path):
    """The words of each row of a file of figures."""
    return [line.split() for line in lines_of(path) if line.strip() and not line.startswith("#")]


def remarks(path, mark):
    """The comment lines that begin like this: a run, and a text about it."""
    return [tuple(word.strip() for word in line[len(mark):].split("|"))
            for line in lines_of(path) if line.startswith(mark)]


def load(path):
    """How each run was made."""
    return {run: tuple(how) for run, *how in remarks(path, MARK)}


def notes(path):
    return remarks(path, NOTE)


def note(pair):
    return f"{NOTE}{' | '.join(pair)}\n"


def marks(path, new, kept, made):
    """The lines of a file that is about to be written: runs `new` were just made like this, those
    of `kept` are as the file says."""
    before = load(path)
    runs = {run: before.get(run, UNKNOWN) for run in kept}
    runs.update((run, made) for run in new)
    return "".join(f"{MARK}{' | '.join([run, *how])}\n" for run, how in sorted(runs.items()))


def heading(made, machine):
    date, commit, command = made
    return f"`{command}`, {date}, at {commit}, on {machine}."


# ---- their age ----

def changes_since(commit, paths):
    """How many commits since then, and whether uncommitted changes, alter these paths; None if git
    does not know the commit."""
    commit = commit.rstrip("+")
    if commit == "-" or not git("cat-file", "-t", commit):
        return None
    count = int(git("rev-list", "--count", f"{commit}..HEAD", "--", *paths) or 0)
    return count + bool(git("status", "--porcelain", "--untracked-files=no", "--", *paths))


def words_for(changes):
    if changes is None:
        return "of unknown age"
    return "up to date" if changes == 0 else f"{changes} change{'s' * (changes > 1)} since"


def of_file(path, cases, paths):
    """Lines about the runs of a file, one for those made together, and whether all is well. `cases`
    must have rows."""
    together, made, found = {}, load(path), rows(path)
    for run, how in (made or {"all": UNKNOWN}).items():
        mine = [row for row in found if not made or row[:len(run.split())] == run.split()]
        missing = tuple(case for case in cases if not any(case in row for row in mine))
        together.setdefault((how, missing), []).append(run)
    lines, good = [], True
    for ((date, commit, command), missing), runs in together.items():
        changes = changes_since(commit, paths)
        good = good and changes == 0 and not missing
        lines.append(f"  {words_for(changes)}: {date}, {commit}, {command}")
        lines += [f"    {run}" for run in runs]
        if missing:
            lines.append(f"    no figures there: {', '.join(missing)}")
    return lines, good


def of_page(path, mark, paths):
    """The same about a page: after the mark it begins with its heading."""
    text = "".join(lines_of(path)).partition(mark)[2].strip()
    found = re.match(r"`(.*)`, (\S+), at (\S+), on (\S+)\.$", text, re.MULTILINE)
    if not text:
        return ["  there is no such page"], False
    if not found:
        return [f"  {words_for(None)}"], False
    command, date, commit, machine = found.groups()
    changes = changes_since(commit, paths)
    return [f"  {words_for(changes)}: {date}, {commit}, {command}, on {machine}"], changes == 0
