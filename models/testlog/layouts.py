"""Layouts drawn at random: each log gets one of its own, so that a model cannot learn layouts by heart.

A layout is drawn from small independent choices: how numbers, limits, verdicts and failing pattern runs are
printed (Numbers, Limits, Verdict, Patterns), what stands around the rows (Frame), and in which order and with what
between them the fields of a row come (Drawn and its four kinds: table, keyed, worded, grouped). The held-out style
`flags` stays out of reach: no drawn layout has its flag, its pattern marks, or its words for one-sided limits.
"""
from styles import PREFIXES, Style, scaled

VERDICTS = (("PASS", "FAIL"), ("pass", "fail"), ("Pass", "Fail"), ("P", "F"), ("p", "f"), ("ok", "nok"), ("OK", "NG"),
            ("ok", "FAIL"), ("passed", "failed"), ("PASSED", "FAILED"), ("0", "1"), ("1", "0"), ("", "*"), ("", "!"),
            ("", "<<"), ("", "FAIL"), ("", "<-- fail"), ("+", "-"), ("good", "bad"), ("GOOD", "REJECT"), (".", "X"),
            ("true", "false"), ("in", "OUT"), ("", "***"), ("OK", "ERR"), ("[ ]", "[x]"), ("-", "F"), ("y", "n"),
            ("pass", "**FAIL**"), ("", "(F)"), ("", "fails"), ("T", "F"), ("ok", "error"), ("--", "!!"))
SIDED = (("", "LO", "HI"), ("ok", "low", "high"), ("P", "FL", "FH"), ("PASS", "FAIL<", "FAIL>"), ("", "-", "+"),
         ("pass", "fail lo", "fail hi"), ("in", "below", "above"))
LIMITS = ("[{l}, {h}]", "[{l} {h}]", "({l} .. {h})", "{l}..{h}", "{l}/{h}", "<{l};{h}>", "{l} to {h}",
          "min {l} max {h}", "lo={l} hi={h}", "LL={l} UL={h}", "L:{l} H:{h}", "LSL {l} USL {h}", "lim {l},{h}",
          "limits {l} : {h}", "{{{l},{h}}}", "({l};{h})")
WORDS = ("{a:04X} exp {w:04X} act {g:04X}", "@{a:x} {w:04x}!={g:04x}", "addr={a:#x} exp={w:#x} got={g:#x}",
         "[{a:04x}] {w:04x} -> {g:04x}", "A:{a:04X} E:{w:04X} R:{g:04X}", "{a:x} {w:04x} {g:04x}",
         "loc {a:x} want {w:04x} read {g:04x}", "{a}: {w:04X}h/{g:04X}h", "adr {a:04x} data {g:04x} diff {d:04x}",
         "a={a} x={w:04x} y={g:04x}", "row {a:x} should {w:04X} is {g:04X}", "{a:05x}h {d:016b}")
CYCLE = ("cyc", "cycle", "vec", "vector", "fcyc", "first", "at", "line", "step", "offset")
COUNT = ("cnt", "count", "fails", "n", "errs", "nfail", "errors", "failcount", "total")
PINS = ("pins", "failpins", "ch", "on", "pin", "sig", "outputs")
HEAD = {"program": ("Program", "prog", "TestProgram", "job", "PGM", "recipe"),
        "lot": ("Lot", "lot_id", "LOT", "batch", "lotid"), "wafer": ("Wafer", "wfr", "W", "slice", "wafer_id"),
        "operator": ("Operator", "oper", "user", "by"), "tester": ("Tester", "node", "station", "system", "host"),
        "product": ("Product", "device", "part_type", "dut type", "material"),
        "date": ("Date", "start", "time", "begin"), "temp": ("Temp", "T", "temperature", "TEMP_C")}
