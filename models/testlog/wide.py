"""Layouts drawn more widely than those of layouts.py, for models that find fields: words, signs and places by chance.

A layout draws the order of its fields, what stands between, before and behind each, how fields are called
(spelling.py), how numbers, units, limits, verdicts and places are printed, and fields that have no label. The eight
kinds differ in what makes a row: line, columns, pairs, block, nested, sentence, grouped, codes. Two of them are
never trained (APART): they show what a model makes of a kind of layout that it has not learnt.
Text may carry the marks of make_spans.py, so it is padded by what is seen of it.
"""
import spelling
from layouts import VERDICTS
from styles import PREFIXES, Style, scaled

UNITS = {"V": ("V",) * 5 + ("v", "volt", "Volts", "VDC"), "A": ("A",) * 5 + ("a", "amp", "Amps", "ADC"),
         "s": ("s", "s", "s", "S", "sec", "second"), "Ohm": ("Ohm", "Ohm", "ohm", "R", "OHMS"),
         "Hz": ("Hz", "Hz", "HZ", "hz", "hertz"), "%": ("%", "%", "%", "pct", "percent"),
         "C": ("C", "C", "degC", "cel"), "LSB": ("LSB", "lsb", "codes", "steps")}
LONG = {"G": "giga", "M": "mega", "k": "kilo", "m": "milli", "u": "micro", "n": "nano", "p": "pico", "": ""}
BRACKETS = (("(", ")"), ("[", "]"), ("<", ">"), ("{", "}"), ("'", "'"), ('"', '"'), ("|", "|"), ("*", "*"))
JOINTS = ("=", "=", ":", ":", " ", ": ", " = ", " : ", "->", ":=", "~", ". ")
SIGNS = ((">=", "<="), (">", "<"), (">= ", "<= "), ("=>", "=<"), ("+", "-"), ("/", "\\"), ("^", "_"), ("min ", "max "),
         ("from ", "to "), ("over ", "under "), ("above ", "below "), ("more than ", "less than "), ("lo=", "hi="))
MARKS = "!#%&*+,-./:;=?@^_|~"
NOTES = "#;!*%/~-+:&?"
TAIL = ("site", "x", "y", "verdict", "hard_bin", "soft_bin", "count")   # what the end of a part may tell


def seen(text):
    """The text's length without marks."""
    return sum(not "\ue000" <= c <= "\ue0ff" for c in text)


def pad(text, width, right=False, fill=" "):
    more = fill * (width - seen(text))
    return more + text if right else text + more


class Quantities:
    """How a value, a limit and their unit are printed."""

    def __init__(self, rng):
        self.form = rng.choice(("prefix", "prefix", "scaled", "scaled", "base"))
        self.digits = rng.choice((1, 2, 3, 3, 4, 6))
        self.plain = rng.choice((".4g", ".6g", ".3e", ".5E", ".3f", ".4G")) if self.form == "base" else ""
        self.sign = rng.choice(("",) * 9 + ("+",))
        self.comma = rng.random() < 0.05
        self.glue = rng.choice(("", "", " ", " ", "  ", "_"))
        self.wrap = rng.choice(("{}",) * 8 + ("[{}]", "({})", "<{}>", "/{}"))
        self.before = rng.random() < 0.04
        self.spoken = rng.random() < 0.05
        self.spelled = {unit: spelling.letters(rng, 1, 3) if rng.random() < 0.04 else rng.choice(names)
                        for unit, names in UNITS.items()}
        self.missing = rng.choice(("", "", "-", "--", "N/A", "na", "none", "*", "---", "inf", "null", "nan", "NO LIMIT",
                                   "x", "."))

    def unit(self, prefix, unit):
        text = str.__str__(unit)
        if not text:
            return ""
        return format(type(unit)((LONG[prefix] if self.spoken else prefix) + self.spelled.get(text, text)))

    def split(self, value, test):
        """(digits, unit)."""
        if value is None:
            return self.missing, ""
        if str.__str__(test.unit) == "":
            return f"{value:g}", ""
        prefix, number, spec = "", value, self.sign + self.plain
        if self.form != "base":
            ends = [abs(v) for v in (test.low, test.high) if v is not None]
            number, prefix = scaled(value, test.unit)
            if self.form == "scaled":
                _, prefix = scaled(max(ends, default=1) or 1, test.unit)
                number = value / next(f for f, p in PREFIXES if p == prefix)
            spec = f"{self.sign}.{self.digits}{'f' if abs(number) < 1e5 else 'g'}"
        digits = format(number, spec)
        return digits.replace(".", ",") if self.comma else digits, self.unit(prefix, test.unit)

    def text(self, value, test):
        digits, unit = self.split(value, test)
        if not unit:
            return digits
        unit = self.wrap.format(unit)
        return f"{unit}{self.glue or ' '}{digits}" if self.before else f"{digits}{self.glue}{unit}"


