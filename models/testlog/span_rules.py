#!/usr/bin/env python3
"""The simplest rival of a model of tags: a regular expression for each kind of line of the six trained styles.

    python3 models/testlog/span_rules.py LISTS        # fixed, drawn, wide, apart, style and real.jsonl of make_spans.py

For each list it prints precision, recall and F1 of exact spans over all of them, as attnd-eval does. `told`: the rules
are those of the style that a log has, which a fab would have to know; `guessed`: those that match most of its lines,
which is all that can be done with a layout without rules. Standard library only.
"""
import json
import pathlib
import re
import sys

NUMBER = r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?"
UNIT = r"[GMkmunp]?(?:V/us|Ohm|LSB|dB|UI|Hz|V|A|s|F|C|%)"
NO, SITE, NAME = r"(?P<test_number>\d+)", r"(?P<site>\d+)", r"(?P<test_name>\S.*?)"


def quantity(label, number, space):
    """A number with its unit, or N/A."""
    return rf"(?:N/A|(?P<{label}>{NUMBER})(?:{space}(?P<unit{number}>{UNIT}))?)"


def three(space):
    return [quantity(label, i, space) for i, label in enumerate(("low_limit", "value", "high_limit"))]


LOW, VALUE, HIGH = three(" ?")
STYLES = {
    "columns": (
        rf"^ {NO}\s+{SITE}\s+(?:PASS|FAIL)\s+{NAME}\s+(?:-|(?P<pin>\S+))\s+{LOW}\s+{VALUE}(?: \(F\))?\s+{HIGH}$",
        rf"^ {NO}\s+{SITE}\s+(?:PASS|FAIL)\s+{NAME}\s+(?:ok|cyc \d+ cnt \d+)$",
        r"^ +Fail pins: (?P<pins>.+)$", r"^ +Lot: +(?P<lot>\S+)$", r"^ +Prog Name: +(?P<program>\S+)$",
        r"^ +Part Type: +(?P<product>\S+)$", rf"^    {SITE} +(?P<soft_bin>\d+) +(?P<hard_bin>\d+)$"),
    "suites": (
        r"^lot (?P<lot>\S+) wafer (?P<wafer>\d+)$", r"^testprogram (?P<program>\S+) device (?P<product>\S+)$",
        r"^started .* temp (?P<temperature>\S+)$", rf"\bsite{SITE}@\((?P<x>-?\d+),(?P<y>-?\d+)\)", rf"^{NAME}:$",
        rf"^  \[{NO}\] site {SITE}(?: (?P<pin>[^:\n]+))?: {LOW} < {VALUE} < {HIGH} (?:PASSED|FAILED)$",
        rf"^  \[{NO}\] site {SITE} ftest (?:PASSED|FAILED)(?:.*? pins (?P<pins>\S+)| .*)?$",
        rf"^site {SITE} bin (?P<soft_bin>\d+) \("),
    "records": (
        r"^Mir:(?P<lot>[^|\n]+)\|(?P<product>[^|\n]+)\|(?P<program>[^|\n]+)\|", r"^Wir:1\|[^|\n]*\|1\|(?P<wafer>\d+)$",
        rf"^Pir:1\|{SITE}$",
        rf"^Ptr:{NO}\|1\|{SITE}\|(?P<value>{NUMBER})\|[PF]\|\|\|(?P<test_name>[^|\n]+?)(?: (?P<pin>[A-Z][A-Z0-9_]*))?"
        rf"\|\|\|(?P<unit>[^|\n]*)\|(?P<low_limit>[^|\n]*)\|(?P<high_limit>[^|\n]*)$",
        rf"^Ftr:{NO}\|1\|{SITE}\|[PF]\|\|\|(?P<test_name>[^|\n]+)(?:\|\d+\|\d+\|(?P<pins>[^|\n]*))?$",
        rf"^Prr:1\|{SITE}\|(?P<x>-?\d+)\.(?P<y>-?\d+)\|\d+\|[PF]\|(?P<hard_bin>\d+)\|(?P<soft_bin>\d+)\|(?P<x2>-?\d+)"
        r"\|(?P<y2>-?\d+)$"),
    "commas": (
        r"^Lot ID,(?P<lot>[^,\n]+)$", r"^Program,(?P<program>[^,\n]+)$", rf"^{SITE},,Bin,,(?P<hard_bin>\d+),",
        rf"^{SITE},{NO},(?P<test_name>[^,\n]+),(?P<pin>[^,\n]*),\d+,0,0,fails,", r"^,,cycle \d+,(?P<pins>[^,\n]*),",
        rf"^{SITE},{NO},(?P<test_name>[^,\n]+),(?P<pin>[^,\n]*),(?P<value>{NUMBER}),(?P<low_limit>[^,\n]*),"
        r"(?P<high_limit>[^,\n]*),(?P<unit>(?!fails)[^,\n]*),"),
    "reader": (
        r"^lot (?P<lot>\S+) wafer (?P<wafer>\d+)$", r"^hard bin (?P<hard_bin>\d+) soft bin (?P<soft_bin>\d+)$",
        rf"^{NO}(?: s{SITE})? {NAME}\s+<>(?: (?P<pin>\S+))? (?P<value>{NUMBER}) (?P<unit>\S*) ?"
        rf"\[(?:-|(?P<low_limit>{NUMBER})), (?:-|(?P<high_limit>{NUMBER}))\] (?:pass|FAIL)$",
        rf"^{NO}(?: s{SITE})? (?P<test_name>[^<\n]+?) (?:pass|FAIL)(?: n=\d+ cycle=\d+(?: (?P<pins>.+))?)?$"),
    "stamped": (
        r"^[\d:]+ lot=(?P<lot>\S+) wafer=(?P<wafer>\d+) prog=(?P<program>\S+)$",
        r"^[\d:]+ dut=\d+ x=(?P<x>-?\d+) y=(?P<y>-?\d+)$",
        rf"^[\d:]+ s={SITE} bin=(?P<hard_bin>\d+)/(?P<soft_bin>\d+)$",
        rf"^[\d:]+ s={SITE} t={NO} {NAME}(?: pin=(?P<pin>\S+))? v={VALUE} lo={LOW} hi={HIGH} n?ok$",
        rf"^[\d:]+ s={SITE} t={NO} (?P<test_name>[^=\n]+?) n?ok(?:.*? pins=(?P<pins>\S+).*| .*)?$"),
}
STYLES = {style: [re.compile(rule, re.M) for rule in rules] for style, rules in STYLES.items()}
PIN = re.compile(r"[^ ,+/;|]+")


