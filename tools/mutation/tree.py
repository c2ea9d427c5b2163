"""A copy of the project that is built, changed in one file at a time, and tested.

After a change the objects that it touched are put back as they were, so that the next build
compiles only the next change.
"""

import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time


class Broken(Exception):
    """The project as it is does not build, or its tests do not pass."""


# ---- processes ----


def end_session(leader):
    """Ends all processes of a session that this program began, by their ids. Ranks may be in their
    own groups. A launcher that is asked to end removes its files."""
    for number, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + patience
        while True:
            left = members(leader)
            for process in left:
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass
            if not left or time.monotonic() > until:
                break
            number = 0  # only the first time
            time.sleep(0.05)


def members(session):
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(name))
    return found


class Run:
    """A test that is running."""

    def __init__(self, test, output, limit):
        self.test, self.output, self.limit, self.over = test, output, limit(test), False
        self.since = time.monotonic()
        environment = {**os.environ, "WATCHDOG": str(int(self.limit)), **test.environment}
        with open(output, "w") as out:
            self.process = subprocess.Popen(
                test.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=environment, cwd=test.directory, start_new_session=True)

    def news(self):
        """News since the last call, as (test, verdict, seconds); the verdict is 'passed',
        'skipped', 'failed' or 'hung'. Then sets `over` if there will be no more."""
        code = self.process.poll()
        seconds = time.monotonic() - self.since
        if code is None and seconds < self.limit:
            return []
        self.end()  # also ends what outlives its launcher
        with open(self.output, errors="replace") as f:
            verdict = "hung" if code is None else self.test.verdict(code, f.read())
        return [(self.test, verdict, seconds)]

    def end(self):
        end_session(self.process.pid)
        self.process.wait()
        self.over = True


class BatchRun(Run):
    """A launch of many tests. It keeps one file of the tests that are over, and one of those of all
    its launches, because it makes a new one after a failure (tools/suite)."""

    def __init__(self, batch, output, limit):
        self.files = [batch.cases + ".part", batch.cases + ".report"]
        for path in self.files:
            if os.path.exists(path):
                os.remove(path)
        self.left = {t.name: t for t in batch.tests}
        self.last_sign, self.signs = time.monotonic(), ""
        super().__init__(batch, output, lambda b: max(limit(t) for t in b.tests))

    def news(self):
        code = self.process.poll()
        text = ""
        for path in self.files:
            if os.path.exists(path):
                with open(path) as f:
                    text += f.read()
        if text != self.signs:
            self.last_sign, self.signs = time.monotonic(), text
        found = []
        for verdict, name, seconds in re.findall(
                r"^(passed|failed|skipped) (\S+) ([\d.]+)$", text, re.MULTILINE):
            if name in self.left:
                found.append((self.left.pop(name), verdict, float(seconds)))
        hung = time.monotonic() - self.last_sign > self.limit
        if code is not None or hung:
            self.end()
            if self.left and (hung or code not in (0, self.test.skip)):
                name = (re.findall(r"^begin (\S+)$", text, re.MULTILINE) or [""])[-1]
                test = self.left.get(name) or next(iter(self.left.values()))
                found.append((test, "hung" if hung else "failed", self.limit))
            else:
                found += [(test, "passed", 1.0) for test in self.left.values()]
        return found


# ---- tests ----