class Ends:
    """Both limits in one field."""

    def __init__(self, rng):
        self.signs = rng.choice(SIGNS)
        if rng.random() < 0.6:
            joint = rng.choice(JOINTS)
            joint = rng.choice((" ", joint))
            self.signs = tuple(spelling.key(rng, field, 0.3) + joint for field in ("low", "high"))
        self.pair = rng.random() < 0.5
        self.sides = "both" if rng.random() < 0.6 else rng.choice(("broken", "given"))
        self.mid = rng.choice((", ", ",", " ", " .. ", "..", "/", ";", " to ", ":", " : ", " - ", "|", " & ", "~",
                               " ; "))
        self.open, self.close = rng.choice((("", ""),) * 2 + BRACKETS[:5])

    def text(self, row, show):
        test = row.test
        sides = [(self.signs[0], test.low), (self.signs[1], test.high)]
        if self.pair:
            return self.open + self.mid.join(show(v) for _, v in sides) + self.close
        if self.sides == "broken" and not row.passed:
            sides = sides[:1] if test.low is not None and row.value < test.low else sides[1:]
        if self.sides != "both":
            sides = [(sign, v) for sign, v in sides if v is not None]
        text = self.mid.join(sign + show(v) for sign, v in sides)
        return self.open + text + self.close if text else ""


class Verdict:
    def __init__(self, rng):
        self.good, self.bad = rng.choice(VERDICTS)
        if rng.random() < 0.25:
            self.good, self.bad = (rng.choice(spelling.CASES)(spelling.allowed(
                rng, lambda r: spelling.letters(r, 1, 6))) for _ in "gb")
            self.good = rng.choice((self.good, ""))
        if rng.random() < 0.25:
            start, end = rng.choice(BRACKETS)
            self.bad = start + self.bad + end
        self.length = max(len(self.good), len(self.bad))

    def text(self, passed):
        return self.good if passed else self.bad


class Details:
    """A failing pattern run: cycle, count and pins, and the words that were read back."""

    def __init__(self, rng):
        self.rng = rng
        self.order = rng.sample(("cycle", "count", "detail"), rng.choice((1, 2, 3, 3, 3)))
        joint = rng.choice(JOINTS + ("", "#"))
        self.lead = {k: "" if rng.random() < 0.2 else spelling.key(rng, k, 0.2) + joint for k in self.order}
        self.gap = rng.choice((" ", " ", "  ", ", ", "; ", " | ", "/"))
        self.pins = rng.choice((",", ", ", " ", "+", ";", "|", "/", " & "))
        self.indent = rng.choice(("  ", "      ", "\t", "> ", "", ". ", "+ ", "| ", "    - ", "          "))
        self.below, self.beside = rng.random() < 0.4, rng.random() < 0.25
        self.passed = rng.choice(("", "", "", spelling.letters(rng, 2, 6), "0", "vectors", "-", "(pattern)", "func"))
        self.most = rng.choice((1, 2, 3, 6))
        self.word = self.draw_word(rng)

    def draw_word(self, rng):
        """Address, wanted and read word, each with something before it and between."""
        mark = rng.choice(("", "", "0x", "#", "h'", "&", "@", "%", "x", "16r"))
        base = rng.choice(("04X", "04x", "x", "X", "d", "06d", "08x", "016b"))
        names = [rng.choice(("", "", spelling.key(rng, k, 0.3) + rng.choice(("=", ":", " "))))
                 for k in ("address", "want", "got")]
        first = rng.choice((" ", ": ", ":", " - ", "] ", ", ", "/", " -> "))
        second = rng.choice((" ", "!=", "/", " -> ", "|", " != ", " vs ", ",", "<>", "~", ">", "<", ":", " was "))
        behind = rng.choice(("",) * 6 + ("h", " x", " diff"))
        return (f"{names[0]}{mark}{{a:{rng.choice(('04x', '04X', 'd', 'x'))}}}{first}{names[1]}{mark}{{w:{base}}}"
                f"{second}{names[2]}{mark}{{g:{base}}}{behind}")

    def counts(self, fault):
        parts = {"cycle": str(fault.cycle), "count": str(fault.count), "detail": self.pins.join(fault.pins)}
        return self.gap.join(self.lead[k] + parts[k] for k in self.order if parts[k])

    def text(self, fault):
        """(in the row, lines below)."""
        if not fault:
            return self.passed, []
        beside = self.counts(fault)
        words = [self.word.format(a=a, w=w, g=g) for a, w, g in fault.words[:self.most]]
        below = [] if self.beside else words
        if self.beside:
            beside = self.gap.join([beside] + words)
        if self.below:
            beside, below = "", [beside] + below
        return beside, [self.indent + line for line in below]


