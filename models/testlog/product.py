"""A synthetic product: pins, rails, memories and the test program that a tester runs on it.

A test program is a list of Test in flow order. Every log draws a new product, so that pin names, test names,
test numbers, limits and the order of the sections say nothing about the cause of a failure. The words of a test
name are picked from synonyms (words.py), some shared between kinds of test; programs differ in the order and casing
of the words and in what they put before and behind them, and some name their tests by number alone.
All of it is invented: no name, limit or value comes from a real program.
"""

import words

KINDS = ("cont", "short", "leak", "idd", "ref", "level", "time", "scan", "mbist", "func", "ana", "sys")


class Test:
    """One line of the program: parametric when it has a unit or limits, a pattern run when `pattern` is set."""

    def __init__(self, kind, what, words, pin="", mean=0.0, sd=0.0, low=None, high=None, unit="",
                 pattern=False, **cond):
        self.kind, self.what, self.words, self.pin = kind, what, words, pin
        self.mean, self.sd, self.low, self.high, self.unit = mean, sd, low, high, unit
        self.pattern, self.cond = pattern, cond
        self.name, self.number, self.force = "", 0, ""

    def passes(self, value):
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def healthy(self, rng):
        """A value well inside the limits."""
        for _ in range(20):
            value = rng.gauss(self.mean, self.sd)
            if self.passes(value):
                return value
        return self.mean


class Naming:
    """How a program makes a name of words: their order, what stands before and behind, casing and separators."""

    def __init__(self, rng):
        self.case = rng.choice(words.CASES)
        self.turn = rng.choice((0,) * 7 + (1, -1, None))                # words turned by one place, or None: reversed
        self.before = {k: rng.choice(words.PREFIXES) for k in KINDS} if rng.random() < 0.15 else {}
        self.behind = rng.choice(words.SUFFIXES) if rng.random() < 0.15 else ""
        self.glued = rng.random() < 0.25                                # numbers without a separator before them

    def name(self, test):
        parts = list(test.words)
        parts = parts[::-1] if self.turn is None else parts[self.turn:] + parts[:self.turn]
        return self.join([self.before.get(test.kind, "")] + parts + [self.behind])

    def join(self, parts):
        parts = [w for part in parts for w in part.split()]
        if self.glued:
            for i in range(len(parts) - 1, 0, -1):
                if parts[i].isdigit() and not parts[i - 1][-1].isdigit():
                    parts[i - 1:i + 1] = [parts[i - 1] + parts[i]]
        if self.case == "camel":
            return "".join(w[:1].upper() + w[1:] for w in parts)
        if self.case in ("space", "SPACE"):
            return " ".join(parts).capitalize() if self.case == "space" else " ".join(parts).upper()
        if self.case == "Snake":
            return "_".join(w.capitalize() for w in parts)
        text = {"kebab": "-", "dots": ".", "colons": ":", "lower": ""}.get(self.case, "_").join(parts)
        return text.upper() if self.case == "SNAKE" else text.lower()