class Test:
    """What ctest knows of a test."""

    def __init__(self, record, build):
        properties = {p["name"]: p["value"] for p in record.get("properties", [])}
        self.name, self.command = record["name"], record.get("command", [])
        self.directory = properties.get("WORKING_DIRECTORY", build)
        self.environment = dict(
            v.split("=", 1) for v in properties.get("ENVIRONMENT", []) if "=" in v)
        self.processors = properties.get("PROCESSORS", 1)
        self.skip = properties.get("SKIP_RETURN_CODE", 77)
        self.must_print = properties.get("PASS_REGULAR_EXPRESSION", [])
        self.alone = bool(properties.get("RESOURCE_LOCK") or properties.get("RUN_SERIAL"))
        self.labels = properties.get("LABELS", [])
        self.launch = None  # the launch that runs it with others
        self.usable = bool(self.command) and not properties.get("DISABLED") and not (
            properties.get("FIXTURES_REQUIRED") or properties.get("FIXTURES_SETUP"))

    def verdict(self, code, output):
        if code == self.skip:
            return "skipped"
        if self.must_print:
            return "passed" if any(re.search(p, output) for p in self.must_print) else "failed"
        return "passed" if code == 0 else "failed"

    def targets(self, tree):
        """The programs to build for it: those that its command or its script names."""
        words = list(self.command)
        if words[0].endswith(".sh") and os.path.exists(words[0]):
            with open(words[0]) as f:
                text = f.read()
            words += ["bin/grove"] + re.findall(r"(?:tests|examples)/\w+(?:/\w+)?", text)
        found = set()
        for word in words:
            word = word[len(tree.build) + 1:] if word.startswith(tree.build + "/") else word
            if word == "bin/grove":
                found.add("grove_command")
            elif word.startswith("tests/"):
                found |= {"test_" + word[6:].replace("/", "_"), word[6:]}
            elif word.startswith("examples/"):
                found.add("example_" + word[9:])
        return found & tree.targets or ({"suites"} & tree.targets or {"all"})

    def start(self, output, limit):
        return Run(self, output, limit)


class Batch(Test):
    """Tests that one launch runs one after the other."""

    def __init__(self, launch, tests):
        self.__dict__.update(launch.__dict__)
        self.tests, self.cases = tests, launch.command[1]
        names = "|".join(t.name for t in tests)
        self.environment = {**launch.environment, "CASES": f"^({names})$"}
        self.alone = False

    def start(self, output, limit):
        return BatchRun(self, output, limit)


def batches(tests, first):
    """The same tests: the first ones singly, the others together where possible."""
    out, found = list(tests[:first]), {}
    for test in tests[first:]:
        if test.launch:
            found.setdefault(test.launch.name, []).append(test)
            if len(found[test.launch.name]) == 1:
                out.append(test.launch)
        else:
            out.append(test)
    return [Batch(t, found[t.name]) if t.name in found else t for t in out]


# ---- the copy ----