class Place:
    """Site and coordinates of a die, and its bins."""

    def __init__(self, rng):
        def lead(field, strange=0.05):
            return spelling.key(rng, field, strange) + rng.choice(JOINTS + ("", "", "#"))
        self.site = rng.choice(("", "#", "s", "S", lead("site"), lead("site")))
        self.open, self.close = rng.choice(BRACKETS[:4] + (("", ""), ("@", ""), ("@(", ")"), (" at ", "")))
        self.mid = rng.choice((",", ", ", ";", ":", "/", " ", "|", "_", " x "))
        self.pair = rng.random() < 0.55             # coordinates without names
        self.xy = [lead(k) for k in "xy"]
        self.shown = rng.random() < 0.75
        self.bins = self.draw_bins(rng)
        strange = rng.choice((0.05, 0.05, 0.5))
        self.lead = {k: lead(k, strange) for k in self.bins}
        if len(self.bins) == 2 and rng.random() < 0.15:     # both behind one name
            self.lead = {self.bins[0]: spelling.key(rng, "bins", 0.1) + rng.choice(JOINTS), self.bins[1]: ""}
        self.bin_gap = rng.choice((" ", " ", "  ", ",", ", ", "; ", "/", " | "))

    def draw_bins(self, rng):
        """One of both, or both, most often the hard one first as in STDF's record of a part."""
        if rng.random() < 0.3:
            return [rng.choice(("hard_bin", "soft_bin"))]
        return ["hard_bin", "soft_bin"] if rng.random() < 0.85 else ["soft_bin", "hard_bin"]

    def where(self, die):
        if not self.shown:
            return ""
        x, y = f"{die.x}", f"{die.y}"
        if self.pair:
            return f"{self.open}{x}{self.mid}{y}{self.close}"
        return f"{self.open}{self.xy[0]}{x}{self.mid}{self.xy[1]}{y}{self.close}"

    def result(self, hard, soft):
        values = {"hard_bin": hard, "soft_bin": soft}
        return self.bin_gap.join(f"{self.lead[k]}{values[k]}" for k in self.bins)


