"""A synthetic product: pins, rails, memories and the test program that a tester runs on it.

A test program is a list of Test in flow order. Every log draws a new product, so that pin names, test names,
test numbers, limits and the order of the sections say nothing about the cause of a failure. The words of a test
name are picked from synonyms, some shared between kinds of test; some programs name their tests by number alone.
All of it is invented: no name, limit or value comes from a real program.
"""

KINDS = ("cont", "short", "leak", "idd", "ref", "level", "time", "scan", "mbist", "func", "ana", "sys")

SYNONYMS = {
    "cont": ("cont", "os", "opens", "diode"),
    "pos": ("pos", "up", "p", "vdd"), "neg": ("neg", "dn", "n", "vss"),
    "rc": ("rcon", "res", "path r", "kelvin"),
    "short": ("short", "pwr chk", "ps", "supply chk"),
    "leak": ("leak", "lkg", "ilk", "il"), "ih": ("ih", "hi", "high", "vdd"),
    "il": ("il", "lo", "low", "vss"), "ioz": ("ioz", "hiz", "tri", "oz"), "sw": ("sw", "mos", "pwr", "drv"),
    "idd": ("idd", "icc", "iq", "isup"), "static": ("stat", "static", "dc", "idle"),
    "stby": ("stby", "standby", "sb", "lp"), "sleep": ("sleep", "slp", "deep", "stop"),
    "active": ("act", "dyn", "run", "active"), "iddq": ("iddq", "isb", "iq vec", "q"),
    "post": ("post", "end", "fin", "2nd"),
    "ref": ("vref", "ref", "vbg", "bg"), "bef": ("bef", "pre", "raw", "init"), "aft": ("aft", "post", "fin"),
    "trim": ("trim", "zap", "cal", "adj"), "code": ("code", "idx", "val", "sel"),
    "ldo": ("ldo", "vreg", "vcore", "reg"),
    "line": ("line", "psr", "lnr"), "load": ("load", "ld", "full", "max i"), "noload": ("nold", "0ma", "idle", "nl"),
    "iref": ("iref", "ibias", "i ref", "bias"), "uvlo": ("uvlo", "por", "bor", "th"),
    "otp": ("otp", "fuse", "nvm", "read"),
    "sim": ("sim", "step", "s"), "voh": ("voh", "oh", "drv h"), "vol": ("vol", "ol", "drv l"),
    "tsu": ("tsu", "setup", "ts", "t su"), "th": ("th", "hold", "t h"), "tpd": ("tpd", "tco", "delay", "t out"),
    "fmax": ("fmax", "freq", "clk max", "speed"), "duty": ("duty", "dcyc", "dc"), "skew": ("skew", "dt", "clk dt"),
    "eye": ("eye", "win", "margin"), "taa": ("taa", "acc", "access", "t rd"), "clk": ("clk", "ck", "sclk"),
    "scan": ("scan", "atpg", "sc", "dft"), "chain": ("chain", "shift", "integ", "flush"),
    "stuck": ("sa", "stuck", "logic", "core"), "tdf": ("tdf", "trans", "delay", "atspeed"),
    "edt": ("edt", "comp", "xor"), "jtag": ("jtag", "tap", "id", "dbg"), "bsr": ("bsr", "extest", "io"),
    "lbist": ("lbist", "sig", "logic"), "mem": ("mem", "ram", "mbist", "array"),
    "march": ("march", "mc", "alg1", "rw"), "ckbd": ("alg2", "bg", "pat", "chk"),
    "ret": ("ret", "pause", "hold", "dr"),
    "uniq": ("addr", "uniq", "alg3", "galp"), "rep": ("rep", "redun", "spare", "bira"), "rom": ("rom", "crc", "code"),
    "flash": ("flash", "nvm", "ee", "margin"), "func": ("func", "fn", "vec", "pat"),
    "boot": ("boot", "init", "start", "por"), "wake": ("wake", "resume", "pd exit"),
    "pll": ("pll", "clkgen", "synth", "dpll"), "lock": ("lock", "lk", "ld", "rdy"),
    "ltime": ("tlock", "t lk", "ts", "wait"),
    "jit": ("jit", "jitter", "pn", "rms"), "vco": ("vco", "freq", "fout", "osc"), "adc": ("adc", "sar", "conv", "a2d"),
    "dac": ("dac", "d2a", "out"), "inl": ("inl", "lin", "il"), "dnl": ("dnl", "dl", "step"),
    "snr": ("snr", "sinad", "noise"),
    "off": ("off", "offset", "os", "vos"), "gain": ("gain", "fs", "ge"), "cmp": ("cmp", "comp", "amp", "opa"),
    "osc": ("osc", "rco", "hsi", "freq"), "ser": ("ser", "phy", "lane", "rx"), "ber": ("ber", "err", "prbs"),
    "amp": ("amp", "swing", "lvl"), "temp": ("temp", "tsens", "chuck", "tj"), "gnd": ("gnd", "agnd", "sense", "vss"),
    "dps": ("dps", "vi", "src", "ps"), "vmin": ("vmin", "lv", "min", "vl"), "vnom": ("vnom", "nom", "typ", "vn"),
    "vmax": ("vmax", "hv", "max", "vh"), "slow": ("slow", "lf", "10m", "ls"), "fast": ("fast", "hf", "spd", "hs"),
}
PERIPHERALS = ("spi", "i2c", "uart", "timer", "gpio", "dma", "irq", "cpu", "regs", "can", "pwm", "crc", "usb", "rtc",
               "aes", "wdog")