class Tree:
    def __init__(self, root, place, jobs):
        self.root, self.place, self.jobs = root, place, jobs
        self.source, self.build = os.path.join(place, "tree"), os.path.join(place, "build")
        self.backup, self.output = os.path.join(place, "objects"), os.path.join(place, "output")
        self.objects, self.targets, self.lost = {}, set(), []

    def files(self):
        git = subprocess.run(["git", "-C", self.root, "ls-files", "-co", "--exclude-standard"],
                             capture_output=True, text=True)
        if git.returncode == 0:
            names = git.stdout.splitlines()
            return [f for f in names if os.path.isfile(os.path.join(self.root, f))]
        return sorted(os.path.relpath(os.path.join(folder, f), self.root)
                      for folder, _, names in os.walk(self.root) for f in names
                      if not os.path.relpath(folder, self.root).startswith("build"))

    def copy(self):
        """Updates the copy. Changed files get today's date, so that they are rebuilt."""
        files = self.files()
        self.digest = hashlib.sha1()
        for name in files:
            here, there = os.path.join(self.root, name), os.path.join(self.source, name)
            with open(here, "rb") as f:
                content = f.read()
            if not name.startswith(("docs/", "bench/")):
                self.digest.update(name.encode() + b"\0" + content)
            if not (os.path.exists(there) and filecmp.cmp(here, there, shallow=False)):
                os.makedirs(os.path.dirname(there), exist_ok=True)
                with open(there, "wb") as f:
                    f.write(content)
                shutil.copymode(here, there)
        known = set(files)
        for folder, _, names in os.walk(self.source):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.source) not in known:
                    os.remove(path)
        self.digest = self.digest.hexdigest()

    def configure(self):
        """With -O2 and without debug information: equal objects mean equal behaviour."""
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        if os.path.exists(os.path.join(self.build, "CMakeCache.txt")):
            generator = []
        command = [os.path.join(self.source, "tools", "build"), self.build, *generator,
                   "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O2",
                   "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON"]
        done = subprocess.run(command, capture_output=True, text=True,
                              env={**os.environ, "TARGET": "grove_static"})
        if done.returncode != 0:
            raise Broken("does not build:\n" + done.stdout + done.stderr)
        text = subprocess.run(["cmake", "--build", self.build, "--target", "help"],
                              capture_output=True, text=True).stdout
        self.targets = set(re.findall(r"^(?:\.\.\. )?(\w+)", text, re.MULTILINE))

    def make(self, targets):
        """Builds; on failure returns the compiler's output."""
        done = subprocess.run(["cmake", "--build", self.build, "-j", str(self.jobs), "--target",
                               *sorted(targets)], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return None if done.returncode == 0 else done.stdout

    def tests(self):
        """All tests but the long ones. Tests that run together have a launch."""
        done = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken("ctest does not know its tests:\n" + done.stderr)
        tests = [Test(t, self.build) for t in json.loads(done.stdout)["tests"]]
        tests = {t.name: t for t in tests if t.usable and "more" not in t.labels}
        for launch in [t for t in tests.values() if "launch" in t.labels]:
            del tests[launch.name]
            with open(launch.command[1]) as f:
                names = [line.split()[0] for line in f if line.strip()]
            for name in names:
                if name in tests:
                    tests[name].launch = launch
        return list(tests.values())

    def remember(self):
        """Keeps all objects as they are now."""
        shutil.rmtree(self.backup, ignore_errors=True)
        for path in self.all_objects():
            there = os.path.join(self.backup, os.path.relpath(path, self.build))
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copyfile(path, there)
            self.objects[path] = (os.stat(path).st_mtime_ns, there)

    def all_objects(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.build)
                for name in names if name.endswith(".o")]

    def changed_objects(self):
        return [path for path, (when, _) in self.objects.items()
                if not os.path.exists(path) or os.stat(path).st_mtime_ns != when]

    def mutate(self, mutant):
        path = os.path.join(self.source, mutant.file)
        self.lost = [path, os.stat(path).st_mtime_ns]
        with open(path) as f:
            source = f.read()
        self.lost.append(source)
        with open(path, "w") as f:
            f.write(mutant.apply(source))

    def is_same(self):
        """Whether the last build gave the same objects as before."""
        return all(os.path.exists(p) and filecmp.cmp(p, self.objects[p][1], shallow=False)
                   for p in self.changed_objects())

    def restore(self):
        """Objects first: an interruption here leaves a source that copy() will restore. They keep
        the date that the build knows. Libraries are removed, because they hold the change."""
        if not self.lost:
            return
        library = os.path.join(self.build, "lib")
        for name in os.listdir(library) if os.path.isdir(library) else []:
            os.remove(os.path.join(library, name))
        for path in self.changed_objects():
            if not os.path.exists(path):  # it did not compile
                shutil.copyfile(self.objects[path][1], path)
            when = os.stat(path).st_mtime_ns
            shutil.copyfile(self.objects[path][1], path)
            os.utime(path, ns=(when, when))
            self.objects[path] = (when, self.objects[path][1])
        path, when, source = self.lost
        with open(path, "w") as f:
            f.write(source)
        os.utime(path, ns=(when, when))
        self.lost = []

    # ---- running ----

    def run(self, tests, limit, ended, seconds_left=lambda: 1):
        """Runs the tests in this order, as many at once as there are processors, and calls
        ended(test, verdict, seconds, output) after each. Stops when it returns true, or when no
        seconds are left. Returns the compiler's output if a test does not build."""
        waiting, running, built = list(tests), [], set()
        os.makedirs(self.output, exist_ok=True)
        try:
            while (waiting and seconds_left() > 0) or running:
                while waiting and self.fits(waiting[0], running) and seconds_left() > 0:
                    if not waiting[0].targets(self) <= built:
                        ahead = set().union(*(t.targets(self) for t in waiting[:4]))
                        words = self.make(ahead)
                        if words:
                            return words
                        built |= ahead
                    test = waiting.pop(0)
                    output = os.path.join(self.output, test.name.replace("/", "-"))
                    running.append(test.start(output, limit))
                for run in running:
                    for test, verdict, seconds in run.news():
                        if ended(test, verdict, seconds, run.output):
                            return None
                running = [r for r in running if not r.over]
                time.sleep(0.01)
        finally:
            for run in running:
                if not run.over:
                    run.end()
        return None

    def fits(self, test, running):
        if not running:
            return True
        if test.alone or any(r.test.alone for r in running):
            return False
        busy = sum(min(r.test.processors, self.jobs) for r in running)
        return busy + min(test.processors, self.jobs) <= self.jobs