PARTS = ("Part", "DUT", "Die", "Unit", "Device", "chip", "TD", "Serial", "sample", "touchdown", "part_id", "run")
NOTES = ("# ", "// ", "; ", "! ", "NOTE ", "note: ", "* ", "REM ", "INFO ", "comment: ", "% ", "msg=")
KEYS = {"number": ("t", "num", "tn", "test", "id", "no"), "site": ("s", "site", "st", "head"),
        "name": ("name", "test", "item", "tname", "desc"), "pin": ("pin", "p", "sig", "ch", "node"),
        "value": ("v", "val", "meas", "value", "res", "m"), "unit": ("u", "unit", "units"),
        "low": ("lo", "min", "ll", "lsl", "lower"), "high": ("hi", "max", "ul", "usl", "upper"),
        "limits": ("lim", "limits", "spec", "window"), "verdict": ("r", "result", "status", "pf", "verdict", "stat"),
        "detail": ("info", "pat", "fail", "detail")}
LEADS = {"number": ("test ", "#", "no. ", "T"), "site": ("site ", "on site ", "s", "at site "),
         "name": ("", "", "test "), "pin": ("on ", "pin ", "at ", "@", "of "),
         "value": ("measured ", "meas ", "reads ", "is ", "= ", "result ", "got "), "unit": ("",),
         "low": ("min ", "low ", "from ", "lower "), "high": ("max ", "high ", "to ", "upper "),
         "limits": ("limits ", "spec ", "expected ", "allowed ", "range "),
         "verdict": ("", "", ": ", "-> ", "=> ", "- "), "detail": ("", "", "pattern ")}
WIDTHS = {"number": 7, "site": 3, "name": 17, "pin": 6, "value": 10, "unit": 4, "low": 9, "high": 9, "verdict": 5}


class Numbers:
    """How a value is printed: with a prefix of its own, with the one of its limits, or in the base unit."""

    def __init__(self, rng):
        self.form = rng.choice(("prefix", "prefix", "scaled", "scaled", "base"))
        self.digits = rng.choice((3, 3, 3, 4))
        self.glue = rng.choice(("", " "))
        self.plain = rng.choice((".{}g", ".{}e", ".{}E", ".{}G", "+.{}e")).format(self.digits)
        self.missing = rng.choice(("", "-", "N/A", "na", "none", "***", "inf"))
        self.seconds, self.ohms = rng.choice(("s", "s", "S", "sec")), rng.choice(("Ohm", "ohm", "R"))

    def unit(self, prefix, unit):
        return prefix + {"s": self.seconds, "Ohm": self.ohms}.get(unit, unit)

    def split(self, value, test):
        """(digits, unit) of a value or limit of the test."""
        if value is None:
            return self.missing, ""
        if test.unit == "":
            return f"{value:g}", ""
        if self.form == "base":
            return format(value, self.plain), self.unit("", test.unit)
        ends = [abs(v) for v in (test.low, test.high) if v is not None]
        number, prefix = scaled(value if self.form == "prefix" else max(ends, default=1) or 1, test.unit)
        if self.form == "scaled":
            number = value / next(f for f, p in PREFIXES if p == prefix)
        return f"{number:.{self.digits}f}" if abs(number) < 1e5 else f"{number:.{self.digits}g}", \
            self.unit(prefix, test.unit)

    def text(self, value, test):
        """Digits and unit in one."""
        digits, unit = self.split(value, test)
        return f"{digits}{self.glue}{unit}" if unit else digits


class Verdict:
    """Two words, or three where the layout tells the side on which a value is out."""

    def __init__(self, rng):
        self.good, self.bad = rng.choice(VERDICTS)
        self.sides = rng.choice(SIDED) if rng.random() < 0.1 else None

    def text(self, row):
        if self.sides and not row.test.pattern:
            low = row.test.low is not None and row.value < row.test.low
            return self.sides[0] if row.passed else self.sides[1 if low else 2]
        return self.good if row.passed else self.bad

    def part(self, good):
        """The verdict on a whole die; some layouts leave it blank for a good one."""
        return (self.good if good else self.bad) or ("pass" if good else "fail")


