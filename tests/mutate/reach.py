"""The test programs that execute each line.

Every test program runs once in a build that counts executed lines. GCOV_PREFIX gives each program a
folder of its own for its counters; the programs that it starts inherit it, so that what attnd
executes for a test of the server counts for that test. A program that a signal ends without warning
leaves no counters. What is known of a test is kept until the test program or one of the programs
that it started is another; a run that failed is repeated the next time.
"""
import hashlib
import json
import os
import struct
import subprocess
import time

import tree as trees

FOLDERS = ("engine/", "learn/", "tools/", "server/", "wire/", "config/", "loadtest/", "deploy/")
UNITS = "tests/unit/"
LIMIT_SECONDS = 900
SAVE_SECONDS = 20  # the map has some ten million bytes


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def is_executed(path):
    """True if a counter of a .gcda is not zero. A function whose counters are all zero has a length below zero
    (gcov-io.h of GCC 12: a header of 16 bytes, then records of a tag, a length and so many bytes)."""
    with open(path, "rb") as file:
        data = file.read()
    at = 16
    while at + 8 <= len(data):
        tag, length = struct.unpack_from("<Ii", data, at)
        if tag == 0x01a10000 and length > 0:
            return True
        at += 8 + max(length, 0)
    return False


def program_of(name):
    """The program that the object of a main() becomes; None: it has none."""
    if name.startswith("tools/") and name.count("/") == 1:
        return "attnd-" + name[len("tools/"):]
    return {"server/main": "attnd", "loadtest/main": "attnd-load",
            "deploy/healthcheck": "attnd-healthcheck"}.get(name)


class Reach:
    """tests: name -> {seconds, programs, digests, hit: {file: [lines]}, entered: [files]};
    shapes: file -> {lines: [executable ones], functions: [[first, last], ...]}."""

    def __init__(self, tree, path, say):
        self.tree, self.path, self.say = tree, path, say
        self.tests, self.shapes = {}, {}
        if os.path.exists(path):
            with open(path) as file:
                known = json.load(file)
            self.tests, self.shapes = known["tests"], known["shapes"]

    def save(self):
        with open(self.path + ".new", "w") as file:
            json.dump({"tests": self.tests, "shapes": self.shapes}, file)
        os.replace(self.path + ".new", self.path)

    def measure(self, names):
        self.say("building with counters of lines")
        built = [trees.COUNTED + "/tests/" + name for name in names]
        if not self.tree.make(trees.COUNTED, ["all"] + built, jobs=2):
            raise SystemExit("the build with counters failed:\n" + self.tree.said)
        self.tests = {name: known for name, known in self.tests.items() if name in names}
        saved = time.monotonic()
        for name in names:
            if not self.is_known(name):
                self.measure_one(name)
                if time.monotonic() - saved > SAVE_SECONDS:
                    self.save()
                    saved = time.monotonic()
        self.save()

    def binary(self, program):
        return self.tree.file(trees.COUNTED, program)

    def is_known(self, name):
        known = self.tests.get(name)
        return known is not None and all(
            os.path.exists(self.binary(program)) and digest(self.binary(program)) == was
            for program, was in known["digests"].items())

    def measure_one(self, name):
        folder = self.tree.file(trees.COUNTED, "counters", name)
        subprocess.run(["rm", "-rf", folder], check=True)
        os.makedirs(folder)
        objects = self.tree.file(trees.COUNTED, "obj")
        result, seconds, last = self.tree.run(
            trees.COUNTED, name, LIMIT_SECONDS,
            {"GCOV_PREFIX": folder, "GCOV_PREFIX_STRIP": str(objects.count("/"))})
        self.say("%-40s %6.1f s%s" % (name, seconds, "" if result == "ok" else "  %s: %s" % (result, last)))
        found = {"seconds": seconds, "hit": {}, "entered": [], "programs": []}
        self.read(found, folder, self.counters_in(folder))
        found["digests"] = {program: digest(self.binary(program)) if result == "ok" else ""
                            for program in ["tests/" + name] + found["programs"]}
        self.tests[name] = found
        subprocess.run(["rm", "-rf", folder], check=True)

    def counters_in(self, folder):
        """The .gcda files of product code and of tests that ran, each with its .gcno beside it."""
        found = []
        for at, _, files in os.walk(folder):
            for file in files:
                name = os.path.relpath(os.path.join(at, file), folder)[:-len(".gcda")]
                if name.startswith(FOLDERS + (UNITS,)) and is_executed(os.path.join(at, file)):
                    os.symlink(self.tree.file(trees.COUNTED, "obj", name + ".gcno"),
                               os.path.join(folder, name + ".gcno"))
                    found.append(name)
        return sorted(found)

    def read(self, found, folder, names):
        found["programs"] += filter(None, map(program_of, names))
        done = subprocess.run(["gcov", "--json-format", "--stdout", *(name + ".gcda" for name in names)],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in done.stdout.splitlines():
            counters = json.loads(line)
            name = counters["data_file"].removesuffix(".gcda")
            for file in counters["files"]:
                if name.startswith(UNITS):
                    self.take_included(found, file)
                elif file["file"] == name + ".c":
                    self.take(found, file)
                elif any(function["execution_count"] for function in file["functions"]):
                    found["hit"].setdefault(name + ".c", [])  # a header's code, for this file

    def take(self, found, file):
        lines = sorted({line["line_number"] for line in file["lines"]})
        ranges = sorted({(f["start_line"], f["end_line"]) for f in file["functions"]})
        self.shapes[file["file"]] = {"lines": lines, "functions": ranges}
        hit = sorted({line["line_number"] for line in file["lines"] if line["count"] != 0})
        if hit:
            found["hit"][file["file"]] = hit

    def take_included(self, found, file):
        """A program's source that a test includes, to call what is static in it."""
        source = os.path.normpath(file["file"])
        lines = {line["line_number"] for line in file["lines"] if line["count"] != 0}
        if source.startswith(FOLDERS) and source.endswith(".c") and lines:
            found["hit"][source] = sorted(lines | set(found["hit"].get(source, [])))

    def tests_of(self, file, line):
        """The tests that execute the line, quickest first, but first that of the file itself. A line
        without code of its own counts as the last one above it in its function; one outside of
        functions is a table's and belongs to every test that executes anything in the file."""
        shape = self.shapes.get(file, {"lines": [], "functions": []})
        around = [f for f in shape["functions"] if f[0] <= line <= f[1]]
        if around and line not in shape["lines"]:
            first = max(f[0] for f in around)
            above = [at for at in shape["lines"] if first <= at < line]
            line = above[-1] if above else first
        named = [name for name, test in self.tests.items() if file in test["hit"]
                 and (not around or line in test["hit"][file])]
        own = "%s/test_%s" % os.path.split(os.path.splitext(file)[0])
        return sorted(named, key=lambda name: (name != own, self.tests[name]["seconds"]))
