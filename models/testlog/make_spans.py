#!/usr/bin/env python3
"""Writes synthetic test logs with the spans of their fields: what attnd-train --task tag learns.

    python3 models/testlog/make_spans.py OUT [--seed 1] [--count 3000] [--validation 300] [--test 500]
                                         [--narrow] [--real failing_dies.jsonl] [--encoder models/testlog-bert]

The logs are those of make_testlogs.py. While one is written, each field that is printed carries marks of
its label (Number, Count, Text, Unit); they are taken out at the end, and where they were are the spans.
So the truth does not depend on how a style prints a field. OUT receives train, validation, and of trained
mechanisms again: fixed (six trained styles), drawn (layouts, each of its own), style (the held-out style), wide
(layouts of wide.py in kinds that are trained) and apart (in two kinds that never are), one {"text", "spans", "style"}
a line, with places in characters. More than half of the logs to learn have layouts of wide.py, and half of the others
have names of spelling.py; with --narrow none has. real.jsonl holds the failing sections of
real dies, whose records say what each field is. The same seed and sizes give the same bytes. A log is cut
with its marks, so a little earlier than that of make_testlogs.py. Needs Python 3 and nothing else.
"""
import argparse
import json
import multiprocessing
import pathlib
import random
import re
import shutil
import sys

sys.dont_write_bytecode = True  # leave no folder of compiled files among the sources

import layouts
import make_testlogs
import real
import registry
import spelling
import story
import styles
import wide

LABELS = ("test_number", "test_name", "pin", "value", "unit", "low_limit", "high_limit", "site", "x", "y",
          "hard_bin", "soft_bin", "lot", "wafer", "program", "product", "temperature")
META = {"lot": "lot", "wafer": "wafer", "program": "program", "product": "product", "temp": "temperature"}
OPEN, CLOSE = 0xE000, "\uE0FF"  # characters for private use: one for each label, and one behind a field
UNIT = chr(OPEN + LABELS.index("unit"))
LEARNT = ("train", "validation")
SPACED = ("columns", "suites", "commas", "reader", "stamped")   # styles in which a name may have spaces


def mark(label, text):
    """The text as it is formatted, with marks around all but the spaces at its ends."""
    core = text.strip(" ")
    return text.replace(core, f"{chr(OPEN + LABELS.index(label))}{core}{CLOSE}", 1) if core else text


class Number(float):
    """A value or a limit; a scaled one is the same field."""

    def __new__(cls, value, label):
        self = float.__new__(cls, value)
        self.label = label
        return self

    def __format__(self, spec):
        return mark(self.label, format(float(self), spec))

    def __truediv__(self, other):
        return Number(float(self) / other, self.label)


class Count(int):
    """A number of a test, a site, a bin, a place."""

    def __new__(cls, value, label):
        self = int.__new__(cls, value)
        self.label = label
        return self

    def __format__(self, spec):
        return mark(self.label, format(int(self), spec))

    def __str__(self):
        return format(self)

    def __add__(self, other):
        return Count(int(self) + other, self.label)


class Text(str):
    """A name that carries its marks wherever it is joined, and is padded as without them."""

    def __new__(cls, text, label):
        self = str.__new__(cls, mark(label, text))
        self.plain, self.label = text, label
        return self

    def __format__(self, spec):
        return mark(self.label, format(self.plain, spec))


class Unit(str):
    """A unit, which styles look up before they print it: marked only then."""

    def __format__(self, spec):
        return mark("unit", format(str.__str__(self), spec))

    def lower(self):
        return Unit(str.lower(self))


class Row(story.Row):
    def __init__(self, test, die, value=None, fault=None):
        super().__init__(test, die, None if value is None else Number(value, "value"), fault)


def respell(names, test, case):
    """Gives a test, its pin and the pins of its faults names of their own."""
    test.name, test.pin = names.test(test.name), names.pin(test.pin) if test.pin else ""
    for fault in {id(die.fault[test]): die.fault[test] for die in case.dies if test in die.fault}.values():
        fault.pins = [names.pin(pin) for pin in fault.pins]