class Heading:
    """Lines before the first part: named fields, some bare, some of no interest."""
    FIELDS = ("program", "lot", "wafer", "product", "temp", "operator", "tester", "date")

    def __init__(self, rng):
        self.rng = rng
        self.fields = rng.sample(self.FIELDS, rng.choice((0, 1, 2, 3, 4, 5, 8)))
        self.joint = rng.choice(JOINTS + ("\t", ",", "....: ", " is "))
        self.names = {k: spelling.key(rng, k, 0.04) for k in self.fields}
        self.bare = {k for k in self.fields if k not in ("wafer", "temp") and rng.random() < rng.choice((0, 0, 0.5, 1))}
        self.gap = rng.choice((None, None, " ", "  ", ", ", " | ", "; ", "/", "\t"))
        self.width = rng.choice((0, 0, 12, 18))
        self.start, self.end = rng.choice((("", ""),) * 5 + (
            ("# ", ""), ("* ", " *"), ("== ", " =="), ("[", "]"), ("; ", ""), ("| ", " |"), ("%% ", ""), ("<", ">"),
            ("--- ", "")))
        self.rule = rng.choice(("", "", rng.choice(MARKS) * rng.randint(8, 30)))
        self.quote = rng.choice(("",) * 7 + ('"', "'"))

    def lines(self, meta):
        out = []
        for k in self.fields:
            text = f"{self.quote}{meta[k]}{self.quote}"
            out.append(text if k in self.bare else pad(self.names[k], self.width) + self.joint + text)
        if self.rng.random() < 0.2:
            out.insert(self.rng.randint(0, len(out)), spelling.allowed(self.rng, spelling.word))
        if self.gap and out:
            out = [self.gap.join(out)]
        out = [self.start + line + self.end for line in out]
        return out + [self.rule] if self.rule else out


