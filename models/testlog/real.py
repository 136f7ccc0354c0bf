"""Labels for real failing dies (JSONL with "text": one line a test, pass or FAIL at its end), by the first failing one.

The dies are a power converter's, from a public STDF demonstration file. A name and a unit decide where they allow
it; everything else is "unknown". The judgement is ours and was made from names alone: a smoke test, no benchmark.
"""
import json

import story

# (words that open the name of the first failing test, label); the units agree with each.
RULES = (
    (("glxy_",), "contact"),                    # diode voltages of pins, [-0.9, -0.4] V
    (("Abs comp", "Abs fb"), "leakage"),        # input currents of pins, microamperes
    (("Lkg",), "leakage"),
    (("Ref", "sim", "Line"), "reference_trim"),  # reference before and after its trim, its line regulation
    (("Iq", "Abs supply"), "supply_current"),
    (("Freq",), "analog_pll"),                  # the frequency of the converter's free oscillator, hertz
)


def label_of(text):
    for line in text.split("\n"):
        if line.endswith("FAIL"):
            name = line.split(" ", 1)[1]
            return next((label for words, label in RULES if name.startswith(words)), "unknown")
    return "unknown"


def section(text):
    """The failing section as an adapter would post it: few rows before the first failing one, and what follows."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.endswith("FAIL")), 0)
    start, room = first, story.FIRST_FAIL_MAX
    while start > 0 and len(lines[start - 1]) + 1 <= room:
        start -= 1
        room -= len(lines[start]) + 1
    return "\n".join(lines[start:])


def convert(source, out):
    """Writes real.jsonl (the failing sections) and real_whole.jsonl (every row) into the folder `out`."""
    table = {}
    dies = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    labels = [label_of(die["text"]) for die in dies]
    for name, change in (("real", section), ("real_whole", str)):
        with open(out / f"{name}.jsonl", "w", encoding="utf-8") as file:
            for die, label in zip(dies, labels):
                file.write(json.dumps({"text": change(die["text"]), "label": label}) + "\n")
    for label in labels:
        table[label] = table.get(label, 0) + 1
    print(", ".join(f"{label} {count}" for label, count in sorted(table.items())))
    return 0