def mark_test(case, test):
    """Marks a test and the pins of its faults, once."""
    if isinstance(test.name, Text):
        return
    if Respelling.names:
        respell(Respelling.names, test, case)
    test.number, test.name = Count(test.number, "test_number"), Text(test.name, "test_name")
    test.pin, test.unit = Text(test.pin, "pin") if test.pin else "", Unit(test.unit)
    test.low = None if test.low is None else Number(test.low, "low_limit")
    test.high = None if test.high is None else Number(test.high, "high_limit")
    for die in case.dies:
        if test in die.fault:
            die.fault[test].pins = [p if isinstance(p, Text) else Text(p, "pin") for p in die.fault[test].pins]


def mark_case(case, shown):
    for test in shown + [test for test, _ in case.retests]:
        mark_test(case, test)
    for die in case.dies:
        die.site, die.x, die.y = Count(die.site, "site"), Count(die.x, "x"), Count(die.y, "y")


class Mix:
    """Shares of the logs to learn: layouts of wide.py, and respelled names among the others."""
    wide, respelled = 0.7, 0.5


class Respelling:
    """The share of logs whose names are respelled, though their layout is not wide, and the names of this log."""
    share, names = 0, None

    @classmethod
    def draw(cls, rng, style):
        wide_style = isinstance(style, wide.Wide)
        cls.names = spelling.Names(rng, wide_style or style.name in SPACED) \
            if wide_style or (cls.share and rng.random() < cls.share) else None


def install():
    """Lets the generator write marks."""
    tell, bins, meta, decoy = story.tell, story.bins, story.meta, story.decoy

    def tell_marked(rng, case, style, shown):
        Respelling.draw(rng, style)
        mark_case(case, shown)
        return tell(rng, case, style, shown)

    def bins_marked(rng, dies, shown):
        return [(Count(h, "hard_bin"), Count(s, "soft_bin")) for h, s in bins(rng, dies, shown)]

    def decoy_marked(rng, case):
        test, values = decoy(rng, case)
        mark_test(case, test)
        return test, values

    def meta_marked(rng, product):
        told = meta(rng, product)
        if Respelling.names:
            told |= {k: Respelling.names.meta(k, str(told[k])) for k in META}
        return {k: Text(str(v), META[k]) if k in META else v for k, v in told.items()}

    def unit_marked(self, prefix, unit):
        text = {"s": self.seconds, "Ohm": self.ohms}.get(unit, unit)
        return Text(f"{prefix}{str.__str__(text)}", "unit") if prefix or text else ""

    story.tell, story.bins, story.meta, story.decoy = tell_marked, bins_marked, meta_marked, decoy_marked
    story.Row = Row
    layouts.Numbers.unit = unit_marked


def take_marks(marked):
    """(text, spans). A prefix belongs to its unit; a field that the cut has broken is what is left of it."""
    marked = re.sub(rf"(?<=[^\w.-])([GMkmunpgKUNP]){UNIT}", rf"{UNIT}\1", marked)
    text, spans, label, start = [], [], None, 0
    if CLOSE in marked and not any(OPEN <= ord(c) < OPEN + len(LABELS) for c in marked[:marked.index(CLOSE)]):
        marked = marked[marked.index(CLOSE) + 1:]       # the head is lost within a field
    for c in marked + CLOSE:
        code = ord(c) - OPEN
        if 0 <= code < len(LABELS):
            label, start = LABELS[code], len(text)
        elif c != CLOSE:
            text.append(c)
        elif label is not None:
            if start < len(text):
                spans.append({"label": label, "start": start, "end": len(text)})
            label = None
    return "".join(text), spans


def style_of(split, rng):
    if split == "style":
        return styles.HELD_OUT
    if split == "drawn":
        return layouts.draw(rng)
    if split in ("wide", "apart") or (split in LEARNT and Mix.wide and rng.random() < Mix.wide):
        return wide.draw(rng, split == "apart")
    if split == "fixed":
        return rng.choice([s for s in styles.STYLES if s is not styles.HELD_OUT])
    return make_testlogs.style_of(split, rng)