class Wide(Style):
    """A row is a list of fields; the kinds differ in how they become lines."""
    telling = False     # whether a row says which of its names is the pin's, so that it may stand first

    def __init__(self, rng):
        super().__init__(rng)
        self.numbers, self.limits, self.verdict = Quantities(rng), Ends(rng), Verdict(rng)
        self.details, self.place, self.heading = Details(rng), Place(rng), Heading(rng)
        self.order = self.draw_order(rng)
        self.bare_limits = rng.random() < 0.4 and self.numbers.form != "prefix"
        self.zeros = rng.choice(("d",) * 8 + ("05d", "06d", "08d"))
        self.shout = rng.choice((str,) * 10 + (str.upper, str.lower))
        self.always = rng.random() < 0.5
        self.strange = rng.choice((0.03, 0.1, 0.3))
        self.word = spelling.key(rng, "part", 0.15)
        self.part_mark = rng.choice(("", "", "--- ", "== ", "* ", "# ", "> ", "@", "+ ", "~~ ", ": ", "[", "% ")), \
            rng.choice(("", "", "", " ---", "]", ":", " {", " *"))
        self.part_zeros = rng.choice(("d", "d", "04d", "06d"))
        self.part_joint = rng.choice((" ", " ", "#", ": ", "=", "_"))
        self.part_sites = rng.random() < 0.5
        self.tail = rng.sample(("site", "where", "verdict", "bins", "count"), rng.randint(1, 4))
        if "bins" not in self.tail and rng.random() < 0.75:     # the end of a part nearly always tells its bins
            self.tail.insert(rng.randint(0, len(self.tail)), "bins")
        self.tail_names = {k: spelling.key(rng, k, 0.05) for k in TAIL} if rng.random() < 0.2 else {}
        self.tail_gap = rng.choice((" ", " ", "  ", ", ", " | ", ";", "\t", ": "))
        self.tail_mark = rng.choice(("", "", "", "> ", "-- ", "* ", "end ", "=> ", "# ",
                                     spelling.key(rng, "part", 0.5) + " "))
        self.remark = rng.choice(("", rng.choice(NOTES) * rng.randint(1, 3) + " ", spelling.letters(rng, 2, 5) + ": "))
        self.clock = rng.choice(("{t} ", "[{t}] ", "{t}.{ms:03d} ", "+{s} ", "{s}|", "{t},", "<{t}> ")) \
            if rng.random() < 0.12 else ""
        self.seconds = rng.randint(100, 80000)
        self.extra = {k: self.draw_extra(rng) for k in ("extra1", "extra2")}
        self.section = self.draw_section(rng) if rng.random() < 0.2 else None

    def draw_order(self, rng):
        """Fields from left to right, with up to two that have no label."""
        who = rng.sample(("number", "site", "name", "pin"), 4)
        if not self.telling:
            a, b = sorted((who.index("name"), who.index("pin")))
            who[a], who[b] = "name", "pin"
        if rng.random() < 0.2:
            who.remove(rng.choice(("number", "site")))
        what = list(rng.choice((("low", "value", "high"), ("value", "low", "high"), ("low", "high", "value"),
                                ("value", "limits"), ("value", "limits"), ("limits", "value"), ("value",))))
        if self.numbers.form != "prefix" and rng.random() < 0.5:
            what.insert(rng.choice((what.index("value") + 1, len(what))), "unit")
        order = what + who if rng.random() < 0.08 else who + what
        for extra in ("verdict", "extra1", "extra2")[:rng.choice((1, 1, 1, 2, 3))]:
            order.insert(rng.randint(0, len(order)), extra)
        if "unit" in order and order[order.index("unit") - 1] not in ("value", "low", "high", "limits"):
            order.remove("unit")
            order.insert(order.index("value") + 1, "unit")
        return order

    def draw_extra(self, rng):
        """A field that has no label: a constant word, a hexadecimal code, a time of day, a counter with its name."""
        kind = rng.choice(("word", "hex", "time", "named", "flag", "forced"))
        constant = spelling.allowed(rng, lambda r: rng.choice(spelling.CASES)(spelling.letters(r, 1, 6)))
        lead = spelling.letters(rng, 2, 5) + rng.choice(("=", ":", "#"))
        forced = spelling.key(rng, "forced", 0.1) + rng.choice(("=", ":", " ", " = ")) + "{:.4g}" + rng.choice(
            ("V", "V", " V", "mA", "MHz", "ns", ""))
        return {"word": lambda: constant, "hex": lambda: f"0x{rng.randrange(1 << 16):04x}",
                "time": lambda: f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}",
                "named": lambda: f"{lead}{rng.randint(0, 500)}", "flag": lambda: rng.choice(MARKS),
                "forced": lambda: forced.format(rng.choice((0, 0.5, 0.9, 1, 1.08, 1.2, 1.62, 1.8, 2.5, 3.3, 5, 10, 25,
                                                            100)))}[kind]

    def draw_section(self, rng):
        """The line before the tests of a section: a few words between signs."""
        start, end = rng.choice((("", ""), ("--- ", " ---"), ("* ", ""), ("[", "]"), ("== ", " =="), ("# ", ""),
                                 ("", ":"), ("section ", ""), ("> ", ""), ("{", "}")))
        return lambda: start + " ".join(spelling.allowed(rng, spelling.word) for _ in range(rng.randint(1, 3))) + end

    # ---- fields -----------------------------------------------------------------------------------------------

    def fields(self, row):
        """[(field, text)] in order, without those that are empty, and the lines below."""
        test, below = row.test, []
        fields = {"number": format(test.number, self.zeros), "name": f"{test.name}", "pin": f"{test.pin}",
                  "verdict": self.verdict.text(row.passed), "extra1": self.extra["extra1"](),
                  "extra2": self.extra["extra2"](),
                  "site": f"{self.site(row.die)}" if self.always or not self.single else ""}
        order = self.order
        if test.pattern:
            fields["detail"], below = self.details.text(row.fault)
            order = ["detail" if k == "value" else k for k in order if k not in ("low", "high", "limits", "unit")]
        else:
            apart = "unit" in order
            show = (lambda v: self.numbers.split(v, test)[0]) if apart else (lambda v: self.numbers.text(v, test))
            ends = (lambda v: self.numbers.split(v, test)[0]) if apart or self.bare_limits else show
            fields |= {"value": show(row.value), "low": ends(test.low), "high": ends(test.high),
                       "limits": self.limits.text(row, ends), "unit": self.numbers.split(row.value, test)[1]}
        return [(k, fields[k]) for k in order], below

    # ---- what a style prints ----------------------------------------------------------------------------------

    def done(self, lines):
        out = []
        for line in lines:
            stamp = ""
            if self.clock:
                self.seconds += self.rng.randint(0, 1)
                s = self.seconds
                stamp = self.clock.format(t=f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}", s=s,
                                          ms=self.rng.randrange(1000))
            out.append(self.shout(stamp + line).rstrip(" "))
        return out

    def head(self, meta):
        return self.done(self.heading.lines(meta))

    def part(self, number, dies):
        if len(dies) == 1 and number == self.first and self.rng.random() < 0.3:
            return []
        places = [" ".join(filter(None, (self.place.site + f"{self.site(d)}" if self.part_sites else "",
                                         self.place.where(d)))) for d in (dies if self.part_sites else dies[:1])]
        text = f"{self.word}{self.part_joint}{number:{self.part_zeros}}"
        return self.done([self.part_mark[0] + " ".join(filter(None, [text] + places)) + self.part_mark[1]])

    def row(self, row):
        fields, below = self.fields(row)
        section = [self.section()] if self.section and self.rng.random() < 0.15 else []
        return self.done(section + self.lines(fields) + below)

    def end(self, dies, bins):
        if "bins" not in self.tail and self.rng.random() < 0.5:
            return []
        if self.tail_names:
            return self.done(self.table(dies, bins))
        lines = []
        for die, (hard, soft) in zip(dies, bins):
            parts = {"site": self.place.site + f"{self.site(die)}", "where": self.place.where(die),
                     "verdict": self.verdict.text(int(hard) == 1), "bins": self.place.result(hard, soft),
                     "count": f"n={self.rng.randint(20, 400)}"}
            lines.append(self.tail_mark + self.tail_gap.join(filter(None, (parts[k] for k in self.tail))))
        return self.done(lines)

    def table(self, dies, bins):
        """Lines of bare fields below the line of their names."""
        columns = [c for k in self.tail for c in {"where": "xy", "bins": self.place.bins}.get(k, (k,))]
        rows = [self.tail_names] + [
            {"site": f"{die.site}", "x": f"{die.x}", "y": f"{die.y}", "verdict": self.verdict.text(int(hard) == 1),
             "hard_bin": f"{hard}", "soft_bin": f"{soft}", "count": str(self.rng.randint(20, 400))}
            for die, (hard, soft) in zip(dies, bins)]
        width = 0 if self.tail_gap.strip() else max(seen(row[c]) for row in rows for c in columns)
        return [self.tail_mark + self.tail_gap.join(pad(row[c], width) for c in columns) for row in rows]

    def note(self, text):
        if self.rng.random() < 0.3:
            text = " ".join(spelling.allowed(self.rng, spelling.word) for _ in range(self.rng.randint(1, 6)))
        return self.done([self.remark + text])


