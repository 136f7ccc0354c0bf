#!/usr/bin/env python3
"""Runs what the documents tell their readers to run, and compares what comes out with what they show.

    python3 tests/docs/run.py [PAGE...]        (from the repository's root; without pages: all)

Of each page, in its order, in a copy of the repository of its own: every command of a `sh` block must end
with 0; a `console` block also shows what its commands print; `python` blocks run; `json` is JSON. A command
that serves goes on to the end of the page, and the pages' address 127.0.0.1:8080 means its port; the server
of the README is there from the start. A comment before a block may say <!-- file: NAME -->, which puts the
block into that file, <!-- from: NAME -->, which says that the block is a part of that file, or
<!-- elsewhere: TEST -->, which names the test that runs it. Options, targets of make and files that stand in
back quotes must exist.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import time

from blocks import blocks_of, commands_of, session_of
from compare import disagreement
from words import Words
from workspace import ADDRESS, Workspace

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "models/README.md", "docs/*.md")
SERVES = re.compile(r"sh deploy/run\.sh|build/attnd (?!.*--(check-config|print-config|help|version))", re.S)
ELSEWHERE = {  # commands that contain this test
    "tests/run.sh": ".ci/run", "make test": ".ci/run", "make test-docs": ".ci/run", ".ci/run": "itself"}


class Fault(Exception):
    pass


class Page:
    def __init__(self, path, workspace):
        self.path, self.workspace = path, workspace
        self.ran, self.elsewhere = 0, []

    @staticmethod
    def elsewhere_test(command):
        return ELSEWHERE.get(command.split("#")[0].strip().removeprefix("sh "))

    def step(self, step):
        test = self.elsewhere_test(step.command)
        if test is not None:
            self.elsewhere.append(f"{self.path}:{step.line}: {step.command.strip()} ({test})")
            return
        self.ran += 1
        if SERVES.match(step.command):
            self.workspace.serve(step.command.split("#")[0])
            return
        done = self.workspace.shell(step.command)
        if done.returncode != 0 and step.shown is None:
            raise Fault(f"{step.command}ends with {done.returncode}:\n{done.stdout}{done.stderr}")
        wrong = disagreement(step.shown, done.stdout + done.stderr) if step.shown is not None else None
        if wrong is not None:
            raise Fault(f"{step.command}shows something else: {wrong}\n{done.stdout}{done.stderr}")

    def block(self, block):
        kind, _, name = block.note.partition(": ")
        if kind == "elsewhere":
            if not (self.workspace.folder / name).exists():
                raise Fault(f"there is no {name}")
            self.elsewhere.append(f"{self.path}:{block.line}: {block.language} ({name})")
            return
        if kind == "from":
            if block.text not in (self.workspace.folder / name).read_text():
                raise Fault(f"{name} does not have this block")
            return
        if kind == "file":
            (self.workspace.folder / name).write_text(self.workspace.here(block.text))
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "python":
            self.python(block)
        elif block.language in ("sh", "console"):
            read = commands_of if block.language == "sh" else session_of
            for step in read(block.text, block.line):
                self.located(step.line, self.step, step)
        elif kind != "file":
            raise Fault(f"a block of {block.language or 'no language'} is held to nothing")

    def python(self, block):
        path = self.workspace.folder / "block.py"
        path.write_text(self.workspace.here(block.text))
        self.ran += 1
        done = self.workspace.shell("python3 block.py")
        if done.returncode != 0:
            raise Fault(done.stderr)

    def located(self, line, what, *args):
        try:
            what(*args)
        except Fault as fault:
            raise fault if str(fault).startswith(self.path) else Fault(f"{self.path}:{line}: {fault}") from None
        except (RuntimeError, ValueError) as fault:
            raise Fault(f"{self.path}:{line}: {fault}") from None

    def run(self, text):
        blocks = blocks_of(text)
        if self.path != "README.md" and any(ADDRESS in block.text for block in blocks):
            self.workspace.serve("sh deploy/run.sh")
        for block in blocks:
            self.located(block.line, self.block, block)


def check(path, root, build, words):
    """True if the page says nothing that is not so."""
    began, text = time.monotonic(), (root / path).read_text()
    faults = [f"{path}:{line}: {fault}" for line, fault in words.faults(text)]
    workspace = Workspace(root, build)
    page = Page(path, workspace)
    try:
        page.run(text)
        workspace.stop()
    except (Fault, RuntimeError) as fault:
        faults.append(str(fault))
    finally:
        workspace.close()
    print(f"{'FAIL' if faults else 'ok'}    {path}  {page.ran} commands, {time.monotonic() - began:.0f} s", flush=True)
    for line in faults + [f"not here: {command}" for command in page.elsewhere]:
        print("      " + line, flush=True)
    return not faults


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("pages", nargs="*")
    root = pathlib.Path.cwd()
    build = root / os.environ.get("BUILD", "build")
    pages = parser.parse_args().pages or sorted(
        str(path.relative_to(root)) for pattern in PAGES for path in root.glob(pattern))
    words = Words(root, build)
    results = [check(path, root, build, words) for path in pages]
    print(f"{sum(results)} of {len(results)} documents say what is so")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
