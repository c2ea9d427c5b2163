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
    """Ends all processes of a session that this program began, by their ids. Ranks may be in groups
    of their own; a launcher that is asked to end takes its files away."""
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
            number = 0  # only once
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
        self.test, self.output, self.since, self.limit = test, output, time.monotonic(), limit
        with open(output, "w") as out:
            self.process = subprocess.Popen(
                test.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, "WATCHDOG": str(int(limit)), **test.environment},
                cwd=test.directory, start_new_session=True)

    def poll(self):
        """None while it runs; then 'passed', 'skipped', 'failed' or 'hung'."""
        self.seconds = time.monotonic() - self.since
        code = self.process.poll()
        if code is None:
            if self.seconds < self.limit:
                return None
            self.end()
            return "hung"
        end_session(self.process.pid)  # what outlives its launcher
        with open(self.output, errors="replace") as f:
            return self.test.verdict(code, f.read())

    def end(self):
        end_session(self.process.pid)
        self.process.wait()


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
        self.usable = bool(self.command) and not properties.get("DISABLED") and not (
            properties.get("FIXTURES_REQUIRED") or properties.get("FIXTURES_SETUP"))

    def verdict(self, code, output):
        if code == self.skip:
            return "skipped"
        if self.must_print:
            return "passed" if any(re.search(p, output) for p in self.must_print) else "failed"
        return "passed" if code == 0 else "failed"

    def targets(self, tree):
        """What has to be built for it: programs that its command or its script names."""
        words = list(self.command)
        for word in self.command[:1]:
            if word.endswith(".sh") and os.path.exists(word):
                with open(word) as f:
                    text = f.read()
                words += ["bin/grove"] + re.findall(r"(?:tests|examples)/\w+(?:/\w+)?", text)
        found = set()
        for word in words:
            word = word[len(tree.build) + 1:] if word.startswith(tree.build + "/") else word
            if word == "bin/grove":
                found.add("grove_command")
            elif word.startswith("tests/"):
                found.add("test_" + word[6:].replace("/", "_"))
            elif word.startswith("examples/"):
                found.add("example_" + word[9:])
        return found & tree.targets or {"all"}


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
        """Makes the copy what the project is. What differs gets today's date: it is built anew."""
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
        """Builds; returns what the compiler said if that fails."""
        done = subprocess.run(["cmake", "--build", self.build, "-j", str(self.jobs), "--target",
                               *sorted(targets)], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return None if done.returncode == 0 else done.stdout

    def tests(self):
        done = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken("ctest does not know its tests:\n" + done.stderr)
        tests = [Test(t, self.build) for t in json.loads(done.stdout)["tests"]]
        return [t for t in tests if t.usable]

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
        """Has the last build given the objects that there were before?"""
        return all(os.path.exists(p) and filecmp.cmp(p, self.objects[p][1], shallow=False)
                   for p in self.changed_objects())

    def restore(self):
        """Objects first: whoever is interrupted here leaves a source that copy() will mend. They
        keep the date that the build knows them by; libraries go, for they hold the change."""
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
        """Runs the tests in this order, as many at once as there are processors for, and calls
        ended(test, verdict, seconds, output) after each. Stops when it returns true, or when no
        seconds are left. Returns what the compiler said if a test does not build."""
        waiting, running, built = list(tests), [], set()
        try:
            while (waiting and seconds_left() > 0) or running:
                while waiting and self.fits(waiting[0], running) and seconds_left() > 0:
                    ahead = set().union(*(t.targets(self) for t in waiting[:4]))
                    if not waiting[0].targets(self) <= built:
                        words = self.make(ahead)
                        if words:
                            return words
                        built |= ahead
                    test = waiting.pop(0)
                    os.makedirs(self.output, exist_ok=True)
                    output = os.path.join(self.output, test.name.replace("/", "-"))
                    running.append(Run(test, output, limit(test)))
                for run in list(running):
                    verdict = run.poll()
                    if verdict is None:
                        continue
                    running.remove(run)
                    if ended(run.test, verdict, run.seconds, run.output):
                        return None
                time.sleep(0.01)
        finally:
            for run in running:
                run.end()
        return None

    def fits(self, test, running):
        if not running:
            return True
        if test.alone or any(r.test.alone for r in running):
            return False
        busy = sum(min(r.test.processors, self.jobs) for r in running)
        return busy + min(test.processors, self.jobs) <= self.jobs
