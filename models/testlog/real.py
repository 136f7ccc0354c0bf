"""Labels for real failing dies (JSONL with "text": one line a test, the last word pass or FAIL), by their first failing test.

The dies are a power converter's, from a public STDF demonstration file. A name and a unit decide where they allow
it; everything else is "unknown". The judgement is ours and was made from names alone: a smoke test, no benchmark.
"""
import json

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


def convert(source, target):
    table = {}
    with open(source, encoding="utf-8") as dies, open(target, "w", encoding="utf-8") as out:
        for die in map(json.loads, dies):
            label = label_of(die["text"])
            table[label] = table.get(label, 0) + 1
            out.write(json.dumps({"text": die["text"], "label": label}) + "\n")
    print(", ".join(f"{label} {count}" for label, count in sorted(table.items())))
    return 0
