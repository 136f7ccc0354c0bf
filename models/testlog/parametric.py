"""Faults told by measured values: contact, leakage, supply current, reference or trim, analog or PLL.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


def neg(c, pin):
    return c.find("cont", "neg", pin=pin)[0]


def leaks(c, pin):
    return c.find("leak", "ih", pin=pin) + c.find("leak", "il", pin=pin)


# ---- contact ------------------------------------------------------------------------------------------------

@family("contact")
def open_pin(c):
    """One pin reads the clamp and carries no current; the patterns that use it fail."""
    pin = c.rng.choice(c.product.pins)
    for test in c.find("cont", pin=pin):
        c.put(test, (c.product.clamp if test.what == "neg" else -c.product.clamp) * c.rng.uniform(0.98, 1.0))
    for test in leaks(c, pin)[:1]:
        c.put(test, c.rng.gauss(0, 2e-11))
    c.follow("func", "scan", count=c.rng.randint(0, 2), pins=[pin])


@family("contact")
def short_to_ground(c):
    """One pin near zero volts; its current then reads the range of the instrument and its output cannot rise."""
    pin = c.rng.choice(c.product.pins)
    for test in c.find("cont", pin=pin):
        c.put(test, c.rng.uniform(-0.03, 0.004))
    for test in c.find("leak", "ih", pin=pin):
        c.put(test, c.rng.choice((1e-3, 2e-4, 5e-3)) * c.rng.uniform(0.97, 1.0))
    for test in c.find("level", "voh", pin=pin):
        c.put(test, c.rng.uniform(0.0, 0.2))
    c.follow("func", count=c.rng.randint(0, 2), pins=[pin])


@family("contact")
def short_between_neighbours(c):
    """Two adjacent pins with nearly the same reading, and currents that are equal and opposite."""
    bank = c.rng.choice(c.product.banks)
    i = c.rng.randrange(len(bank) - 1)
    level = c.rng.uniform(-0.21, -0.08)
    for pin in bank[i:i + 2]:
        c.put(neg(c, pin), level + c.rng.gauss(0, 0.002))
    amps = c.rng.uniform(2e-5, 9e-4)
    for k, pin in enumerate(bank[i:i + 2]):
        for test in leaks(c, pin)[:1]:
            c.put(test, amps * (1 - 2 * k))
    c.follow("func", count=c.rng.randint(0, 1), pins=bank[i:i + 2])


@family("contact")
def quadrant_open(c):
    """Every pin of a bank at the clamp on one site; the other banks and sites are good."""
    bank = c.rng.choice(c.product.banks)
    for pin in bank:
        c.put(neg(c, pin), c.product.clamp * c.rng.uniform(0.985, 1.0))
    c.show(*[neg(c, b[0]) for b in c.product.banks])
    c.follow("func", "scan", count=c.rng.randint(0, 2), pins=bank[:2])


@family("contact")
def intermittent_sense(c):
    """A path resistance that fails, passes when probed again and fails at another value."""
    test = c.one("cont", "res")
    first = c.rng.uniform(6, 60)
    c.retests.append((test, [first, c.rng.uniform(1.6, 2.4)]))
    c.put(test, first * c.rng.uniform(0.3, 2.2) + 4)
    for v in c.find("idd", "active", pin=test.pin):
        c.show(v)
    if c.rng.random() < 0.5:
        c.over(c.rng.choice(c.find("ref", "load")), -0.3)


@family("contact")
def high_path_resistance(c):
    """Every supply path a few ohms too high, diodes a little deep, outputs a little low: an I x R picture."""
    for test in c.find("cont", "res"):
        c.put(test, c.rng.uniform(3, 9))
    for pin in c.rng.sample(c.product.pins, 2):
        c.put(neg(c, pin), c.rng.uniform(-1.05, -0.9))
    if c.rng.random() < 0.5:
        c.put(c.one("cont", "rail"), c.rng.uniform(-1.1, -0.92))
    for test in c.find("idd", "active")[:1]:
        c.over(test, -0.05)
    if c.rng.random() < 0.3:
        c.over(c.one("sys", "gnd"), c.rng.uniform(0.1, 2))
    for test in c.find("level", "vol")[:2]:
        c.put(test, test.high * c.rng.uniform(0.8, 1.15))


@family("contact")
def supply_pin_open(c):
    """A supply pin at the clamp: the rail draws nothing and whatever it feeds is dead."""
    rail = c.rng.choice(c.product.rails)
    c.put(c.find("cont", "rail", pin=rail)[0], c.product.clamp * c.rng.uniform(0.98, 1.0))
    for what in ("static", "active"):
        c.put(c.find("idd", what, pin=rail)[0], c.rng.gauss(0, 3e-7))
    if c.rng.random() < 0.6:
        c.put(c.find("cont", "res", pin=rail)[0], c.rng.uniform(300, 2000))
    c.follow("func", "mbist", count=c.rng.randint(0, 2), cycle=c.rng.randint(1, 60))


@family("contact", "parts")
def dirty_probe(c):
    """The same pins rise with every touch-down until they fail, and more of them each time."""
    pins = c.rng.choice(c.product.banks)[:4]
    for pin in pins[:c.rng.randint(2, 4)]:
        test = neg(c, pin)
        level = c.rng.uniform(-1.3, -0.97)
        n = len(c.parts)
        for k, part in enumerate(c.parts):
            good = test.mean
            die = c.die if k == n - 1 else part[c.die.site]
            c.put(test, good + (level - good) * (k + 1) / n, die)
    for test in c.find("cont", "res")[:1]:
        for k, part in enumerate(c.parts):
            c.put(test, 1.2 + 0.5 * k, part[c.die.site])


# ---- leakage ------------------------------------------------------------------------------------------------

@family("leakage")
def one_pin_high(c):
    """One pin, one polarity, several times the limit; its diode is good."""
    pin = c.rng.choice(c.product.pins)
    test = c.rng.choice(leaks(c, pin) + c.find("leak", "refpin")[:1])
    c.put(test, (test.high if test.what == "ih" else test.low) * c.rng.uniform(1.3, 30))
    c.show(neg(c, pin))
    c.show(*[t for t in leaks(c, c.rng.choice(c.product.pins))])


@family("leakage")
def bank_scaled(c):
    """All pins of a bank up by the same factor, some past the limit and some just inside."""
    bank = c.rng.choice(c.product.banks)
    for pin in bank:
        test = c.find("leak", "ih", pin=pin)[0]
        c.put(test, test.high * c.rng.uniform(0.8, 1.6))
    c.put(c.find("leak", "ih", pin=bank[0])[0], c.find("leak", "ih")[0].high * c.rng.uniform(1.1, 1.7))
    if c.rng.random() < 0.25:
        c.over(c.one("idd", "stby"), 0.2)


@family("leakage")
def doubles_with_heat(c):
    """In limits cold, doubling every ten degrees, out at the hottest point."""
    pin = c.rng.choice(c.find("leak", "hot")).pin
    tests = c.find("leak", "hot", pin=pin)
    top = tests[-1].high * c.rng.uniform(1.3, 8)
    for test, share in zip(tests, (1 / 60, 1 / 6, 1)):
        c.put(test, top * share * c.rng.uniform(0.8, 1.2))
    if c.rng.random() < 0.25:
        c.over(c.one("idd", "sleep"), c.rng.uniform(0.1, 0.6))


@family("leakage")
def output_off_state(c):
    """Only with the driver off, about the same high and low; driven levels are fine."""
    pin = c.rng.choice(c.find("leak", "ioz")).pin
    tests = c.find("leak", "ioz", pin=pin)
    amps = tests[0].high * c.rng.uniform(1.4, 9)
    for test, sign in zip(tests, (1, -1)):
        c.put(test, sign * amps * c.rng.uniform(0.9, 1.1))
    c.show(*c.some(c.find("level"), 2), neg(c, pin))


@family("leakage")
def damaged_clamp(c):
    """Both polarities high at one pin as through a resistor, and the diode shallow but inside its limits."""
    pin = c.rng.choice(c.product.pins)
    for test in leaks(c, pin):
        c.put(test, (test.high if test.what == "ih" else test.low) * c.rng.uniform(5, 300))
    c.put(neg(c, pin), c.rng.uniform(-0.42, -0.3))
    c.follow("func", count=c.rng.randint(0, 1), pins=[pin])


@family("leakage")
def power_switch(c):
    """The power switch when off; supply currents of the running part are normal."""
    test = c.one("leak", "sw")
    c.put(test, test.high * c.rng.uniform(1.1, 200) * c.rng.choice((1, 1, -1)))
    c.show(*c.find("idd", "static", pin=test.pin)[:2])
    if c.rng.random() < 0.3:
        c.over(c.rng.choice(c.find("idd", "sleep", pin=test.pin)), c.rng.uniform(0.2, 2))


@family("leakage")
def all_pins_offset(c):
    """Every pin shifted to the same small value at the limit, and stand-by a little high after it."""
    tests = c.some(c.find("leak", "il"), 7)
    level = tests[0].low * c.rng.uniform(1.05, 1.5)
    for test in tests:
        c.put(test, level * c.rng.uniform(0.96, 1.04))
    c.over(c.one("idd", "stby"), c.rng.uniform(0.1, 0.5))


@family("leakage")
def analog_input_bias(c):
    """Input current of a reference or converter pin; offset and gain follow it."""
    for test in c.some(c.find("leak", "refpin"), 2):
        c.put(test, test.high * c.rng.uniform(1.5, 20))
    if c.rng.random() < 0.7:
        c.over(c.one("ana", c.rng.choice(("off", "gain"))), c.rng.uniform(0.1, 0.8))
    c.show(c.one("ref", "aft"))


# ---- supply current -----------------------------------------------------------------------------------------

@family("supply_current")
def rail_short(c):
    """A rail at the current clamp before power-up; everything after it is dead from the first cycles."""
    rail = c.rng.choice(c.product.rails)
    clamp = c.rng.choice((0.1, 0.2, 0.5)) * c.rng.uniform(0.99, 1.0)
    c.put(c.find("short", pin=rail)[0], clamp)
    for test in c.some(c.find("idd", "static", pin=rail), 2):
        c.put(test, clamp * c.rng.uniform(0.995, 1.0))
    c.follow("func", "scan", "mbist", count=c.rng.randint(1, 4), cycle=c.rng.randint(1, 40))
    if c.rng.random() < 0.4:
        c.put(c.one("ref", "bef"), c.rng.uniform(0.0, 0.3))
    if c.rng.random() < 0.3:
        sense = c.one("sys", "dps")
        c.put(sense, sense.low * c.rng.uniform(0.2, 0.9))


@family("supply_current")
def static_high(c):
    """Idle current high at every voltage and rising with it; the part works."""
    rail = c.rng.choice(c.product.rails)
    k = c.rng.uniform(1.9, 4)
    for test in c.find("idd", "static", pin=rail) + c.find("idd", "post", pin=rail):
        c.times(test, k)
    c.show(*c.some(c.find("func", "unit"), 2))


@family("supply_current")
def few_quiescent_vectors(c):
    """Two or three vectors of the quiescent set stand out, the others are flat."""
    tests = c.find("idd", "iddq")
    high = c.some(tests, c.rng.randint(1, 3))
    k = c.rng.uniform(2.2, 12)
    for test in high:
        c.times(test, k * c.rng.uniform(0.97, 1.03))
    c.show(*c.some(tests, 5))


@family("supply_current")
def standby_only(c):
    """Too much in stand-by, normal when active; pins are tight."""
    test = c.one("idd", "stby")
    c.over(test, c.rng.uniform(0.2, 6))
    if c.rng.random() < 0.6:
        other = c.rng.choice([t for t in c.find("idd", "stby") if t is not test])
        c.over(other, c.rng.uniform(0.1, 2))
    c.show(*c.find("idd", "active", pin=test.pin), *c.some(c.find("leak", "ih"), 2))


@family("supply_current")
def active_only(c):
    """Running current over the limit, idle and speed normal."""
    test = c.one("idd", "active")
    c.over(test, c.rng.uniform(0.05, 0.5))
    c.show(*c.find("idd", "static", pin=test.pin)[:2], c.one("time", "fmax"))


@family("supply_current")
def overloaded_domain(c):
    """One domain draws too much and its regulator and reference sag after it."""
    rail = c.rng.choice(c.product.rails)
    for test in c.some(c.find("idd", "static", pin=rail), 2) + c.find("idd", "active", pin=rail):
        c.times(test, c.rng.uniform(3, 9))
    for test in c.some(c.find("ref", "load") + c.find("ref", "aft") + c.find("ref", "hot"), 2):
        c.put(test, test.low * c.rng.uniform(0.93, 0.995))


@family("supply_current")
def never_sleeps(c):
    """Sleep and stand-by read the idle current to the digit; waking up passes."""
    rail = c.rng.choice(c.product.rails)
    idle = c.die.value[c.find("idd", "static", pin=rail, v="vnom")[0]]
    for what in ("sleep", "stby"):
        c.put(c.find("idd", what, pin=rail)[0], idle * c.rng.uniform(0.999, 1.001))
    c.show(c.find("idd", "static", pin=rail, v="vnom")[0], c.one("func", "wake"))


@family("supply_current")
def latch_up(c):
    """Normal at first; after the patterns the same rail is at the clamp and the patterns after that fail."""
    rail = c.rng.choice(c.product.rails)
    c.show(c.find("idd", "static", pin=rail, v="vnom")[0])
    c.put(c.find("idd", "post", pin=rail)[0], c.rng.choice((0.1, 0.2, 0.25, 0.5)) * c.rng.uniform(0.99, 1))
    c.follow("func", "scan", count=c.rng.randint(1, 3))


# ---- reference or trim voltage --------------------------------------------------------------------------------

@family("reference_trim")
def trim_at_its_end(c):
    """The raw reference is far off, the trim code sits at an end and the result is still off."""
    sign = c.rng.choice((-1, 1))
    test = c.find("ref", "bef")[0]
    c.put(test, test.mean * (1 + sign * c.rng.uniform(0.04, 0.12)))
    c.put(c.find("ref", "code")[0], 0 if sign > 0 else c.product.code_max)
    aft = c.find("ref", "aft")[0]
    c.put(aft, aft.mean * (1 + sign * c.rng.uniform(0.01, 0.05)))
    if c.rng.random() < 0.5:
        c.over(c.one("ref", "iref"), sign * c.rng.uniform(0.02, 0.3))
    if c.rng.random() < 0.4:
        c.over(c.one("ana", "gain"), sign * c.rng.uniform(0.1, 1))


@family("reference_trim")
def just_outside(c):
    """The steps look right and the result misses the window by a hair."""
    aft = c.find("ref", "aft")[0]
    c.over(aft, c.rng.choice((-1, 1)) * c.rng.uniform(0.005, 0.2))
    c.show(*c.some(c.find("ref", "sim"), 4), c.find("ref", "bef")[0], c.find("ref", "code")[0])


@family("reference_trim")
def load_regulation(c):
    """A regulator holds without a load and drops with one; currents are normal."""
    load = c.one("ref", "load")
    c.put(load, load.low * c.rng.uniform(0.8, 0.99))
    if c.rng.random() < 0.5:
        other = [t for t in c.find("ref", "load") if t is not load][0]
        c.put(other, other.low * c.rng.uniform(0.9, 0.995))
    if c.rng.random() < 0.5:
        c.over(c.rng.choice(c.find("ref", "line", pin="LDO1")), c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.4))
    c.show(*c.find("ref", "noload", pin=load.pin), *c.some(c.find("idd", "static"), 2))
    if c.rng.random() < 0.3:
        c.follow("func", "mbist", count=1)


@family("reference_trim")
def line_regulation(c):
    """The output follows the supply."""
    test = c.one("ref", "line")
    c.over(test, c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 1.2))
    if c.rng.random() < 0.5:
        c.over(c.find("ref", "uvlo")[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.4))
    c.show(c.one("ref", "aft"), c.one("sys", "dps"))


@family("reference_trim")
def fuse_not_blown(c):
    """After trimming the reading is the one before it, and the code reads back wrong."""
    bef, aft = c.find("ref", "bef")[0], c.find("ref", "aft")[0]
    raw = bef.mean * (1 + c.rng.choice((-1, 1)) * c.rng.uniform(0.012, 0.05))
    c.put(bef, raw)
    c.put(aft, raw * c.rng.uniform(0.9995, 1.0005))
    c.fault(c.find("ref", "otp")[0], 1, words=[c.word(flip=c.rng.randrange(1, 64))], pins=[])


@family("reference_trim")
def drifts_hot(c):
    """Right when cold and out of its window hot."""
    tests = c.find("ref", "hot")
    c.show(tests[0])
    sign = c.rng.choice((-1, 1))
    for test, share in zip(tests[1:], (0.3, 1)):
        c.put(test, test.mean * (1 + sign * share * c.rng.uniform(0.016, 0.05)))
    if c.rng.random() < 0.5:
        c.over(c.one("ana", "osc"), sign * c.rng.uniform(0.05, 0.4))


@family("reference_trim")
def bias_ratio(c):
    """Every current made from the bias is off by one ratio, and the oscillator with them."""
    k = c.rng.choice((c.rng.uniform(0.72, 0.86), c.rng.uniform(1.14, 1.35)))
    for test in c.find("ref", "iref"):
        c.put(test, test.mean * k * c.rng.uniform(0.995, 1.005))
    for test in c.some(c.find("ana", "osc"), 1):
        c.put(test, test.mean * k * c.rng.uniform(0.99, 1.01))


@family("reference_trim")
def thresholds_shifted(c):
    """The thresholds up and down are off by the same amount; the distance between them is right."""
    tests = c.find("ref", "uvlo")
    shift = c.rng.choice((-1, 1)) * tests[0].mean * c.rng.uniform(0.07, 0.2)
    for test in tests[:2]:
        c.put(test, test.mean + shift + c.rng.gauss(0, 0.004))
    c.show(tests[2])
    c.follow("func", count=c.rng.randint(0, 1))


# ---- analog or PLL ----------------------------------------------------------------------------------------------

@family("analog_pll")
def no_lock(c):
    """The lock flag stays low and the frequency sits at a rail; patterns that need it fail, slow ones pass."""
    i = c.rng.randrange(2)
    c.put(c.find("ana", "lock", pll=i)[0], 0)
    vco = c.find("ana", "vco", pll=i)[0]
    c.put(vco, vco.mean * c.rng.choice((0.31, 0.42, 1.6, 1.9)) * c.rng.uniform(0.97, 1.03))
    late = c.find("ana", "ltime", pll=i)[0]
    c.put(late, late.high * c.rng.uniform(1.5, 9))
    c.show(*c.some(c.find("func", "speed", speed="slow"), 1))
    if c.rng.random() < 0.5:
        c.put(c.find("ana", "ber")[1], c.rng.randint(50, 9000))
    c.follow("func", count=c.rng.randint(0, 2))


@family("analog_pll")
def noisy_loop(c):
    """Locks late and jitters; the mean frequency is right."""
    i = c.rng.randrange(2)
    c.over(c.find("ana", "jit", pll=i)[0], c.rng.uniform(0.1, 1.5))
    c.over(c.find("ana", "ltime", pll=i)[0], c.rng.uniform(-0.25, 0.8) if c.rng.random() < 0.5 else 0.3)
    c.show(c.find("ana", "vco", pll=i)[0], c.find("ana", "lock", pll=i)[0])
    if c.rng.random() < 0.5:
        c.over(c.find("ana", "osc", v="vmin")[0], -c.rng.uniform(0.05, 0.9))
    if c.rng.random() < 0.3:
        test = c.one("time", "eye")
        c.put(test, test.low * c.rng.uniform(0.6, 0.98))


@family("analog_pll")
def missing_codes(c):
    """Linearity breaks at a code and the noise follows; offset and reference are right."""
    i = c.rng.randrange(2)
    c.over(c.find("ana", "dnl", adc=i)[0], c.rng.uniform(0.05, 1.5))
    c.over(c.find("ana", "inl", adc=i)[0], c.rng.uniform(0.05, 1.0))
    if c.rng.random() < 0.6:
        c.over(c.find("ana", "snr", adc=i)[0], -c.rng.uniform(0.05, 0.4))
    c.show(c.find("ana", "off", adc=i)[0], c.one("ref", "aft"))


@family("analog_pll")
def offset_and_gain(c):
    """A converter shifted or scaled though its reference and its inputs are right."""
    i = c.rng.randrange(2)
    c.over(c.find("ana", "off", adc=i)[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 2))
    if c.rng.random() < 0.6:
        c.over(c.find("ana", "gain", adc=i)[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 2))
    c.show(c.one("ref", "aft"), c.one("leak", "refpin"), c.find("ana", "inl", adc=i)[0])


@family("analog_pll")
def not_monotonic(c):
    """The output converter steps back."""
    for test in c.find("ana", "dac"):
        c.over(test, c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 1.5))
    c.show(c.one("ref", "aft"), c.one("idd", "active"))


@family("analog_pll")
def comparator(c):
    """One amplifier with too much offset and too little rejection, its neighbours good."""
    tests = c.find("ana", "cmp")
    bad = c.rng.choice(tests)
    c.over(bad, c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 2))
    c.show(*tests)
    for test in c.find("ana", "psrr", pin=bad.pin):
        c.put(test, test.low * c.rng.uniform(0.6, 0.97))
    if c.rng.random() < 0.4:
        test = c.one("ana", "eye")
        c.put(test, test.low * c.rng.uniform(0.6, 0.97))


@family("analog_pll")
def oscillator(c):
    """The free oscillator off by one ratio at every supply while its bias and reference are right."""
    k = c.rng.choice((c.rng.uniform(0.75, 0.94), c.rng.uniform(1.06, 1.3)))
    for test in c.find("ana", "osc"):
        c.put(test, test.mean * k * c.rng.uniform(0.997, 1.003))
    if c.rng.random() < 0.5:
        c.over(c.one("ana", "jit"), c.rng.uniform(0.02, 0.5))
    c.show(c.one("ref", "iref"))


@family("analog_pll")
def serial_lane(c):
    """Errors grow with the rate and the eye closes; the slow rates are clean."""
    tests = c.find("ana", "ber")
    c.show(tests[0])
    c.put(tests[1], c.rng.choice((0, 2, 7, 40)))
    c.put(tests[2], c.rng.randint(20, 60000))
    test = c.one("ana", "eye")
    c.put(test, c.rng.uniform(0.1, 0.38))
    c.show(*c.find("ana", "amp"))
