"""Seven ways of printing a datalog. They resemble what testers of several makers print and copy none of them.

A style prints head, part, row, note and end; each returns a list of lines. A row has a test, a die and a value
or a fault; the style decides on columns, separators, units, casing and what a failing pattern run tells.
"""

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))
PLAIN = ("", "%", "LSB", "dB", "UI", "C", "Ohm", "V/us")


def scaled(value, unit):
    """(number, prefix): the value in the prefix an engineer would choose."""
    if unit in PLAIN or value == 0:
        return value, ""
    for factor, prefix in PREFIXES:
        if abs(value) >= factor * 0.9995:
            return value / factor, prefix
    return value / 1e-12, "p"


def pretty(value, unit, digits=4, space=" "):
    if value is None:
        return "N/A"
    if unit == "":
        return f"{value:g}"
    number, prefix = scaled(value, unit)
    return f"{number:.{digits}f}{space}{prefix}{unit}"


class Style:
    name = ""

    def __init__(self, rng):
        self.rng = rng
        self.site0 = rng.choice((0, 1))

    def site(self, die):
        return die.site + self.site0

    def note(self, text):
        return [f"# {text}"]


class Columns(Style):
    """Fixed columns with the prefix of each value beside it; a heading whenever the kind of row changes."""
    name = "columns"

    def head(self, meta):
        self.kind = None
        lines = ["Datalog report", meta["date"]] + [f"{k:>14}:    {meta[v]}" for k, v in (
            ("Prog Name", "program"), ("Lot", "lot"), ("Operator", "operator"), ("Node Name", "tester"),
            ("Part Type", "product"))]
        return lines[:self.rng.choice((0, 2, 4, 7))]

    def part(self, number, dies):
        self.kind = None
        return [f"    Device#: {number}"]

    def row(self, row):
        test, lines = row.test, []
        if self.kind != test.pattern:
            self.kind = test.pattern
            lines.append(" Number   Site Result  Test Name            " + (
                "Pattern" if test.pattern else "Pin      Low          Measured        High"))
        result = "PASS" if row.passed else "FAIL"
        start = f" {test.number:<8} {self.site(row.die)}    {result:<6}  {test.name:<20} "
        if not test.pattern:
            flag = "" if row.passed else " (F)"
            low, value, high = (pretty(v, test.unit) for v in (test.low, row.value, test.high))
            return lines + [f"{start}{test.pin or '-':<8} {low:<12} {value + flag:<15} {high}"]
        lines.append(start + (f"cyc {row.fault.cycle} cnt {row.fault.count}" if row.fault else "ok"))
        if row.fault:
            lines += [f"          Fail pins: {' '.join(row.fault.pins)}"] if row.fault.pins else []
            lines += [f"          A {a:04X} E {w:04X} R {g:04X}" for a, w, g in row.fault.words]
        return lines

    def end(self, dies, bins):
        return [" Site    Sort     Bin"] + [f"    {self.site(d)}    {s:>6}    {h:>4}" for d, (h, s) in zip(dies, bins)]


class Suites(Style):
    """Test suites as paragraphs, limits on both sides of the value, words for the verdict."""
    name = "suites"

    def head(self, meta):
        self.suite = None
        lines = [f"lot {meta['lot']} wafer {meta['wafer']}", f"testprogram {meta['program']} device {meta['product']}",
                 f"started {meta['date']} temp {meta['temp']}"]
        return lines[:self.rng.choice((0, 1, 2, 3))]

    def part(self, number, dies):
        self.suite = None
        return [f"==== touchdown {number} " + " ".join(f"site{self.site(d)}@({d.x},{d.y})" for d in dies)]

    def row(self, row):
        test, lines = row.test, []
        if self.suite != test.name:
            self.suite = test.name
            lines.append(f"{test.name}:")
        verdict = "PASSED" if row.passed else "FAILED"
        start = f"  [{test.number}] site {self.site(row.die)}"
        if test.pattern:
            lines.append(f"{start} ftest {verdict}")
            if row.fault:
                pins = f" pins {','.join(row.fault.pins)}" if row.fault.pins else ""
                lines[-1] += f" first fail cycle {row.fault.cycle}, {row.fault.count} fails{pins}"
                lines += [f"      @{a:#06x} exp {w:#06x} act {g:#06x}" for a, w, g in row.fault.words]
            return lines
        low, value, high = (pretty(v, test.unit, 3, "") for v in (test.low, row.value, test.high))
        pin = f" {test.pin}" if test.pin else ""
        return lines + [f"{start}{pin}: {low} < {value} < {high} {verdict}"]

    def end(self, dies, bins):
        return [f"site {self.site(d)} bin {s} ({'good' if h == 1 else 'bad'})" for d, (h, s) in zip(dies, bins)]

    def note(self, text):
        return [f"// {text}"]