class Limits:
    """Both limits in one field: a pair, those that exist, or only the one that was broken."""

    def __init__(self, rng, numbers):
        self.numbers, self.pair = numbers, rng.choice(LIMITS)
        self.form = rng.choice(("pair", "pair", "pair", "signs", "broken"))
        self.signs = rng.choice(((">=", "<="), (">", "<"), ("min:", "max:"), (">= ", "<= "), ("lower ", "upper ")))
        self.bare = rng.random() < 0.5

    def text(self, row):
        test = row.test
        show = (lambda v: self.numbers.split(v, test)[0]) if self.bare and self.numbers.form != "prefix" else \
            (lambda v: self.numbers.text(v, test))
        if self.form == "pair":
            return self.pair.format(l=show(test.low), h=show(test.high))
        sides = [(self.signs[0], test.low), (self.signs[1], test.high)]
        if self.form == "broken":
            below = test.low is not None and row.value < test.low
            sides = sides[:1] if below or test.high is None else sides[1:]
        return " ".join(f"{sign}{show(v)}" for sign, v in sides if v is not None)


class Patterns:
    """What a failing pattern run tells: cycle, count and pins in any order, and the words read back."""

    def __init__(self, rng):
        self.keys = {"cycle": rng.choice(CYCLE), "count": rng.choice(COUNT), "pins": rng.choice(PINS)}
        self.order = rng.sample(("cycle", "count", "pins"), 3)
        if rng.random() < 0.15:
            del self.order[-1]
        self.join, self.between = rng.choice(("=", ":", " ", " = ", ": ")), rng.choice((" ", ", ", "; ", "  "))
        self.pins = rng.choice((",", " ", "+", ";", "|"))
        self.word, self.most = rng.choice(WORDS), rng.choice((1, 2, 3))
        self.indent = rng.choice(("  ", "    ", "\t", "> ", "   . ", ""))
        self.below = rng.random() < 0.4             # counts on a line of their own
        self.beside = rng.random() < 0.35           # words on the line of the test
        self.passed = rng.choice(("", "", "", "ok", "0", "func", "pattern", "vectors ok"))

    def counts(self, fault):
        parts = {"cycle": str(fault.cycle), "count": str(fault.count), "pins": self.pins.join(fault.pins)}
        return self.between.join(f"{self.keys[k]}{self.join}{parts[k]}" for k in self.order if parts[k])

    def words(self, fault):
        return [self.word.format(a=a, w=w, g=g, d=w ^ g) for a, w, g in fault.words[:self.most]]

    def text(self, fault):
        """(beside, below): the field in the row and the lines that follow it."""
        if not fault:
            return self.passed, []
        beside, below = self.counts(fault), self.words(fault)
        if self.beside:
            beside, below = self.between.join([beside] + below), []
        if self.below:
            beside, below = "", [beside] + below
        return beside, [self.indent + line for line in below]


class Frame:
    """What stands around the rows: the head, the line before and after a part, notes and time stamps."""

    def __init__(self, rng):
        self.rng = rng
        self.fields = rng.sample(sorted(HEAD), rng.choice((0, 0, 1, 2, 2, 3, 4)))
        self.names = {k: rng.choice(v) for k, v in HEAD.items()}
        self.join = rng.choice((":", "=", " ", ": ", " = ", "\t", ","))
        self.one_line, self.rule = rng.random() < 0.5, rng.choice(("", "", "", "-" * 24, "=" * 20, "*" * 16))
        self.word, self.mark = rng.choice(PARTS), rng.choice(("", "", "--- ", "=== ", "* ", "[", "# ", "> ", "@"))
        self.place = rng.choice(("", "", " x={x} y={y}", " ({x},{y})", " X{x}Y{y}", " at {x}/{y}", " [{x} {y}]"))
        self.last = rng.choice(("", "", "bin {s}", "{site} hbin {h} sbin {s}", "result {v} bin {h}", "{site} {v} {s}",
                                "BIN={h}/{s}", "{site}: {v}", "sort {s}", "end of test {v}", "binning: {site} {h}"))
        self.remark = rng.choice(NOTES)
        self.stamp = rng.choice(("{t} ", "[{t}] ", "{t}.{ms:03d} ", "{day} {t} ", "+{s}.{ms:03d} ", "[{s:>5}] ")) \
            if rng.random() < 0.1 else ""
        self.seconds = rng.randint(100, 80000)

    def stamped(self, lines):
        """The lines with the time before each, where the layout prints it."""
        if not self.stamp:
            return lines
        out = []
        for line in lines:
            self.seconds += self.rng.randint(0, 1)
            s = self.seconds
            out.append(self.stamp.format(t=f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}", s=s, day=self.day,
                                         ms=self.rng.randrange(1000)) + line)
        return out

    def head(self, meta):
        self.day = meta["date"][:10]
        pairs = [f"{self.names[k]}{self.join}{meta[k]}" for k in self.fields]
        lines = ["  ".join(pairs)] if self.one_line and pairs else pairs
        return lines + [self.rule] if self.rule and lines else lines

    def part(self, number, die):
        close = "]" if self.mark == "[" else ""
        return f"{self.mark}{self.word} {number}{self.place.format(x=die.x, y=die.y)}{close}"


