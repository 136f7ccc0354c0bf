"""Measures how much the tests see: random changes of single lines of product code, each tried by the test
programs that execute its line.

    make mutate MUTATE_SEED=1 MUTATE_COUNT=200 MUTATE_SECONDS=3600 [MUTATE_FILES="learn/eval/*/*.c"]
        [MUTATE_SINCE=COMMIT]   (only lines that came or changed after it)
        [MUTATE_MEASURE="engine/base/*"]   (only these tests: a quick look, and no rate)
    python3 tests/mutate/mutate.py --again FILE     (changes as FILE lists them: a list of survivors)
    python3 tests/mutate/mutate.py --survey --files "learn/eval/*/*.c"      (where tests are wanting)
    python3 tests/mutate/mutate.py --again FILE --tests "learn/eval/report/test_report learn/eval/report/test_html"

Judges HEAD; what is not committed is not seen. Lines are drawn evenly among those that allow a
change (changes.py says which), then a kind of change, then a change. A change that does not compile
is drawn anew, as is one that leaves the object file as it was. The tests that reach a line are known
from one run of each (reach.py): its own test first, then the quickest, until one fails. A failure
has to repeat; a test that takes three times its usual time and ten seconds more has failed as well. What
the tests pass is tried once more under the sanitizers, as CI does, by the first sixteen of them:
there a leak or a step past the end fails. A line that no test reaches survives at once.

A survey is no rate: it changes each line of the files once and tries only the nearest tests, without
the sanitizers, in about a second each. Nor is a run with --tests.

Everything lies in --work: two trees, what is known of the tests, and the results by commit, seed and
files; a run that was interrupted goes on where it stopped. equivalent.txt names the changes that
change nothing, each with its reason; they leave the count.
"""
import argparse
import collections
import fnmatch
import json
import math
import os
import random
import re
import subprocess
import sys
import threading
import time

import changes
import reach
import tree as trees

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
SANITIZED_TESTS_MAX = 16
SURVEY_TESTS_MAX, SURVEY_SECONDS_MAX = 6, 4
COUNTED_RESULTS = ("killed", "survived")

class Mutant(collections.namedtuple("Mutant", "place change")):
    __slots__ = ()

    @property
    def file(self):
        return self.place.file

    @property
    def line(self):
        return self.change.line

    @property
    def name(self):
        return "%s | %s" % (self.place, self.change.what)


def say(text):
    print(text, flush=True)