def line(place):
    """The `i`th log of a split, as a line."""
    split, seed, i = place
    rng = random.Random(f"{seed}/spans/{split}/{i}")
    _, function, needs = rng.choice(registry.trained(registry.LABELS[i % len(registry.LABELS)]))
    style = style_of(split, rng)
    Respelling.share = Mix.respelled if split in LEARNT else 0
    while True:
        text, spans = take_marks(story.write(rng, function, needs, style))
        if not (issubclass(style, wide.Wide) and spelling.RESERVED.search(text)):
            break       # else what was drawn apart has met in a mark of the held-out style
    return json.dumps({"text": text, "spans": spans, "style": style.name}) + "\n"


# number, name <> pin, value, unit, limits: how failing_dies.jsonl prints a test record of STDF
REAL = re.compile(r"^(?P<test_number>\d+) (?P<test_name>\S.*?)\s+<>(?: (?P<pin>\S+))? (?P<value>[-+.\de]+) "
                  r"(?P<unit>\S*) ?\[(?P<low_limit>[-+.\de]+), (?P<high_limit>[-+.\de]+)\] (?:pass|FAIL)$", re.M)


def spans_of(match):
    """Named groups that matched; unit2 is one more unit."""
    return [{"label": name.rstrip("0123456789"), "start": match.start(name), "end": match.end(name)}
            for name, text in match.groupdict().items() if text]


def real_line(die):
    text = real.section(die["text"])
    spans = sorted((s for m in REAL.finditer(text) for s in spans_of(m)), key=lambda s: s["start"])
    return json.dumps({"text": text, "spans": spans, "style": "real"}) + "\n"


def write_encoder(source, out):
    """A copy of a WordPiece model of which no piece has a digit and another character: else "5mV" may be one
    piece, and no value could end within it. Such pieces are renamed, so that the weights keep their rows."""
    shutil.copytree(source, out, dirs_exist_ok=True)
    for name in ("attnd.json", "attnd_head.safetensors", "report.json"):
        (out / name).unlink(missing_ok=True)    # of the classifier
    pieces = (source / "vocab.txt").read_text(encoding="utf-8").splitlines()
    bare = [p.removeprefix("##") for p in pieces]
    (out / "vocab.txt").write_text("".join(
        f"[unused{i}]\n" if re.search(r"\d", b) and not b.isdigit() else f"{p}\n"
        for i, (p, b) in enumerate(zip(pieces, bare))), encoding="utf-8")


def start(narrow=False):
    if narrow:
        Mix.wide = Mix.respelled = 0
    registry.load()
    install()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000, help="training logs")
    parser.add_argument("--validation", type=int, default=300)
    parser.add_argument("--test", type=int, default=500, help="logs of each of fixed, drawn and style")
    parser.add_argument("--narrow", action="store_true", help="learn layouts and names of make_testlogs.py alone")
    parser.add_argument("--real", type=pathlib.Path, help="failing_dies.jsonl")
    parser.add_argument("--encoder", type=pathlib.Path, help="writes OUT/encoder, for spans that end within a word")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = {"train": options.count, "validation": options.validation, "fixed": options.test,
             "drawn": options.test, "style": options.test, "wide": options.test, "apart": options.test}
    with multiprocessing.Pool(initializer=start, initargs=(options.narrow,)) as pool:
        for split, count in sizes.items():
            made = pool.imap(line, ((split, options.seed, i) for i in range(count)), chunksize=50)
            (options.out / f"{split}.jsonl").write_text("".join(made), encoding="utf-8")
    if options.encoder:
        write_encoder(options.encoder, options.out / "encoder")
    if options.real:
        dies = [json.loads(one) for one in options.real.read_text(encoding="utf-8").splitlines()]
        (options.out / "real.jsonl").write_text("".join(map(real_line, dies)), encoding="utf-8")


if __name__ == "__main__":
    main()