NEAR = {"number", "site", "pin"}        # fields that a single sign may join


class Joined(Wide):
    """Fields one behind another, with names, brackets or nothing around each and drawn signs between."""
    named = (0, 0, 0.2, 0.6)
    GAPS = ("  ", "  ", " ", " ", "\t", ",", ", ", ";", "|", " | ", " : ", " / ", " - ", " ! ", "; ")

    def __init__(self, rng):
        super().__init__(rng)
        self.gap = rng.choice(self.GAPS)
        share = rng.choice(self.named)
        slots = self.order + ["detail"]
        self.around = {k: self.draw_around(rng, k, share) for k in slots}
        self.special = {("name", "pin"): rng.choice(("@", ":", "/", "|", "->", " @ ", " / ", " : "))} \
            if rng.random() < 0.1 else {}       # a pin that a sign joins to its test
        for left, right in zip(self.order, self.order[1:]):
            if rng.random() < 0.2 and "name" not in (left, right):
                near = left in NEAR and right in NEAR and not self.around[right][0]
                self.special[left, right] = rng.choice("./:-_@#|,;") if near else rng.choice(
                    (" - ", " : ", " | ", " -> ", " => ", " @ ", "; ", " ~ ", " # ", "    "))

    def draw_around(self, rng, field, share):
        if field.startswith("extra") or field == "detail":
            return "", ""
        if rng.random() < share:
            joint = rng.choice(JOINTS)
            if field in ("number", "site") and rng.random() < 0.3:
                joint = ""
            name = spelling.key(rng, field, self.strange if field not in ("low", "high") else 0.1)
            return (name + joint, "") if rng.random() < 0.95 else ("", f" {name}")
        how = rng.random()
        if how < 0.15:
            return rng.choice(BRACKETS)
        if how < 0.22 and field not in ("value", "low", "high"):
            return rng.choice(MARKS), ""
        return "", ""

    def lines(self, fields):
        text, last = "", None
        for k, field in fields:
            if not field and self.gap.strip() == "" and self.gap != "\t":
                continue
            start, end = self.around[k] if field else ("", "")
            if last is not None:
                gap = self.special.get((last, k), self.gap)
                if gap == " " and "name" in (last, k):
                    gap = "  "      # a name may have spaces of its own
                text += gap
            text, last = text + start + field + end, k
        return [text]