class Product:
    def __init__(self, rng):
        self.rng = rng
        self.word = {k: words.pick(rng, v) for k, v in words.SYNONYMS.items()}
        self.naming = Naming(rng)
        self.opaque = rng.random() < 0.04          # every test named by its number
        self.coded = rng.random() < 0.06           # patterns named by their number
        self.code = rng.choice(("t", "par", "tst", "blk", "item", "tm", "seq"))
        self.rails = rng.choice(words.RAILS)
        self.banks = [[b.format(i + start) for i in range(rng.randint(4, 6))]
                      for b, start in ((b, rng.choice((0, 0, 1, 8))) for b in rng.sample(words.BANKS, 3))]
        self.pins = [p for bank in self.banks for p in bank]
        self.clamp = rng.choice((-3.0, -2.5, -2.0, -1.8))
        self.mems = [f"{rng.choice('mrsabc')}{i}" for i in range(rng.randint(3, 5))]
        self.channel = {p: rng.randint(1, 255) for p in self.pins}
        self.vdd = rng.choice((1.0, 1.2, 1.8, 3.3))
        self.units = rng.sample(words.PERIPHERALS, 6)
        self.reference, self.regulators = rng.choice(words.REFERENCE_PINS), rng.choice(words.REGULATORS)
        inputs = rng.choice(words.ANALOG_INPUTS)
        self.inputs = [inputs.format(i) for i in range(4)]
        self.tests = []
        for kind in self._order():
            section = getattr(self, "_" + kind)()
            self._number(section)
            self.tests += section

    def _order(self):
        """Contact is usually tested first; the rest is the programmer's choice."""
        rest = [k for k in KINDS if k not in ("cont", "short")]
        self.rng.shuffle(rest)
        if self.rng.random() < 0.7:
            return ["cont", "short"] + rest
        rest.insert(self.rng.randint(0, 3), "short")
        rest.insert(self.rng.randint(0, 4), "cont")
        return rest

    def _number(self, section):
        last = self.tests[-1].number if self.tests else self.rng.choice((0, 100, 1000, 10000))
        number = (last // 100 + 1) * 100
        step = self.rng.choice((1, 1, 5, 10))
        for test in section:
            number += step
            test.number = number
            hidden = self.opaque or (self.coded and test.pattern)
            test.name = self.naming.join([self.code, str(number)]) if hidden else self.naming.name(test)

    def w(self, *keys):
        return [self.word.get(k, k) for k in keys]

    # ---- the sections; each returns its tests in order --------------------------------------------------------

    def _cont(self):
        mid = self.rng.uniform(0.5, 0.75)
        tests = [Test("cont", "neg", self.w("cont", "neg"), p, -mid, 0.025, -0.95, -0.25, "V") for p in self.pins]
        tests += [Test("cont", "pos", self.w("cont", "pos"), p, mid, 0.025, 0.25, 0.95, "V") for p in self.pins[::2]]
        tests += [Test("cont", "rail", self.w("cont", "neg"), r, -mid + 0.12, 0.02, -0.9, -0.2, "V")
                  for r in self.rails]
        tests += [Test("cont", "again", self.w("cont", "neg", "again"), p, -mid, 0.025, -0.95, -0.25, "V")
                  for p in self.pins[::2]]
        tests += [Test("cont", "res", self.w("rc"), r, 0.8, 0.15, 0.0, 2.5, "Ohm") for r in self.rails]
        tests += [Test("cont", "adj", self.w("cont", "adj"), p, 2e-8, 6e-9, -1e-6, 1e-6, "A")
                  for bank in self.banks for p in bank[:4]]
        tests.append(Test("cont", "pad", self.w("rc", "sub"), "", 0.3, 0.05, 0.0, 1.2, "Ohm"))
        return tests

    def _short(self):
        return [Test("short", "short", self.w("short"), r, 4e-4, 1e-4, -1e-3, 5e-3, "A") for r in self.rails]

    def _leak(self):
        r, limit = self.rng, self.rng.choice((2e-7, 5e-7, 1e-6, 2e-6))
        base = limit * r.uniform(0.005, 0.05)
        tests = []
        for what, sign in (("ih", 1), ("il", -1)):
            tests += [Test("leak", what, self.w("leak", what), p, sign * base, base * 0.4, -limit, limit, "A")
                      for p in self.pins]
        tests += [Test("leak", "ioz", self.w("ioz", h), p, base, base * 0.4, -limit, limit, "A", v=h)
                  for p in self.banks[0] for h in ("ih", "il")]
        for k, t in enumerate(("25c", "85c", "125c")):
            tests += [Test("leak", "hot", self.w("leak", "ih") + [t], p, base * 2 ** (2 * k), base * 0.2, -limit,
                           limit * 2, "A", t=t) for p in self.pins[1:6:2]]
        tests += [Test("leak", "pull", self.w("pull"), p, -3e-5, 2e-6, -6e-5, -1e-5, "A") for p in self.pins[2:8:2]]
        tests += [Test("leak", "stress", self.w("leak", "ih", "stress"), p, base, base * 0.4, -limit, limit, "A")
                  for p in self.pins[::4]]
        tests += [Test("leak", "late", self.w("leak", "ih", "again"), p, base, base * 0.4, -limit, limit, "A")
                  for p in self.pins[1::5]]
        tests += [Test("leak", "volt", self.w("leak", "ih", v), p, base * k, base * 0.2, -limit, limit, "A", v=v)
                  for p in self.pins[3:10:3] for v, k in (("vmin", 0.8), ("vnom", 1), ("vmax", 1.3))]
        tests += [Test("leak", "ioff", self.w("ioff", "leak"), p, base * 2, base * 0.5, -limit, limit * 2, "A")
                  for p in self.banks[2]]
        tests += [Test("leak", "inter", self.w("leak", "inter") + [str(i)], r_, base * 9, base * 2, -limit, limit * 20,
                       "A") for i, r_ in enumerate(self.rails)]
        tests += [Test("leak", "sw", self.w("leak", "sw"), r_, base * 20, base * 4, -limit * 2, limit * 40, "A")
                  for r_ in self.rails]
        tests += [Test("leak", "refpin", self.w("ain", "ih"), self.inputs[i], base, base * 0.4, -limit / 2, limit / 2,
                       "A") for i in range(3)]
        return tests

    def _idd(self):
        r, tests = self.rng, []
        for rail in self.rails:
            mean = r.choice((8e-4, 3e-3, 1.2e-2, 3.5e-2)) * r.uniform(0.7, 1.4)
            for v, k in (("vmin", 0.85), ("vnom", 1.0), ("vmax", 1.2)):
                tests.append(Test("idd", "static", self.w("idd", "static", v), rail, mean * k, mean * 0.05, mean * 0.3,
                                  mean * 1.7, "A", v=v))
            tests.append(Test("idd", "active", self.w("idd", "active"), rail, mean * 4, mean * 0.2, mean,
                              mean * 5.2, "A"))
            tests.append(Test("idd", "stby", self.w("idd", "stby"), rail, mean * 0.02, mean * 0.003, 0,
                              mean * 0.05, "A"))
            tests.append(Test("idd", "sleep", self.w("idd", "sleep"), rail, mean * 2e-3, mean * 3e-4, 0,
                              mean * 6e-3, "A"))
            tests.append(Test("idd", "rst", self.w("idd", "reset"), rail, mean * 0.4, mean * 0.03, mean * 0.1,
                              mean * 0.7, "A"))
            tests.append(Test("idd", "post", self.w("idd", "static", "post"), rail, mean, mean * 0.05, mean * 0.3,
                              mean * 1.7, "A"))
            tests.append(Test("idd", "inrush", self.w("idd", "inrush"), rail, mean * 9, mean * 0.5, mean * 2, mean * 14,
                              "A"))
        rail, mean = self.rails[0], tests[0].mean
        tests += [Test("idd", "hot", self.w("idd", "static") + [t], rail, mean * k, mean * 0.05, mean * 0.3, mean * 2.2,
                       "A", t=t) for t, k in (("25c", 1.0), ("85c", 1.15), ("125c", 1.4))]
        tests += [Test("idd", "per", self.w("idd", "per") + [unit], rail, mean * k, mean * 0.02, mean * 0.05,
                       mean * 1.1, "A", ip=unit)
                  for unit, k in zip(self.units, (0.3, 0.4, 0.5, 0.6))]
        q = r.choice((2e-6, 1.5e-5, 8e-5))
        tests += [Test("idd", "iddq", self.w("iddq") + [str(i)], self.rails[0], q, q * 0.04, 0, q * 1.8, "A")
                  for i in range(1, 9)]
        return tests

    def _ref(self):
        r, w, tests = self.rng, self.w, []
        vref = r.choice((1.2, 1.25, 2.5, 3.38, 0.6))
        self.vref, self.code_max = vref, r.choice((15, 31, 63))
        tests.append(Test("ref", "bef", w("ref", "bef"), self.reference, vref * 0.99, vref * 0.006, vref * 0.94,
                          vref * 1.06, "V"))
        tests += [Test("ref", "sim", w("sim") + [str(i)] + w("ref"), self.reference, vref * (0.97 + 0.01 * i),
                       vref * 0.001, vref * 0.92, vref * 1.08, "V") for i in range(1, 7)]
        tests.append(Test("ref", "code", w("ref", "trim", "code"), "", self.code_max / 2, self.code_max / 9, 1,
                          self.code_max - 1, ""))
        tests.append(Test("ref", "aft", w("ref", "aft"), self.reference, vref, vref * 0.0015, vref * 0.993,
                          vref * 1.007, "V"))
        tests.append(Test("ref", "otp", w("otp", "code"), pattern=True))
        for t, k in (("25c", 1.0), ("85c", 1.001), ("125c", 1.002)):
            tests.append(Test("ref", "hot", w("ref") + [t], self.reference, vref * k, vref * 0.001, vref * 0.99,
                              vref * 1.012, "V", t=t))
        tests.append(Test("ref", "cold", w("ref") + ["m40c"], self.reference, vref * 0.998, vref * 0.001, vref * 0.985,
                          vref * 1.01, "V"))
        for name in self.regulators:
            out = r.choice((1.2, 1.8, 0.9))
            for what in ("noload", "load"):
                tests.append(Test("ref", what, w("ldo", what), name, out, out * 0.004, out * 0.97, out * 1.03, "V"))
        tests.append(Test("ref", "line", w("ref", "line"), self.reference, 0.002, 0.0008, -0.0075, 0.0075, "V"))
        tests.append(Test("ref", "line", w("ldo", "line"), self.regulators[0], 0.004, 0.001, -0.012, 0.012, "V"))
        tests.append(Test("ref", "noise", w("ref", "noise"), self.reference, 3e-5, 3e-6, 0, 8e-5, "V"))
        tests.append(Test("ref", "settle", w("ref", "settle"), self.reference, 4e-5, 4e-6, 0, 1.5e-4, "s"))
        tests += [Test("ref", "drop", w("ldo", "drop"), name, 0.11, 0.006, 0, 0.2, "V") for name in self.regulators]
        tests += [Test("ref", "dip", w("ldo", "dip"), name, 0.03, 0.003, 0, 0.08, "V") for name in self.regulators]
        tests += [Test("ref", "ilim", w("ldo", "ilim"), name, 0.12, 0.004, 0.08, 0.18, "A") for name in self.regulators]
        for i in (1, 2, 3):
            cur = r.choice((1e-6, 5e-6, 1e-5, 4e-5))
            tests.append(Test("ref", "iref", w("iref") + [str(i)], "", cur, cur * 0.02, cur * 0.9, cur * 1.1, "A"))
        for i, what in enumerate(("up", "dn", "hys")):
            level = (2.6, 2.45, 0.15)[i]
            tests.append(Test("ref", "uvlo", w("uvlo") + [what], self.rails[0], level, level * 0.01, level * 0.94,
                              level * 1.06, "V"))
        return tests

    def _level(self):
        v, tests = self.vdd, []
        for p in self.pins[::3]:
            tests.append(Test("level", "voh", self.w("voh"), p, v * 0.9, v * 0.01, v * 0.8, v, "V"))
            tests.append(Test("level", "vol", self.w("vol"), p, v * 0.08, v * 0.01, 0, v * 0.2, "V"))
        for p in self.pins[1::4]:
            tests.append(Test("level", "vih", self.w("vih"), p, v * 0.58, v * 0.01, v * 0.5, v * 0.7, "V"))
            tests.append(Test("level", "vil", self.w("vil"), p, v * 0.4, v * 0.01, v * 0.3, v * 0.5, "V"))
        return tests

    def _time(self):
        r, w, tests = self.rng, self.w, []
        ns = r.choice((1e-9, 2e-9, 4e-9))
        for p in self.banks[1][:4]:
            tests.append(Test("time", "tsu", w("tsu"), p, ns * 0.6, ns * 0.05, 0, ns, "s"))
            tests.append(Test("time", "th", w("th"), p, ns * 0.2, ns * 0.03, -ns * 0.1, ns * 0.4, "s"))
        for p in self.banks[0][:4]:
            for edge in ("r", "f"):
                tests.append(Test("time", "tpd", w("tpd") + [edge], p, ns * 3, ns * 0.1, ns, ns * 4, "s", edge=edge))
        f = r.choice((5e7, 1e8, 1.6e8, 4e8))
        for v, k in (("vmin", 1.15), ("vnom", 1.3), ("vmax", 1.42)):
            tests.append(Test("time", "fmax", w("fmax", v), "", f * k, f * 0.03, f, None, "Hz", v=v))
        tests.append(Test("time", "duty", w("clk", "duty"), self.pins[0], 50, 0.7, 45, 55, "%"))
        tests.append(Test("time", "duty", w("clk", "duty"), self.pins[-1], 50, 0.7, 45, 55, "%"))
        for t, k in (("25c", 1.3), ("85c", 1.22), ("125c", 1.15)):
            tests.append(Test("time", "fhot", w("fmax") + [t], "", f * k, f * 0.03, f, None, "Hz", t=t))
        tests += [Test("time", "ring", w("ring") + [str(i)], "", f / 3, f * 0.006, f * 0.28, f * 0.39, "Hz")
                  for i in range(3)]
        tests.append(Test("time", "fcold", w("fmax") + ["m40c"], "", f * 1.36, f * 0.03, f, None, "Hz"))
        tests += [Test("time", "aged", w("ring", "stress") + [str(i)], "", f / 3.02, f * 0.006, f * 0.28, f * 0.39,
                       "Hz") for i in range(3)]
        tests += [Test("time", "sso", w("tpd", "sso"), p, ns * 3.2, ns * 0.1, ns, ns * 4.3, "s")
                  for p in self.banks[0][:4]]
        tests += [Test("time", "tz", w("tz"), p, ns * 2.5, ns * 0.1, ns * 0.5, ns * 4, "s") for p in self.banks[0][:3]]
        tests += [Test("time", "tpw", w("clk", "tpw", level), self.pins[0], ns * 0.4, ns * 0.03, 0, ns * 0.8, "s")
                  for level in ("ih", "il")]
        tests += [Test("time", "slew", w("slew") + [edge], p, ns * 0.8, ns * 0.05, ns * 0.2, ns * 1.2, "s", edge=edge)
                  for p in self.banks[1][:3] for edge in ("r", "f")]
        tests.append(Test("time", "skew", w("skew"), "", ns * 0.05, ns * 0.01, -ns * 0.2, ns * 0.2, "s"))
        for p in self.banks[2][:4]:
            tests.append(Test("time", "taa", w("taa"), p, ns * 5, ns * 0.2, ns, ns * 7, "s"))
            tests.append(Test("time", "eye", w("eye"), p, ns * 0.5, ns * 0.03, ns * 0.3, None, "s"))
        return tests

    def _corners(self, kind, what, words, corners=("vmin", "vnom", "vmax"), **cond):
        return [Test(kind, what, words + self.w(v), pattern=True, v=v, **cond) for v in corners]

    def _scan(self):
        w, tests = self.w, []
        for i in range(4):
            tests.append(Test("scan", "chain", w("chain") + [str(i)], self.pins[i], pattern=True, chain=i))
            tests += self._corners("scan", "chainv", w("chain") + [str(i)], ("vmin", "vmax"), chain=i)
        tests += [Test("scan", "shift", w("scan", "chain", s), pattern=True, speed=s) for s in ("slow", "fast")]
        tests += [Test("scan", "wrap", w("scan", "wrap") + [str(i)], pattern=True) for i in range(2)]
        for i in range(3):
            tests += self._corners("scan", "stuck", w("scan", "stuck") + [str(i)], block=i)
        for i in range(2):
            for speed in ("slow", "fast"):
                tests.append(Test("scan", "tdf", w("scan", "tdf") + [str(i)] + w(speed), pattern=True,
                                  speed=speed, block=i))
        tests += [Test("scan", "edt", w("edt") + [str(i)], pattern=True, block=i) for i in range(3)]
        tests += [Test("scan", "jtag", w("jtag"), pattern=True), Test("scan", "bsr", w("bsr"), pattern=True)]
        tests += [Test("scan", "lbist", w("lbist") + [str(i)], pattern=True, block=i) for i in range(3)]
        return tests

    def _mbist(self):
        w, tests = self.w, []
        for m in self.mems:
            tests += self._corners("mbist", "march", w("mem") + [m] + w("march"), ("vmin", "vnom"), mem=m)
            for what in ("ckbd", "uniq", "ret"):
                tests.append(Test("mbist", what, w("mem") + [m] + w(what), pattern=True, mem=m))
            for what in ("port", "dist"):
                tests.append(Test("mbist", what, w("mem") + [m] + w(what), pattern=True, mem=m))
            tests.append(Test("mbist", "ecc", w("mem", "ecc") + [m], "", 0, 0, 0, 4, "", mem=m))
            for s in ("slow", "fast"):
                tests.append(Test("mbist", "speed", w("mem") + [m] + w(s), pattern=True, mem=m, speed=s))
            tests.append(Test("mbist", "rep", w("mem", "rep") + [m], "", 0, 0, 0, 2, "", mem=m))
        tests += [Test("mbist", "hotret", w("mem") + [m] + w("ret") + [t], pattern=True, mem=m, t=t)
                  for m in self.mems[:2] for t in ("25c", "85c", "125c")]
        tests += [Test("mbist", "rom", w("rom") + [str(i)], pattern=True) for i in range(2)]
        tests += [Test("mbist", "flash", w("flash") + [s], pattern=True) for s in ("er", "pg", "m0", "m1")]
        return tests

    def _func(self):
        w, tests = self.w, []
        tests.append(Test("func", "boot", w("func", "boot"), pattern=True))
        for unit in self.units:
            tests += self._corners("func", "unit", w("func") + [unit], ip=unit)
            for s in ("slow", "fast"):
                tests.append(Test("func", "speed", w("func") + [unit] + w(s), pattern=True, ip=unit, speed=s))
        tests += [Test("func", what, w("func", what) + [str(i)], pattern=True) for what in ("reset", "mode", "prog")
                  for i in range(2)]
        tests += [Test("func", "wake", w("func", "wake") + [str(i)], pattern=True) for i in range(2)]
        return tests

    def _ana(self):
        r, w, tests = self.rng, self.w, []
        f = r.choice((9.6e7, 2e8, 8e8, 1.2e9))
        for i in range(2):
            n = [str(i)]
            tests.append(Test("ana", "lock", w("pll", "lock") + n, "", 1, 0, 1, 1, "", pll=i))
            tests.append(Test("ana", "ltime", w("pll", "ltime") + n, "", 4e-5, 4e-6, 0, 1e-4, "s", pll=i))
            tests.append(Test("ana", "jit", w("pll", "jit") + n, "", 1.1e-11, 1e-12, 0, 2.5e-11, "s", pll=i))
            tests.append(Test("ana", "tune", w("pll", "tune") + n, "", 0.6, 0.03, 0.25, 0.95, "V", pll=i))
            tests.append(Test("ana", "spur", w("pll", "spur") + n, "", -68, 1.5, None, -55, "dB", pll=i))
            tests.append(Test("ana", "vco", w("vco") + n, "", f, f * 0.004, f * 0.97, f * 1.03, "Hz", pll=i))
        for i in range(2):
            n = [str(i)]
            tests += [Test("ana", "inl", w("adc", "inl") + n, "", 0.7, 0.15, -2, 2, "LSB", adc=i),
                      Test("ana", "dnl", w("adc", "dnl") + n, "", 0.4, 0.08, -1, 1, "LSB", adc=i),
                      Test("ana", "snr", w("adc", "snr") + n, "", 66, 0.8, 62, None, "dB", adc=i),
                      Test("ana", "off", w("adc", "off") + n, "", 2e-4, 8e-4, -5e-3, 5e-3, "V", adc=i),
                      Test("ana", "gain", w("adc", "gain") + n, "", 0.1, 0.15, -1, 1, "%", adc=i)]
            tests.append(Test("ana", "thd", w("adc", "thd") + n, "", -74, 1.2, None, -65, "dB", adc=i))
        vref = 2.5
        tests += [Test("ana", "mux", w("adc", "mux") + [str(i)], pin, vref * k, 0.003, vref * k - 0.03,
                       vref * k + 0.03, "V") for (i, pin), k in zip(enumerate(self.inputs), (0.2, 0.4, 0.6, 0.8))]
        tests += [Test("ana", "gbw", w("cmp", "gbw") + [str(i)], self.inputs[i], 6e6, 2e5, 4e6, None, "Hz")
                  for i in range(2)]
        tests += [Test("ana", "vslew", w("cmp", "slew") + [str(i)], self.inputs[i], 2.4, 0.1, 1.6, None, "V/us")
                  for i in range(2)]
        out, lane = r.choice(words.CONVERTER_OUTPUTS), r.choice(words.LANES)
        tests += [Test("ana", "rf", w("rf") + [what], "", mean, 0.3, mean - 2, mean + 2, "dB")
                  for what, mean in (("gain", 14), ("pout", 8), ("iip3", 3))]
        tests += [Test("ana", "tsen", w("tsen") + [str(i)], "", 0.3, 0.4, -3, 3, "C") for i in range(2)]
        tests += [Test("ana", "dacv", w("dac") + [what], out, mean, 0.002, mean - 0.02, mean + 0.02, "V")
                  for what, mean in (("zs", 0.01), ("mid", 1.25), ("fsr", 2.48))]
        tests += [Test("ana", "dac", w("dac", what), out, mean, sd, -hi, hi, "LSB", d=what)
                  for what, mean, sd, hi in (("inl", 0.8, 0.2, 3), ("dnl", 0.3, 0.05, 1))]
        tests += [Test("ana", "cmp", w("cmp", "off") + [str(i)], self.inputs[i], 8e-4, 5e-4, -6e-3, 6e-3, "V")
                  for i in range(3)]
        tests += [Test("ana", "psrr", w("cmp", "line") + [str(i)], self.inputs[i], 72, 1.5, 60, None, "dB")
                  for i in range(2)]
        osc = r.choice((1e5, 4e6, 8e6, 1.6e7))
        tests += [Test("ana", "osc", w("osc", v), "", osc, osc * 0.006, osc * 0.96, osc * 1.04, "Hz", v=v)
                  for v in ("vmin", "vnom", "vmax")]
        for i, rate in enumerate(("1g5", "3g", "6g")):
            tests.append(Test("ana", "ber", w("ser", "ber") + [rate], "", 0, 0, 0, 3, "", rate=i))
        tests += [Test("ana", "eye", w("ser", "eye"), lane, 0.62, 0.02, 0.4, None, "UI"),
                  Test("ana", "amp", w("ser", "amp"), lane, 0.5, 0.01, 0.4, 0.65, "V")]
        return tests

    def _sys(self):
        w, tests = self.w, []
        self.setpoint = self.rng.choice((25.0, 25.0, 85.0, 105.0, -40.0))
        tests += [Test("sys", "temp", w("temp") + [str(i)], "", self.setpoint, 0.4, self.setpoint - 5,
                       self.setpoint + 5, "C")
                  for i in range(2)]
        tests += [Test("sys", "gnd", w("gnd") + [str(i)], "", 2e-4, 4e-4, -5e-3, 5e-3, "V") for i in range(2)]
        tests += [Test("sys", "dps", w("dps") + [str(i)], self.rails[i], v, v * 0.001, v * 0.98, v * 1.02, "V")
                  for i, v in enumerate((self.vdd, 3.3))]
        ohms = self.rng.choice((1e3, 2.2e3, 4.7e3, 1e4))
        tests.append(Test("sys", "board", w("board"), "", ohms, ohms * 0.003, ohms * 0.95, ohms * 1.05, "Ohm"))
        return tests
