"""One log: a family's fault on a fresh product, told in a style, cut as a fab's adapter would cut it.

The adapter posts the failing section: at most a few lines of head, a handful of passing rows before the first
failing one, and what follows. Passing rows of every section stand around the failing ones: testers log a sample
of the passing tests. Some logs are cut in the middle of a line, at the head or the tail, and some are told whole.
"""
from case import Case

LENGTH_MIN, LENGTH_MAX = 300, 4000
FIRST_FAIL_MAX = 520        # characters before the first failing row, in a log that the adapter cut

NOTES = (
    "retest after clean", "site 2 disabled", "operator change", "lot on hold see engineering", "probe card cleaned",
    "overdrive +10 um", "alarm cleared", "index time high", "calibration due", "yield below limit",
    "resume after pause",
    "power cycle done", "limits rev B", "sample of 5", "check supply", "touchdown limit 500k", "temperature stable",
    "reference unit ok", "new load board", "timing rev 3 loaded", "leakage screen on", "scan log limit 10",
    "memory map v2",
    "contact check ok", "handler jam cleared", "functional only", "pll settings default", "correlation wafer",
    "bin 7 alarm",
    "clamp set 100 mA", "shift B", "engineering lot", "all sites active", "trim table 4", "same as last lot")


class Row:
    def __init__(self, test, die, value=None, fault=None):
        self.test, self.die, self.value, self.fault = test, die, value, fault
        self.passed = fault is None if test.pattern else test.passes(value)


def row_of(test, die):
    return Row(test, die, die.value.get(test), die.fault.get(test))


def meta(rng, product):
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    name = "".join(rng.sample(letters, 2)) + str(rng.randint(100, 9999))
    day = f"{rng.randint(2015, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    return {"lot": rng.choice(letters) + str(rng.randint(10000, 999999)) + rng.choice(("", ".1", "A")),
            "wafer": rng.randint(1, 25), "operator": rng.choice(("op", "")) + str(rng.randint(10, 9999)),
            "tester": rng.choice(("T", "ATE-", "cell")) + str(rng.randint(1, 60)), "product": name,
            "program": f"{name.lower()}_{rng.choice(('ws', 'ft', 'cp1', 'cp2', 'eng'))}"
                       f"_v{rng.randint(1, 9)}.{rng.randint(0, 30)}",
            "date": f"{day} {rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}",
            "temp": f"{product.setpoint:g}"}


def context(rng, case, count):
    """Passing tests of every section, some of them beside the failing ones in the flow."""
    tests = case.product.tests
    index = {t: i for i, t in enumerate(tests)}
    kinds = sorted({t.kind for t in tests})
    chosen = []
    for _ in range(count):
        if rng.random() < 0.5:
            near = index[rng.choice(case.kept)] + rng.choice((-2, -1, 1, 2))
            chosen.append(tests[min(max(near, 0), len(tests) - 1)])
        else:
            kind = rng.choice(kinds)
            chosen.append(case.one(kind, rng.choice(sorted({t.what for t in case.find(kind)}))))
    for test in chosen:
        if test not in case.kept and all(d.passed(test) for d in case.dies):
            yield test


def decoy(rng, case):
    """A test of any section that failed at the first touch-down and passed at the next: not the cause."""
    tests = [t for t in case.product.tests if not t.pattern and t.unit and t.high is not None and case.die.passed(t)]
    test = rng.choice(tests)
    window = test.high - (test.low if test.low is not None else 0)
    return test, [test.high + window * rng.uniform(0.05, 2), case.die.value[test]]


def bins(rng, dies, shown):
    bad = rng.randint(2, 32)
    return [(bad, bad * rng.choice((1, 10)) + rng.randint(0, 3)) if any(not d.passed(t) for t in shown) else (1, 1)
            for d in dies]


def tell(rng, case, style, shown):
    """[(line, fails)] of the whole log."""
    lines = []

    def add(new, fails=False):
        lines.extend((line, fails) for line in new)

    style.single, style.first = len(case.parts[0]) == 1, case.first_part
    add(style.head(meta(rng, case.product)))
    retests = case.retests or ([decoy(rng, case)] if rng.random() < 0.05 else [])
    for test, values in retests:
        for k, value in enumerate(values):
            add(style.part(case.first_part, case.parts[-1]))
            add(style.row(Row(test, case.die, value)), bool(case.retests) and k == 0)
        add(style.note(rng.choice(("retest", "2nd touchdown", "reprobe"))))
    early = [t for t in shown if t in case.kept][:4]
    note_at = rng.randrange(len(shown)) if rng.random() < 0.4 else -1
    for k, part in enumerate(case.parts):
        add(style.part(case.first_part + k + len(retests), part))
        last = k == len(case.parts) - 1
        for i, test in enumerate(shown if last else early):
            for die in part:
                row = row_of(test, die)
                add(style.row(row), not row.passed)
            if last and i == note_at:
                add(style.note(rng.choice(NOTES)))
        add(style.end(part, bins(rng, part, shown)))
    return lines


def cut(rng, lines):
    """The adapter's cut: fewer passing rows before the first failing one, then the length limits."""
    first = next(i for i, (_, fails) in enumerate(lines) if fails)
    if rng.random() < 0.9:
        head = sum(len(line) + 1 for line, _ in lines[:first])
        while head > FIRST_FAIL_MAX and first > 0:
            drop = rng.randrange(first)
            head -= len(lines[drop][0]) + 1
            del lines[drop]
            first -= 1
    text = "\n".join(line for line, _ in lines)
    before = sum(len(line) + 1 for line, _ in lines[:first])
    if rng.random() < 0.08:                                     # the head is lost, within the passing rows
        at = rng.randrange(max(1, min(before, len(text) // 4)))
        text, before = text[at:], before - at
    if rng.random() < 0.15:                                     # the tail is lost, behind the first failing rows
        least = max(LENGTH_MIN, before + 240)
        if least < len(text):
            text = text[:rng.randrange(max(least, len(text) // 2), len(text))]
    return text[:LENGTH_MAX]


def write(rng, function, needs, style_class):
    """The text of one log of a family in a style."""
    sites = rng.choice((2, 3)) if needs == "sites" else rng.choice((1, 1, 1, 1, 1, 2, 2, 3))
    parts = rng.choice((2, 3)) if needs == "parts" else rng.choice((1,) * 15 + (2,))
    if parts > 1:
        sites = min(sites, 2)
    case = Case(rng, parts, sites)
    function(case)
    if all(d.passed(t) for t in case.kept for d in case.parts[-1]):     # a value drawn right at its limit: once more
        return write(rng, function, needs, style_class)
    if needs != "sites" and rng.random() < 0.1:                  # what sites have in common is a pattern of its own
        case.spread()
    shown = list(case.kept)
    shown += dict.fromkeys(context(rng, case, rng.randint(1, 5) // sites + 1))
    order = {t: i for i, t in enumerate(case.product.tests)}
    shown.sort(key=order.get)
    if rng.random() < 0.3:                                      # the program stops soon after the first failures
        failing = [i for i, t in enumerate(shown) if any(not d.passed(t) for d in case.parts[-1])]
        shown = shown[:failing[min(len(failing) - 1, rng.randint(1, 3))] + 1]
    text = cut(rng, tell(rng, case, style_class(rng), shown))
    return text if len(text) >= LENGTH_MIN else write(rng, function, needs, style_class)