BANKS = ("PA{}", "PB{}", "D{}", "IO{}", "GPIO_{}", "A{}", "DQ{}", "P{}", "DIO{}", "BUS{}", "OUT{}", "IN{}")
RAILS = (("VDD", "VDDIO", "AVDD"), ("VCC", "VCCIO", "VCCA"), ("DVDD", "IOVDD", "AVDD"), ("VCORE", "VIO", "VANA"),
         ("VDD1", "VDD2", "VDD3"), ("VBAT", "VDDD", "VDDA"))


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


class Product:
    def __init__(self, rng):
        self.rng = rng
        self.word = {k: rng.choice(v) for k, v in SYNONYMS.items()}
        self.case = rng.choice(("snake", "SNAKE", "camel", "space", "SNAKE", "snake"))
        self.opaque = rng.random() < 0.04          # every test named by its number
        self.coded = rng.random() < 0.06           # patterns named by their number
        self.code = rng.choice(("t", "par", "tst", "blk", "item", "tm", "seq"))
        self.rails = rng.choice(RAILS)
        self.banks = [[b.format(i + start) for i in range(rng.randint(4, 6))]
                      for b, start in ((b, rng.choice((0, 0, 1, 8))) for b in rng.sample(BANKS, 3))]
        self.pins = [p for bank in self.banks for p in bank]
        self.clamp = rng.choice((-3.0, -2.5, -2.0, -1.8))
        self.mems = [f"{rng.choice('mrsabc')}{i}" for i in range(rng.randint(3, 5))]
        self.channel = {p: rng.randint(1, 255) for p in self.pins}
        self.vdd = rng.choice((1.0, 1.2, 1.8, 3.3))
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
            test.name = self._join([self.code, str(number)] if hidden else test.words)

    def _join(self, words):
        words = [w for word in words for w in word.split()]
        if self.case == "camel":
            return "".join(w[:1].upper() + w[1:] for w in words)
        if self.case == "space":
            return " ".join(words).capitalize()
        return "_".join(words).upper() if self.case == "SNAKE" else "_".join(words).lower()

    def w(self, *keys):
        return [self.word.get(k, k) for k in keys]

    # ---- the sections; each returns its tests in order --------------------------------------------------------

    def _cont(self):
        mid = self.rng.uniform(0.5, 0.75)
        tests = [Test("cont", "neg", self.w("cont", "neg"), p, -mid, 0.025, -0.95, -0.25, "V") for p in self.pins]
        tests += [Test("cont", "pos", self.w("cont", "pos"), p, mid, 0.025, 0.25, 0.95, "V") for p in self.pins[::2]]
        tests += [Test("cont", "rail", self.w("cont", "neg"), r, -mid + 0.12, 0.02, -0.9, -0.2, "V")
                  for r in self.rails]
        tests += [Test("cont", "res", self.w("rc"), r, 0.8, 0.15, 0.0, 2.5, "Ohm") for r in self.rails]
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
        tests += [Test("leak", "sw", self.w("leak", "sw"), r_, base * 20, base * 4, -limit * 2, limit * 40, "A")
                  for r_ in self.rails]
        tests += [Test("leak", "refpin", self.w("ref", "ih"), f"AIN{i}", base, base * 0.4, -limit / 2, limit / 2, "A")
                  for i in range(3)]
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
            tests.append(Test("idd", "post", self.w("idd", "static", "post"), rail, mean, mean * 0.05, mean * 0.3,
                              mean * 1.7, "A"))
        q = r.choice((2e-6, 1.5e-5, 8e-5))
        tests += [Test("idd", "iddq", self.w("iddq") + [str(i)], self.rails[0], q, q * 0.04, 0, q * 1.8, "A")
                  for i in range(1, 9)]
        return tests

    def _ref(self):
        r, w, tests = self.rng, self.w, []
        vref = r.choice((1.2, 1.25, 2.5, 3.38, 0.6))
        self.vref, self.code_max = vref, r.choice((15, 31, 63))
        tests.append(Test("ref", "bef", w("ref", "bef"), "VREF", vref * 0.99, vref * 0.006, vref * 0.94,
                          vref * 1.06, "V"))
        tests += [Test("ref", "sim", w("sim") + [str(i)] + w("ref"), "VREF", vref * (0.97 + 0.01 * i), vref * 0.001,
                       vref * 0.92, vref * 1.08, "V") for i in range(1, 7)]
        tests.append(Test("ref", "code", w("ref", "trim", "code"), "", self.code_max / 2, self.code_max / 9, 1,
                          self.code_max - 1, ""))
        tests.append(Test("ref", "aft", w("ref", "aft"), "VREF", vref, vref * 0.0015, vref * 0.993, vref * 1.007, "V"))
        tests.append(Test("ref", "otp", w("otp", "code"), pattern=True))
        for t, k in (("25c", 1.0), ("85c", 1.001), ("125c", 1.002)):
            tests.append(Test("ref", "hot", w("ref") + [t], "VREF", vref * k, vref * 0.001, vref * 0.99,
                              vref * 1.012, "V", t=t))
        for name in ("LDO1", "LDO2"):
            out = r.choice((1.2, 1.8, 0.9))
            for what in ("noload", "load"):
                tests.append(Test("ref", what, w("ldo", what), name, out, out * 0.004, out * 0.97, out * 1.03, "V"))
        tests.append(Test("ref", "line", w("ref", "line"), "VREF", 0.002, 0.0008, -0.0075, 0.0075, "V"))
        tests.append(Test("ref", "line", w("ldo", "line"), "LDO1", 0.004, 0.001, -0.012, 0.012, "V"))
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
            for s in ("slow", "fast"):
                tests.append(Test("mbist", "speed", w("mem") + [m] + w(s), pattern=True, mem=m, speed=s))
            tests.append(Test("mbist", "rep", w("mem", "rep") + [m], "", 0, 0, 0, 2, "", mem=m))
        tests += [Test("mbist", "rom", w("rom") + [str(i)], pattern=True) for i in range(2)]
        tests += [Test("mbist", "flash", w("flash") + [s], pattern=True) for s in ("er", "pg", "m0", "m1")]
        return tests

    def _func(self):
        w, tests = self.w, []
        tests.append(Test("func", "boot", w("func", "boot"), pattern=True))
        self.units = self.rng.sample(PERIPHERALS, 6)
        for unit in self.units:
            tests += self._corners("func", "unit", w("func") + [unit], ip=unit)
            for s in ("slow", "fast"):
                tests.append(Test("func", "speed", w("func") + [unit] + w(s), pattern=True, ip=unit, speed=s))
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
            tests.append(Test("ana", "vco", w("vco") + n, "", f, f * 0.004, f * 0.97, f * 1.03, "Hz", pll=i))
        for i in range(2):
            n = [str(i)]
            tests += [Test("ana", "inl", w("adc", "inl") + n, "", 0.7, 0.15, -2, 2, "LSB", adc=i),
                      Test("ana", "dnl", w("adc", "dnl") + n, "", 0.4, 0.08, -1, 1, "LSB", adc=i),
                      Test("ana", "snr", w("adc", "snr") + n, "", 66, 0.8, 62, None, "dB", adc=i),
                      Test("ana", "off", w("adc", "off") + n, "", 2e-4, 8e-4, -5e-3, 5e-3, "V", adc=i),
                      Test("ana", "gain", w("adc", "gain") + n, "", 0.1, 0.15, -1, 1, "%", adc=i)]
        tests += [Test("ana", "dac", w("dac", what), "DAC0", mean, sd, -hi, hi, "LSB", d=what)
                  for what, mean, sd, hi in (("inl", 0.8, 0.2, 3), ("dnl", 0.3, 0.05, 1))]
        tests += [Test("ana", "cmp", w("cmp", "off") + [str(i)], f"AIN{i}", 8e-4, 5e-4, -6e-3, 6e-3, "V")
                  for i in range(3)]
        tests += [Test("ana", "psrr", w("cmp", "line") + [str(i)], f"AIN{i}", 72, 1.5, 60, None, "dB")
                  for i in range(2)]
        osc = r.choice((1e5, 4e6, 8e6, 1.6e7))
        tests += [Test("ana", "osc", w("osc", v), "", osc, osc * 0.006, osc * 0.96, osc * 1.04, "Hz", v=v)
                  for v in ("vmin", "vnom", "vmax")]
        for i, rate in enumerate(("1g5", "3g", "6g")):
            tests.append(Test("ana", "ber", w("ser", "ber") + [rate], "", 0, 0, 0, 3, "", rate=i))
        tests += [Test("ana", "eye", w("ser", "eye"), "RXP", 0.62, 0.02, 0.4, None, "UI"),
                  Test("ana", "amp", w("ser", "amp"), "RXP", 0.5, 0.01, 0.4, 0.65, "V")]
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
        return tests