class Records(Style):
    """The text form of binary test records: bars between fields, base units, one letter for the verdict."""
    name = "records"

    def head(self, meta):
        lines = ["Far:A|4|2|U",
                 f"Mir:{meta['lot']}|{meta['product']}|{meta['program']}|{meta['tester']}|{meta['date']}",
                 f"Wir:1|{meta['date']}|1|{meta['wafer']}"]
        return lines[:self.rng.choice((0, 2, 3))]

    def part(self, number, dies):
        return [f"Pir:1|{self.site(d)}" for d in dies]

    def row(self, row):
        test, flag = row.test, "P" if row.passed else "F"
        if test.pattern:
            fault = row.fault
            lines = [f"Ftr:{test.number}|1|{self.site(row.die)}|{flag}|||{test.name}" + (
                f"|{fault.cycle}|{fault.count}|{','.join(fault.pins)}" if fault else "")]
            return lines + ([f"Dtr:{a:04x},{w:04x},{g:04x}" for a, w, g in fault.words] if fault else [])
        low, high = ("" if v is None else f"{v:.5g}" for v in (test.low, test.high))
        name = f"{test.name} {test.pin}".strip()
        return [f"Ptr:{test.number}|1|{self.site(row.die)}|{row.value:.5g}|{flag}|||{name}|||{test.unit}|{low}|{high}"]

    def end(self, dies, bins):
        return [f"Prr:1|{self.site(d)}|{d.x}.{d.y}|{self.rng.randint(20, 180)}|{'P' if h == 1 else 'F'}|{h}|{s}"
                f"|{d.x}|{d.y}"
                for d, (h, s) in zip(dies, bins)]

    def note(self, text):
        return [f"Dtr:{text}"]


class Commas(Style):
    """Comma-separated rows under one heading, as a test executive writes them."""
    name = "commas"

    def head(self, meta):
        lines = [f"Lot ID,{meta['lot']}", f"Program,{meta['program']}", f"Operator,{meta['operator']}"]
        return lines[:self.rng.choice((0, 1, 3))] + ["Site,Number,Test,Pin,Value,Low Limit,High Limit,Units,Status"]

    def part(self, number, dies):
        return [f"Part {number},,,,,,,,"]

    def row(self, row):
        test, status = row.test, "Passed" if row.passed else "Failed"
        start = f"{self.site(row.die)},{test.number},{test.name},{test.pin}"
        if test.pattern:
            lines = [f"{start},{row.fault.count if row.fault else 0},0,0,fails,{status}"]
            if row.fault:
                if row.fault.pins or not row.fault.words:
                    lines.append(f",,cycle {row.fault.cycle},{' '.join(row.fault.pins)},,,,,")
                lines += [f",,addr {a},expected {w:04x},read {g:04x},,,," for a, w, g in row.fault.words]
            return lines
        reference = max((abs(v) for v in (test.low, test.high) if v is not None), default=1) or 1
        _, prefix = scaled(reference, test.unit)
        factor = next(f for f, p in PREFIXES if p == prefix)
        value, low, high = ("" if v is None else f"{v / factor:.5g}" for v in (row.value, test.low, test.high))
        return [f"{start},{value},{low},{high},{prefix}{test.unit},{status}"]

    def end(self, dies, bins):
        return [f"{self.site(d)},,Bin,,{h},,,,{'Passed' if h == 1 else 'Failed'}" for d, (h, s) in zip(dies, bins)]

    def note(self, text):
        return [f"Comment,{text.replace(',', ';')}"]