def spans_of(match):
    for group, text in match.groupdict().items():
        if text and group == "pins":
            for pin in PIN.finditer(text):
                yield "pin", match.start(group) + pin.start(), match.start(group) + pin.end()
        elif text:
            yield group.rstrip("0123456789"), match.start(group), match.end(group)


def apply(style, text):
    """Spans by the rules of a style. A line belongs to the first rule that matches it."""
    found, taken = set(), {}
    for number, rule in enumerate(STYLES[style]):
        for match in rule.finditer(text):
            if taken.setdefault(text.count("\n", 0, match.start()), number) == number:
                found.update(spans_of(match))
    return found, len(taken)


def guess(text):
    return max((apply(style, text) for style in STYLES), key=lambda answer: answer[1])[0]


def score(rows, answer):
    wanted = answered = right = 0
    for row in rows:
        truth = {(s["label"], s["start"], s["end"]) for s in row["spans"]}
        found = answer(row)
        wanted, answered, right = wanted + len(truth), answered + len(found), right + len(truth & found)
    return f"{right / max(answered, 1):.4f} {right / wanted:.4f} {2 * right / (answered + wanted):.4f}"


def main():
    print("                  precision recall F1")
    for name in ("fixed", "drawn", "wide", "apart", "style", "real"):
        path = pathlib.Path(sys.argv[1]) / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []
        known = {"real": "reader"}
        told = [row for row in rows if known.get(row["style"], row["style"]) in STYLES]
        if told:
            print(f"{name:6} told     ", score(told, lambda r: apply(known.get(r["style"], r["style"]), r["text"])[0]))
        if rows:
            print(f"{name:6} guessed  ", score(rows, lambda row: guess(row["text"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