class Drawn(Style):
    """A row is a list of fields in a drawn order; the four kinds differ in what stands between and before them."""

    def __init__(self, rng):
        super().__init__(rng)
        self.numbers, self.verdict, self.patterns, self.frame = Numbers(rng), Verdict(rng), Patterns(rng), Frame(rng)
        self.limits = Limits(rng, self.numbers)
        self.shout = rng.choice((str,) * 10 + (str.upper, str.lower))
        self.sites = rng.choice(("{}", "s{}", "S{}", "site{}", "Site {}", "#{}", "st{}"))
        self.always = rng.random() < 0.4            # the site is printed though there is only one
        self.joined = rng.choice((None, None, None, "{n} {p}", "{n}:{p}", "{n}/{p}", "{p} {n}", "{n}@{p}", "{n}[{p}]",
                                  "{n}({p})", "{n}.{p}", "{n} - {p}"))
        self.order = self.draw_order(rng)
        self.gap = "  "

    def draw_order(self, rng):
        """Columns from left to right; the verdict first, last, between or behind the value."""
        who = list(rng.choice((("number", "site", "name", "pin"), ("site", "number", "name", "pin"),
                               ("name", "pin", "number", "site"), ("number", "name", "pin", "site"),
                               ("name", "site", "pin"), ("number", "name", "site", "pin"),
                               ("site", "name", "pin"), ("name", "pin", "site"))))
        what = list(rng.choice((("low", "value", "high"), ("value", "low", "high"), ("low", "high", "value"),
                                ("value", "limits"), ("value", "limits"), ("limits", "value"), ("value",))))
        at = rng.choice((0, 0, len(who), what.index("value") + len(who) + 1) + (len(who) + len(what),) * 4)
        order = who + what
        order.insert(at, "verdict")
        if self.numbers.form != "prefix" and rng.random() < 0.6:
            order.insert(rng.choice((order.index("value") + 1, len(order))), "unit")
        return order

    # ---- fields -----------------------------------------------------------------------------------------------

    def measured(self, row):
        """Value, unit and limits; the unit stands beside every number unless it has a column."""
        test, apart = row.test, "unit" in self.order
        show = (lambda v: self.numbers.split(v, test)[0]) if apart else (lambda v: self.numbers.text(v, test))
        return {"value": show(row.value), "low": show(test.low), "high": show(test.high),
                "limits": self.limits.text(row), "unit": self.numbers.split(row.value, test)[1]}

    def fields(self, row):
        """({column: text}, lines below) of a row."""
        test, below = row.test, []
        fields = {"number": str(test.number), "name": test.name, "pin": test.pin, "verdict": self.verdict.text(row),
                  "site": self.sites.format(self.site(row.die)) if self.always or not self.single else ""}
        if self.joined and test.pin:
            fields["name"], fields["pin"] = self.joined.format(n=test.name, p=test.pin), ""
        if test.pattern:
            fields["detail"], below = self.patterns.text(row.fault)
        else:
            fields.update(self.measured(row))
        return fields, below

    def columns(self, row):
        """Names of the columns of a row: a pattern run has its detail in place of value and limits."""
        if not row.test.pattern:
            return self.order
        return ["detail" if k == "value" else k for k in self.order if k not in ("low", "high", "limits", "unit")]

    # ---- what a style prints ----------------------------------------------------------------------------------

    def done(self, lines):
        return [self.shout(line).rstrip(" ") for line in self.frame.stamped(lines)]

    def head(self, meta):
        return self.done(self.frame.head(meta))

    def part(self, number, dies):
        return [] if len(dies) == 1 and number == self.first and self.rng.random() < 0.4 else \
            self.done([self.frame.part(number, dies[0])])

    def row(self, row):
        fields, below = self.fields(row)
        return self.done([self.line([(k, fields.get(k, "")) for k in self.columns(row)])] + below)

    def line(self, pairs):
        return self.gap.join(text for _, text in pairs if text)

    def end(self, dies, bins):
        if not self.frame.last:
            return []
        return self.done([self.frame.last.format(site=self.sites.format(self.site(d)), h=h, s=s,
                                                 v=self.verdict.part(h == 1)) for d, (h, s) in zip(dies, bins)])

    def note(self, text):
        return self.done([self.frame.remark + text])