class Line(Joined):
    name = "line"


class Pairs(Joined):
    """Nearly all fields with their names."""
    name, telling = "pairs", True
    named = (0.85, 1)


class Codes(Joined):
    """Records: a code of what the line is, then fields between one sign, empty ones too, nothing named."""
    name = "codes"
    named = (0,)
    GAPS = ("|", ";", ",", ":", "/", "!", "\t")

    def __init__(self, rng):
        super().__init__(rng)
        self.special, self.around = {}, {k: ("", "") for k in self.around}
        self.codes = [spelling.allowed(rng, lambda r: spelling.letters(r, 1, 3)).upper() for _ in range(4)]
        self.behind = rng.choice((":", self.gap, " ", "=", "> "))

    def lines(self, fields):
        return [self.codes[0] + self.behind + line for line in super().lines(fields)]

    def head(self, meta):
        self.heading.gap, self.heading.start, self.heading.end = self.gap, self.codes[1] + self.behind, ""
        return super().head(meta)

    def end(self, dies, bins):
        self.tail_mark, self.tail_gap, self.place.bin_gap = self.codes[2] + self.behind, self.gap, self.gap
        return super().end(dies, bins)


class Columns(Wide):
    """Fields padded to a width, with or without names above."""
    name = "columns wide"

    def __init__(self, rng):
        super().__init__(rng)
        self.widths = {k: rng.randint(2, 6) + {"name": rng.randint(6, 20), "value": 6, "low": 5, "high": 5,
                                               "limits": 12, "number": 4, "pin": 4}.get(k, 1) for k in self.order}
        self.right = {k for k in self.order if rng.random() < 0.4}
        self.fill = rng.choice((" ",) * 8 + (".",))
        self.gap = rng.choice(("  ", "  ", " ", " | ", "| ", " ! "))
        self.names = {k: spelling.key(rng, k, 0.1) for k in self.order if not k.startswith("extra")}
        self.headed, self.empty = rng.random() < 0.5, rng.choice(("", "", "", "-", ".", "--"))

    def lines(self, fields):
        texts = []
        for k, field in fields:
            fill = self.fill if k == "name" else " "
            texts.append(pad(field or self.empty, self.widths.get(k, 6), k in self.right and k != "name", fill))
        return [self.gap.join(texts)]

    def head(self, meta):
        above = [self.gap.join(pad(self.names.get(k, ""), self.widths[k]) for k in self.order)] if self.headed else []
        return super().head(meta) + self.done(above)


class Block(Wide):
    """A row over several lines: who in the first, a field or two in each that follows."""
    name, telling = "block", True

    def __init__(self, rng):
        super().__init__(rng)
        self.joint, self.indent = rng.choice(JOINTS), rng.choice(("", "  ", "\t", "    ", "- ", ". ", "| "))
        self.names = {k: spelling.key(rng, k, 0.05) for k in self.order + ["detail"] if not k.startswith("extra")}
        self.width, self.each = rng.choice((0, 0, 10, 16)), rng.choice((1, 1, 2, 3))
        self.gap, self.close = rng.choice(("  ", ", ", "; ", " | ")), rng.choice(("", "", "", "}", "---", ";", "end"))
        self.bare = {k for k in self.names if k in ("name", "verdict") and rng.random() < 0.4}

    def lines(self, fields):
        texts = [f if k in self.bare or k not in self.names else pad(self.names[k], self.width) + self.joint + f
                 for k, f in fields if f]
        lines = [self.gap.join(texts[i:i + self.each]) for i in range(0, len(texts), self.each)]
        return lines[:1] + [self.indent + line for line in lines[1:]] + ([self.close] if self.close else [])


