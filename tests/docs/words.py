"""Words in back quotes: options, targets of make and files that a page names are there."""

import glob
import re
import subprocess

from blocks import spans_of

PROGRAMS = ("attnd", "attnd-audit", "attnd-batch", "attnd-eval", "attnd-fit", "attnd-index", "attnd-inspect", "attnd-keys", "attnd-load", "attnd-predict",
            "attnd-prune", "attnd-stream", "attnd-train", "attnd-vocab", "attnd-healthcheck", "attnd-bench")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
FOLDERS = ("server", "wire", "engine", "clients", "config", "deploy", "tests", "loadtest", "learn", "tools", "models", "docs", ".ci")
FILE = re.compile(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]+")


class Words:
    def __init__(self, root, build):
        self.root = root
        self.options = {name: self.options_of([str(build / name), "--help"]) for name in PROGRAMS}
        self.scripts = {path: self.options_of(["python3", path, "--help"])
                        for path in glob.glob("models/make_*.py", root_dir=root) + ["models/testlog/make_testlogs.py"]}
        makefile = (root / "Makefile").read_text()
        self.targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
        self.targets |= set(re.search(r"\.PHONY:((?:.*\\\n)*.*)", makefile)[1].replace("\\", "").split())

    def options_of(self, command):
        told = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return set(OPTION.findall(told.stdout)) | {"help"}

    def unknown_options(self, words):
        """Those of a command line are its program's; alone they may be any program's."""
        known = [options for name, options in {**self.options, **self.scripts}.items()
                 if re.search(rf"(?:^|/|\s){re.escape(name)}(?:\s|$)", words)]
        if not known and not re.match(r"--[a-z]", words):
            return []
        known = set().union(*(known or self.options.values()))
        return [f"no program has --{name}" for name in OPTION.findall(words) if name not in known]

    def missing(self, words):
        for target in re.findall(r"\bmake ((?:[a-z][a-z-]+ ?)+)", words if words.startswith("make ") else ""):
            yield from (f"make has no target {name}" for name in target.split() if name not in self.targets)
        if FILE.fullmatch(words) and not glob.glob(words.rstrip("/"), root_dir=self.root):
            yield f"there is no {words}"

    def faults(self, page):
        for line, words in spans_of(page):
            yield from ((line, fault) for fault in (*self.unknown_options(words), *self.missing(words)))