class Table(Drawn):
    """Columns of fixed width or between separators, with or without a heading."""
    name = "table"

    def __init__(self, rng):
        super().__init__(rng)
        self.gap = rng.choice((None, None, "\t", ",", ", ", ";", "|", " | ", "  ", " : ", " ! "))
        self.heading, self.right = rng.random() < 0.3, rng.random() < 0.3
        self.keys = {k: rng.choice(v).capitalize() for k, v in KEYS.items()}
        self.empty = rng.choice(("", "", "-", "."))

    def line(self, pairs):
        if self.gap:
            spaced = self.gap.strip() == "" and self.gap != "\t"
            return self.gap.join(text or self.empty for _, text in pairs if text or not spaced).rstrip(",;")
        return " ".join(f"{text:>{WIDTHS.get(k, 8)}}" if self.right and k not in ("name", "detail") else
                        f"{text:<{WIDTHS.get(k, 8)}}" for k, text in pairs)

    def head(self, meta):
        heading = [self.line([(k, self.keys[k]) for k in self.order])] if self.heading else []
        return super().head(meta) + self.done(heading)


class Keyed(Drawn):
    """key=value or key:value, some fields bare."""
    name = "keyed"

    def __init__(self, rng):
        super().__init__(rng)
        self.gap = rng.choice((" ", " ", ", ", "; ", "  ", " | ", "\t"))
        self.is_, self.quote = rng.choice(("=", "=", ":", ": ")), rng.choice(("", "", "", '"'))
        bare = rng.sample(sorted(KEYS), rng.randint(1, 5))
        self.keys = {k: "" if k in bare else rng.choice(v) for k, v in KEYS.items()}

    def line(self, pairs):
        return self.gap.join(f"{self.keys[k]}{self.is_}{self.quote}{text}{self.quote}"
                             if self.keys[k] and k != "detail" else text for k, text in pairs if text)


class Worded(Drawn):
    """Fields as in a sentence: words before the value, the limits, the pin and the site."""
    name = "worded"

    def __init__(self, rng):
        super().__init__(rng)
        self.gap = rng.choice((" ", " ", " ", ", "))
        self.leads = {k: rng.choice(v) if rng.random() < 0.6 else "" for k, v in LEADS.items()}
        if self.leads["site"]:
            self.sites = "{}"

    def line(self, pairs):
        return self.gap.join(f"{self.leads[k]}{text}" for k, text in pairs if text)


class Grouped(Drawn):
    """The name of a test once, its pins and sites below it."""
    name = "grouped"

    def __init__(self, rng):
        super().__init__(rng)
        self.joined, self.open = None, None
        self.title = rng.choice(("{}:", "{}", "* {}", "[{}]", "<{}>", "Test {}", "-> {}", "test: {}", "{} {{"))
        self.indent = rng.choice(("  ", " ", "\t", "    ", "- "))
        self.gap = rng.choice((" ", "  ", ", ", "\t", " : "))
        self.order = [k for k in self.order if k != "name"]

    def part(self, number, dies):
        self.open = None
        return super().part(number, dies)

    def row(self, row):
        fields, below = self.fields(row)
        title = self.done([self.title.format(row.test.name)]) if self.open != row.test.name else []
        self.open = row.test.name
        line = self.indent + self.line([(k, fields.get(k, "")) for k in self.columns(row)])
        return title + self.done([line] + [self.indent + b for b in below])


LAYOUTS = (Table, Table, Keyed, Worded, Grouped)


def draw(rng):
    """The class of a randomised layout; the layout itself is drawn when a log makes a style of it."""
    return rng.choice(LAYOUTS)