def git(*arguments):
    return subprocess.run(["git", "-C", REPOSITORY, *arguments], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def seconds_allowed(test, variant):
    usual = test["seconds"]
    return 3 * usual + 10 if variant == trees.PLAIN else 8 * usual + 30


class Equivalent:
    """FILE | FUNCTION | LINE | CHANGE | REASON, one a line; # begins a comment."""

    def __init__(self, path):
        self.named = set()
        with open(path) as file:
            for line in file:
                if not line.strip() or line.startswith("#"):
                    continue
                name, _, reason = line.rstrip("\n").rpartition(" | ")
                if name.count(" | ") < 3 or not reason.strip():
                    raise SystemExit("equivalent.txt: no reason: " + line)
                self.named.add(name)

    def has(self, mutant):
        return mutant.name in self.named


class Source:
    """The product code of a tree and what can be changed in it."""

    def __init__(self, tree, patterns, since=""):
        self.tree, self.texts, self.lines = tree, {}, []
        for folder in reach.FOLDERS:
            for at, _, names in os.walk(tree.file(folder.rstrip("/"))):
                for name in names:
                    file = os.path.relpath(os.path.join(at, name), tree.path)
                    if name.endswith(".c") and file not in changes.LEFT_OUT and self.wanted(file, patterns):
                        self.read(file)
        if since:
            new = self.lines_since(since)
            self.lines = [entry for entry in self.lines if (entry[0].file, entry[1][0].line) in new]
        self.lines.sort(key=lambda entry: (entry[0].file, entry[1][0].line))

    def lines_since(self, commit):
        """(file, line) of each line that came or changed after the commit; a file that moved is no news."""
        found, file = set(), None
        for line in git("diff", "-U0", "-M", "--no-color", commit, "HEAD", "--", *reach.FOLDERS).splitlines():
            if line.startswith("+++ "):
                file = line.removeprefix("+++ b/")
            elif line.startswith("@@ "):
                start, _, count = line.split("+")[1].split(" ")[0].partition(",")
                found.update((file, at) for at in range(int(start), int(start) + int(count or 1)))
        return found

    def wanted(self, file, patterns):
        return not patterns or any(fnmatch.fnmatch(file, pattern) for pattern in patterns)

    def read(self, file):
        with open(self.tree.file(file)) as opened:
            self.texts[file] = opened.read()
        self.lines += changes.changes_of(file, self.texts[file])

    def draw(self, dice):
        place, possible = dice.choice(self.lines)
        kind = dice.choice(sorted({change.kind for change in possible}))
        return Mutant(place, dice.choice([change for change in possible if change.kind == kind]))

    def find(self, name):
        for place, possible in self.lines:
            for change in possible if name.startswith(str(place)) else []:
                if Mutant(place, change).name == name:
                    return Mutant(place, change)
        return None


class Named:
    """Instead of what is known of the tests: those that were named, for every line."""

    def __init__(self, names):
        starts = re.compile("^(tools|deploy|docs)/|program|contract")
        self.tests = {name: {"seconds": 20, "programs": ["all"] if starts.search(name) else []}
                      for name in names}

    def tests_of(self, _file, _line):
        return list(self.tests)


class Trial:
    """Tries changes in one tree, one at a time."""

    def __init__(self, tree, reached, source, trusted, is_quick=False):
        self.tree, self.reached, self.source, self.trusted = tree, reached, source, trusted
        self.is_quick, self.objects, self.is_sanitized = is_quick, {}, False

    def object_of(self, file):
        return os.path.join(trees.PLAIN, "obj", file[:-2] + ".o")

    def object_bytes(self, file):
        with open(self.tree.file(self.object_of(file)), "rb") as opened:
            return opened.read()

    def original_object(self, file):
        """Compiled once; after a trial it is put back, newer than its source."""
        if file not in self.objects:
            self.tree.make(trees.PLAIN, [self.object_of(file)])
            self.objects[file] = self.object_bytes(file)
        return self.objects[file]

    def put_back(self, file, text):
        self.write(file, text)
        with open(self.tree.file(self.object_of(file)), "wb") as opened:
            opened.write(self.objects[file])

    def write(self, file, text):
        with open(self.tree.file(file), "w") as opened:
            opened.write(text)

    def judge(self, mutant):
        """(result, by): killed and the test that did it, survived, invalid or same."""
        text = self.source.texts[mutant.file]
        target = [self.object_of(mutant.file)]
        before = self.original_object(mutant.file)
        self.write(mutant.file, changes.apply(text, mutant.change))
        try:
            if not self.tree.make(trees.PLAIN, target):
                return "invalid", ""
            if self.object_bytes(mutant.file) == before:
                return "same", ""
            return self.judge_built(mutant)
        finally:
            self.put_back(mutant.file, text)

    def judge_built(self, mutant):
        names = self.reached.tests_of(mutant.file, mutant.line)
        if not names:
            return "survived", "no test reaches it"
        rounds = [(trees.PLAIN, names), (trees.SANITIZED, names[:SANITIZED_TESTS_MAX])]
        if self.is_quick:
            rounds = [(trees.PLAIN, self.nearest(names))]
        for variant, tried in rounds:
            by = self.killer(mutant, variant, tried)
            if by:
                return "killed", by
        return "survived", "%d tests pass" % len(rounds[0][1])

    def nearest(self, names):
        if isinstance(self.reached, Named):
            return names
        chosen, seconds = names[:1], self.reached.tests[names[0]]["seconds"]
        for name in names[1:SURVEY_TESTS_MAX]:
            seconds += self.reached.tests[name]["seconds"]
            if seconds > SURVEY_SECONDS_MAX:
                break
            chosen.append(name)
        return chosen

    def killer(self, mutant, variant, names):
        """The name of the test that fails and how, or None. Links a few tests at a time: more each
        time, since those that come first fail most."""
        names, at_once = list(names), 1
        while names:
            batch, names = names[:at_once], names[at_once:]
            at_once = min(2 * at_once, 16)
            if not self.link(variant, batch):
                return "the linker"
            for name in batch:
                how = self.fails(variant, name)
                if how and self.is_trusted(mutant, variant, name):
                    return "%s%s%s" % (name, " (late)" if how == "late" else "",
                                       " under the sanitizers" if variant == trees.SANITIZED else "")
        return None

    def link(self, variant, names):
        if variant == trees.SANITIZED and not self.is_sanitized:
            self.tree.make_libraries(variant)
            self.is_sanitized = True
        targets = {os.path.join(variant, "tests", name) for name in names}
        for name in names:
            targets.update(p if p == "all" else os.path.join(variant, p)
                           for p in self.reached.tests[name]["programs"])
        return self.tree.make(variant, sorted(targets))

    def fails(self, variant, name):
        allowed = seconds_allowed(self.reached.tests[name], variant)
        result = self.tree.run(variant, name, allowed)[0]
        if result == "failed":
            result = self.tree.run(variant, name, allowed)[0]
        return None if result == "ok" else result

    def is_trusted(self, mutant, variant, name):
        """A test kills only if it passes without the change; this is found out when it matters."""
        if (variant, name) not in self.trusted:
            with open(self.tree.file(mutant.file)) as opened:
                changed = opened.read()
            self.write(mutant.file, self.source.texts[mutant.file])
            fine = self.link(variant, [name]) and not self.fails(variant, name)
            self.write(mutant.file, changed)
            self.trusted[variant, name] = fine
            if not fine:
                say("  %s fails without any change (%s): it judges nothing" % (name, variant))
            self.link(variant, [name])
        return self.trusted[variant, name]


class Results:
    """The result of each draw, appended to a file as it is known."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if os.path.exists(path):
            with open(path) as file:
                for line in file:
                    row = json.loads(line)
                    self.rows[row["draw"]] = row

    def add(self, draw, mutant, result, by):
        row = {"draw": draw, "result": result, "by": by, "file": mutant.file, "line": mutant.line,
               "name": mutant.name}
        self.rows[draw] = row
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")

    def counted(self, count):
        """The first ones that count, in the order of the draws."""
        rows = [row for _, row in sorted(self.rows.items()) if row["result"] in COUNTED_RESULTS]
        return rows[:count]


class Run:
    """Hands out draws until enough of them count or the time is over."""

    def __init__(self, draws, results, equivalent, count, seconds):
        self.draws, self.results, self.equivalent = draws, results, equivalent
        self.count, self.until = count, time.monotonic() + seconds
        self.lock, self.next, self.pending = threading.Lock(), 0, 0

    def take(self):
        with self.lock:
            while True:
                enough = len(self.results.counted(self.count)) + self.pending >= self.count
                if enough or time.monotonic() > self.until or self.next >= len(self.draws):
                    return None
                draw, self.next = self.next, self.next + 1
                if draw in self.results.rows:
                    continue
                if self.equivalent.has(self.draws[draw]):
                    self.results.add(draw, self.draws[draw], "equivalent", "named")
                    continue
                self.pending += 1
                return draw

    def done(self, draw, result, by, seconds):
        mutant = self.draws[draw]
        with self.lock:
            self.pending -= 1
            self.results.add(draw, mutant, result, by)
            if result in COUNTED_RESULTS:
                say("%3d %-8s %s:%d  %s  `%s`  %s  (%.0f s)" % (
                    len(self.results.counted(self.count)), result, mutant.file, mutant.line,
                    mutant.change.what, mutant.place.text, by, seconds))

    def work(self, trial):
        while True:
            draw = self.take()
            if draw is None:
                return
            start = time.monotonic()
            try:
                result, by = trial.judge(self.draws[draw])
            except Exception as error:  # the tree may be wrong: say so, and count nothing
                result, by = "error", repr(error)
                say("  %s: %r" % (self.draws[draw].file, error))
            self.done(draw, result, by, time.monotonic() - start)


def interval(killed, count):
    """Wilson's 95 % interval of a rate, in percent."""
    if count == 0:
        return 0.0, 100.0
    z, p = 1.96, killed / count
    middle = p + z * z / (2 * count)
    spread = z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return tuple(100 * (middle + sign * spread) / (1 + z * z / count) for sign in (-1, 1))


def folder_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "engine" and len(parts) > 2 else parts[0]


def rate_line(name, rows):
    killed = sum(row["result"] == "killed" for row in rows)
    return "%-18s %4d of %4d  %5.1f %%  (%.0f to %.0f)" % (
        (name, killed, len(rows), 100 * killed / max(1, len(rows))) + interval(killed, len(rows)))


def report(rows, all_rows, path):
    by_folder = collections.defaultdict(list)
    for row in rows:
        by_folder[folder_of(row["file"])].append(row)
    say("\nkilled, with the 95 % interval of the rate")
    for folder in sorted(by_folder):
        say(rate_line(folder, by_folder[folder]))
    say(rate_line("all", rows))
    others = collections.Counter(row["result"] for row in all_rows if row["result"] not in COUNTED_RESULTS)
    say("not counted: " + (", ".join("%d %s" % (n, name) for name, n in sorted(others.items())) or "none"))
    with open(path, "w") as file:
        for row in rows:
            if row["result"] == "survived":
                file.write("%s | line %d, %s\n" % (row["name"], row["line"], row["by"]))
    say("survivors: " + path)


def listed(source, path):
    found = []
    with open(path) as file:
        for line in file:
            mutant = source.find(line.rstrip("\n").rpartition(" | ")[0])
            if mutant is not None:
                found.append(mutant)
            elif line.strip() and not line.startswith("#"):
                say("no such line any more: " + line.rstrip("\n"))
    return found


def drawn(source, seed, count):
    """Twenty times as many draws as are wanted, none twice: most that do not count are few."""
    dice, seen, draws = random.Random(seed), set(), []
    for _ in range(20 * count + 1000):
        mutant = source.draw(dice)
        if (mutant.file, mutant.change) not in seen:
            seen.add((mutant.file, mutant.change))
            draws.append(mutant)
    return draws


def every_line(source, seed):
    """One change of each line, in an order that is no order: whenever it ends, it is a sample."""
    dice = random.Random(seed)
    draws = []
    for place, possible in source.lines:
        kind = dice.choice(sorted({change.kind for change in possible}))
        draws.append(Mutant(place, dice.choice([change for change in possible if change.kind == kind])))
    dice.shuffle(draws)
    return draws


def arguments():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("--work", default="build/mutate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=3600, help="for the trials; 0: only the map")
    parser.add_argument("--jobs", type=int, default=2, help="trees, and changes tried at once")
    parser.add_argument("--files", default="", help="patterns of files, separated by spaces")
    parser.add_argument("--since", default="", help="a commit: only lines that came or changed after it")
    parser.add_argument("--measure", default="*", help="patterns of the tests that the map is made of")
    parser.add_argument("--survey", action="store_true", help="each line once, by the nearest tests")
    parser.add_argument("--tests", default="", help="only these, without the map of lines: "
                        "names as of make list-tests, separated by spaces")
    parser.add_argument("--again", metavar="FILE", help="the changes of a list instead of random ones")
    return parser.parse_args()


def main():
    options = arguments()
    commit = git("rev-parse", "--short=12", "HEAD").strip()
    os.makedirs(options.work, exist_ok=True)
    jobs = [trees.Tree(os.path.join(options.work, "tree-%d" % i)) for i in range(options.jobs)]
    for tree in jobs:
        tree.check_out(REPOSITORY, commit)
    if options.tests:
        reached = Named(options.tests.split())
    else:
        reached = reach.Reach(jobs[0], os.path.join(options.work, "reach.json"), say)
        reached.measure([name for name in jobs[0].tests()
                         if any(fnmatch.fnmatch(name, pattern) for pattern in options.measure.split())])
    quick = options.survey or bool(options.tests)
    for tree in jobs:
        tree.make_libraries(trees.PLAIN)
    source = Source(jobs[0], options.files.split(), options.since)
    if not source.lines:
        raise SystemExit("no line to change in these files")
    if options.again:
        draws = listed(source, options.again)
    elif options.survey:
        draws = every_line(source, options.seed)
    else:
        draws = drawn(source, options.seed, options.count)
    count = len(draws) if options.again or options.survey else options.count
    name = "%s-%s%s" % (commit, "again" if options.again else options.seed, "-survey" * options.survey)
    if options.files:
        name += "-" + "".join(c if c.isalnum() else "_" for c in options.files)[:60]
    if options.since:
        name += "-since-" + git("rev-parse", "--short=12", options.since).strip()
    path = os.path.join(options.work, name)
    if options.again and os.path.exists(path + ".results"):
        os.remove(path + ".results")
    results = Results(path + ".results")
    run = Run(draws, results, Equivalent(os.path.join(HERE, "equivalent.txt")), count, options.seconds)
    trusted = {}
    workers = [threading.Thread(target=run.work, args=[Trial(tree, reached, source, trusted, quick)])
               for tree in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rows = results.counted(count)
    report(rows, [row for row in results.rows.values()], path + ".survivors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