class Reader(Style):
    """What a reader of binary records prints: number, name, pin, value, limits in brackets, pass or FAIL."""
    name = "reader"

    def head(self, meta):
        return self.rng.choice(([], [], [f"lot {meta['lot']} wafer {meta['wafer']}"]))

    def part(self, number, dies):
        return [] if len(dies) == 1 and number == self.first else [f"part {number}"]

    def row(self, row):
        test, verdict = row.test, "pass" if row.passed else "FAIL"
        site = "" if self.single else f" s{self.site(row.die)}"
        if test.pattern:
            lines = [f"{test.number}{site} {test.name} {verdict}"]
            if row.fault:
                lines[0] += f" n={row.fault.count} cycle={row.fault.cycle} {' '.join(row.fault.pins)}".rstrip()
                lines += [f"  {a:x}: {w:04x} != {g:04x}" for a, w, g in row.fault.words]
            return lines
        low, high = ("-" if v is None else f"{v:.4g}" for v in (test.low, test.high))
        pin = f" <> {test.pin}" if test.pin else " <>"
        return [f"{test.number}{site} {test.name}{pin} {row.value:.6g} {test.unit.lower()} [{low}, {high}] {verdict}"]

    def end(self, dies, bins):
        return [f"hard bin {h} soft bin {s}" for _, (h, s) in zip(dies, bins)] if self.rng.random() < 0.3 else []


class Flags(Style):
    """Terse lines: a flag and an asterisk before the name, one-sided comparisons behind the value."""
    name = "flags"

    def head(self, meta):
        lines = [f">>> {meta['program']}  {meta['product']}  LOT={meta['lot']}  {meta['date']}",
                 f">>> HEAD 1  OPER {meta['operator']}"]
        return lines[:self.rng.choice((0, 1, 2))]

    def part(self, number, dies):
        return [f"-- SN {number:05d} " + " ".join(f"S{self.site(d)}[{d.x}:{d.y}]" for d in dies)]

    def row(self, row):
        test, flag = row.test, " P " if row.passed else "*F*"
        start = f"{test.number:>7}.{self.site(row.die)} {flag} {test.name:<18}"
        if test.pattern:
            lines = [f"{start} <pat>"]
            if row.fault:
                lines[0] += f" v#{row.fault.cycle} x{row.fault.count} {'/'.join(row.fault.pins)}".rstrip()
                lines += [f"             ${a:04X} {w:04X}>{g:04X}" for a, w, g in row.fault.words]
            return lines
        number, prefix = scaled(row.value, test.unit)
        limits = [f"{sign}{pretty(v, test.unit, 2, '')}"
                  for sign, v in (("ge ", test.low), ("le ", test.high)) if v is not None]
        return [f"{start} {test.pin:<6} {number:9.3f}{prefix}{test.unit} ({' '.join(limits)})"]

    def end(self, dies, bins):
        return [f"-- S{self.site(d)} HB{h} SB{s}" for d, (h, s) in zip(dies, bins)]

    def note(self, text):
        return [f">>> {text.upper()}"]


class Stamped(Style):
    """A service log: time stamps, key=value pairs, a verdict word in lower case."""
    name = "stamped"

    def head(self, meta):
        self.seconds = self.rng.randint(0, 86000)
        self.day = meta["date"][:10]
        line = self.stamp(f"lot={meta['lot']} wafer={meta['wafer']} prog={meta['program']}")
        return [line] if self.rng.random() < 0.6 else []

    def stamp(self, text):
        self.seconds += self.rng.randint(0, 1)
        t = self.seconds % 86400
        return f"{t // 3600:02d}:{t // 60 % 60:02d}:{t % 60:02d} {text}"

    def part(self, number, dies):
        return [self.stamp(f"dut={number} x={dies[0].x} y={dies[0].y}")]

    def row(self, row):
        test, verdict = row.test, "ok" if row.passed else "nok"
        start = f"s={self.site(row.die)} t={test.number} {test.name}"
        if test.pattern:
            text = f"{start} {verdict}"
            if row.fault:
                text += f" fails={row.fault.count} cyc={row.fault.cycle}"
                text += f" pins={'+'.join(row.fault.pins)}" if row.fault.pins else ""
                text += "".join(f" {a:04x}:{w:04x}/{g:04x}" for a, w, g in row.fault.words)
            return [self.stamp(text)]
        low, value, high = (pretty(v, test.unit, 4, "") for v in (test.low, row.value, test.high))
        pin = f" pin={test.pin}" if test.pin else ""
        return [self.stamp(f"{start}{pin} v={value} lo={low} hi={high} {verdict}")]

    def end(self, dies, bins):
        return [self.stamp(f"s={self.site(d)} bin={h}/{s}") for d, (h, s) in zip(dies, bins)]

    def note(self, text):
        return [self.stamp(f"note={text}")]


STYLES = (Columns, Suites, Records, Commas, Reader, Stamped, Flags)
HELD_OUT = Flags