class Nested(Wide):
    """Objects of braces or elements of angles, on one line."""
    name, telling = "nested", True

    def __init__(self, rng):
        super().__init__(rng)
        self.angles, self.quote = rng.random() < 0.5, rng.choice(('"', '"', "'", ""))
        self.names = {k: spelling.letters(rng, 2, 5) if k.startswith("extra") else
                      spelling.key(rng, k, 0.05).replace(" ", "_").replace(".", "_") for k in self.order + ["detail"]}
        self.element = spelling.letters(rng, 3, 6)
        self.space = rng.choice(("", " "))

    def lines(self, fields):
        q = self.quote
        if self.angles:
            inner = " ".join(f"{self.names[k]}={q or chr(34)}{f}{q or chr(34)}" for k, f in fields if f)
            return [f"<{self.element} {inner}/>"]
        number = {"number", "site", "value", "low", "high"}
        values = [(k, f if k in number and " " not in f else f"{q}{f}{q}") for k, f in fields if f]
        return ["{" + f",{self.space}".join(f"{q}{self.names[k]}{q}:{self.space}{f}" for k, f in values) + "}"]


class Sentence(Wide):
    """Words around the fields, in a drawn order of clauses."""
    name, telling = "sentence", True

    CLAUSES = {"number": ("test {}", "no {}", "step {}", "({})", "#{}", "in test {}"),
               "site": ("site {}", "on site {}", "at socket {}", "for dut {}", "slot {}"),
               "name": ("{}", "test {}", "'{}'", "measurement {}", "item \"{}\"", "checking {}", "{}:"),
               "pin": ("pin {}", "on {}", "at pin {}", "of signal {}", "for net {}", "channel {}"),
               "value": ("was {}", "measured {}", "is {}", "reads {}", "gave {}", "returned {}", "= {}", "found {}",
                         "got {}"),
               "low": ("at least {}", "not below {}", "min {}", "lower limit {}", "over {}", "minimum {}", "above {}"),
               "high": ("at most {}", "not above {}", "max {}", "upper limit {}", "under {}", "maximum {}", "below {}"),
               "limits": ("limits {}", "allowed {}", "expected {}", "must be {}", "should lie {}", "range {}"),
               "unit": ("{}", "in {}", "[{}]"), "verdict": ("{}", "-> {}", "so {}", "result {}", "({})"),
               "detail": ("{}", "with {}", "because {}")}

    def __init__(self, rng):
        super().__init__(rng)
        self.clauses = {k: rng.choice(v) for k, v in self.CLAUSES.items()}
        self.gap, self.stop = rng.choice((" ", " ", ", ", "; ")), rng.choice(("", "", ".", ";"))

    def lines(self, fields):
        return [self.gap.join(self.clauses.get(k, "{}").format(f) for k, f in fields if f) + self.stop]


class Grouped(Joined):
    """The name, or number and name, once; its pins and sites below."""
    name = "grouped wide"

    def __init__(self, rng):
        super().__init__(rng)
        self.title = rng.choice(("{}:", "{}", "* {}", "[{}]", "<{}>", "-> {}", "{} {{", "= {} =", "({})", "+ {}",
                                 "{} ->"))
        lead = spelling.key(rng, "name", 0.1)
        self.title = rng.choice((self.title, lead + rng.choice(JOINTS) + "{}"))
        self.indent, self.open = rng.choice(("  ", "\t", "    ", "- ", " . ", "| ")), None

    def part(self, number, dies):
        self.open = None
        return super().part(number, dies)

    def row(self, row):
        fields, below = self.fields(row)
        title = [] if self.open == row.test.name else [self.title.format(row.test.name)]
        self.open = row.test.name
        rest = [(k, f) for k, f in fields if k != "name"]
        return self.done(title + [self.indent + line for line in self.lines(rest) + below])


KINDS = (Line, Columns, Pairs, Block, Nested, Sentence, Grouped, Codes)
APART = (Block, Nested)     # the two that have no like in layouts.py and styles.py
TRAINED = [k for k in KINDS if k not in APART]


def draw(rng, apart=False):
    """The class of a layout: lines are the most common kind."""
    return rng.choice(APART if apart else TRAINED + [Line, Line])
