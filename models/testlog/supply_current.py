"""Faults that make a supply carry too much: at rest, asleep, running, at power-up.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


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
def high_supply_only(c):
    """In limits at the low and the nominal voltage, far out at the high one."""
    rail = c.rng.choice(c.product.rails)
    low, nominal, high = c.find("idd", "static", pin=rail)
    c.times(high, c.rng.uniform(1.6, 8))
    c.show(low, nominal)
    c.show(*c.some(c.find("func", "unit", v="vmax"), 2))


@family("supply_current")
def inrush(c):
    """The peak at power-up is too high; once up, the part draws what it should."""
    test = c.one("idd", "inrush")
    c.over(test, c.rng.uniform(0.05, 3))
    if c.rng.random() < 0.3:
        c.over(c.rng.choice(c.find("short", pin=test.pin)), c.rng.uniform(0.1, 2))
    c.show(*c.find("idd", "static", pin=test.pin)[:2], *c.find("idd", "active", pin=test.pin))
    c.show(c.find("func", "boot")[0])


@family("supply_current")
def one_unit_draws(c):
    """The current of one unit when it is enabled is out, of the others right, and the unit works."""
    test = c.one("idd", "per")
    c.over(test, c.rng.uniform(0.1, 2))
    c.show(*c.find("idd", "per"), *c.some(c.find("func", "unit", ip=test.cond["ip"]), 1))
    if c.rng.random() < 0.4:
        c.over(c.find("idd", "active", pin=test.pin)[0], c.rng.uniform(0.02, 0.3))


@family("supply_current")
def static_hot(c):
    """Supply current right at room temperature and many times the limit hot; pins stay tight."""
    top = c.find("idd", "hot")[-1].high * c.rng.uniform(1.2, 5)
    for test, share in zip(c.find("idd", "hot"), (0.15, 0.45, 1)):
        c.put(test, max(top * share * c.rng.uniform(0.9, 1.1), test.mean))
    if c.rng.random() < 0.4:
        c.over(c.one("idd", "stby"), c.rng.uniform(0.1, 2))
    c.show(*c.some(c.find("leak", "hot"), 2))


@family("supply_current")
def between_rails(c):
    """One rail gives what another takes: the excess of the first is missing on the second."""
    giver, taker = c.rng.sample(c.product.rails, 2)
    out, back = c.find("idd", "static", pin=giver, v="vnom")[0], c.find("idd", "static", pin=taker, v="vnom")[0]
    amps = max(out.high, back.high) * c.rng.uniform(0.6, 2)
    c.put(out, out.mean + amps)
    c.put(back, back.mean - amps * c.rng.uniform(0.98, 1.0))
    if c.rng.random() < 0.4:
        c.over(c.rng.choice(c.find("leak", "inter", pin=giver)), c.rng.uniform(0.1, 2))


@family("supply_current")
def stepped_quiescent(c):
    """From one vector of the quiescent set on all are high: a state that the part does not leave again."""
    tests = c.find("idd", "iddq")
    at, k = c.rng.randint(2, 5), c.rng.uniform(2, 15)
    c.show(*tests[:at])
    for test in tests[at:]:
        c.times(test, k * c.rng.uniform(0.98, 1.02))
    if c.rng.random() < 0.4:
        c.times(c.find("idd", "post", pin=c.product.rails[0])[0], c.rng.uniform(1.8, 2.4))
    if c.rng.random() < 0.3:
        c.follow("func", count=1)


@family("supply_current")
def creeps(c):
    """The same current higher each time it is read: first at its limit, at the end well past it."""
    rail = c.rng.choice(c.product.rails)
    first, last = c.find("idd", "static", pin=rail, v="vnom")[0], c.find("idd", "post", pin=rail)[0]
    level = first.high * c.rng.uniform(0.93, 1.1)
    c.put(first, level)
    c.put(c.find("idd", "static", pin=rail, v="vmax")[0], level * c.rng.uniform(1.1, 1.25))
    c.put(last, level * c.rng.uniform(1.3, 2))
    if c.rng.random() < 0.4:
        c.retests.append((first, [level * 0.9, level * 0.97]))


@family("supply_current")
def analog_bias_on(c):
    """The analog rail draws its running current in stand-by and sleep alike; converters and loops are right."""
    rail = c.product.rails[2]
    level = c.die.value[c.find("idd", "active", pin=rail)[0]] * c.rng.uniform(0.2, 0.5)
    for test in c.find("idd", "stby", pin=rail) + c.find("idd", "static", pin=rail)[:2]:
        c.put(test, level * c.rng.uniform(0.98, 1.02))
    c.show(c.one("ana", "off"), c.one("ana", "lock"), *c.find("idd", "stby", pin=c.product.rails[0]))


@family("supply_current")
def in_reset_only(c):
    """Two drivers fight while the part is held in reset: too much there, the current after release is right."""
    test = c.one("idd", "rst")
    c.over(test, c.rng.uniform(0.1, 5))
    c.keep(c.find("idd", "static", pin=test.pin, v="vnom")[0])
    c.show(*c.find("idd", "active", pin=test.pin), *c.find("func", "boot"), *c.find("idd", "rst"))


@family("supply_current")
def undefined_at_start(c):
    """Nodes that power up anyhow: idle current another at each reading, right in reset and after the patterns."""
    rail = c.rng.choice(c.product.rails)
    for test in c.some(c.find("idd", "static", pin=rail), c.rng.randint(1, 3)):
        c.times(test, c.rng.uniform(1.9, 7))
    c.retests.append((test, [c.die.value[test] * c.rng.uniform(1.3, 2), test.mean]))
    c.keep(c.find("idd", "post", pin=rail)[0])
    c.show(*c.find("idd", "rst", pin=rail))
    if c.rng.random() < 0.4:
        c.fault(c.one("func", "reset"), cycle=c.rng.randint(1, 60))


@family("supply_current")
def clock_never_stops(c):
    """The clock of one unit is never gated: enabling it adds nothing, stand-by carries what is missing there."""
    test, rail = c.one("idd", "per"), c.product.rails[0]
    c.put(test, test.mean * c.rng.uniform(-0.01, 0.03))
    for other in c.find("idd", "stby", pin=rail) + c.find("idd", "static", pin=rail) + c.find("idd", "post", pin=rail):
        c.die.value[other] = other.mean + test.mean * c.rng.uniform(0.95, 1.05)
    c.keep(c.find("idd", "stby", pin=rail)[0])
    c.show(*c.find("idd", "static", pin=rail, v="vnom"))
    c.show(*c.find("idd", "per"), *c.some(c.find("func", "unit", ip=test.cond["ip"]), 1))


@family("supply_current")
def capacitor_leaks(c):
    """A capacitor of the rail conducts: the same amount more in stand-by and asleep, too little to show awake."""
    rail = c.rng.choice(c.product.rails)
    amps = c.find("idd", "stby", pin=rail)[0].high * c.rng.uniform(0.9, 5)
    for test in c.find("idd", "stby", pin=rail) + c.find("idd", "sleep", pin=rail):
        c.put(test, test.mean + amps * c.rng.uniform(0.98, 1.02))
    for test in c.find("idd", "rst", pin=rail) + c.find("idd", "static", pin=rail):
        c.die.value[test] += amps
        c.show(test)
    c.show(*c.find("func", "wake"))
    if c.rng.random() < 0.3:
        c.over(c.find("short", pin=rail)[0], c.rng.uniform(0.02, 0.8))


@family("supply_current")
def every_other_vector(c):
    """A bridged node that turns with each vector: every second quiescent vector is high by the same amount."""
    tests, at = c.find("idd", "iddq"), c.rng.randint(0, 1)
    extra = tests[0].mean * c.rng.uniform(1.2, 12)
    for test in tests[at::2]:
        c.put(test, test.mean + extra * c.rng.uniform(0.98, 1.02))
    for test in tests[1 - at::2][:3]:
        c.keep(test)
    if c.rng.random() < 0.3:
        c.fault(c.one("scan", "stuck"), c.rng.randint(1, 9))


@family("supply_current")
def settles_slowly(c):
    """A floating node discharges: the first quiescent vector is highest, each next one lower, the last ones flat."""
    share, slow = c.rng.uniform(4, 25), c.rng.uniform(0.45, 0.65)
    for i, test in enumerate(c.find("idd", "iddq")):
        c.put(test, test.mean * (1 + share * slow ** i) * c.rng.uniform(0.98, 1.02))
    c.show(*c.find("idd", "post", pin=c.product.rails[0]), *c.find("idd", "stby", pin=c.product.rails[0]))


@family("supply_current")
def falls_with_heat(c):
    """A sliver of metal across the rail: too much at room temperature and less the hotter, as metal does."""
    tests = c.find("idd", "hot")
    level = tests[0].high * c.rng.uniform(1.05, 1.4)
    for test, share in zip(tests, (1, c.rng.uniform(0.83, 0.87), c.rng.uniform(0.7, 0.75))):
        c.put(test, level * share)
    for test, share in zip(c.find("idd", "static", pin=c.product.rails[0]), (0.85, 1, 1.15)):
        c.die.value[test] = level * share * c.rng.uniform(0.99, 1.01)
    c.keep(c.find("idd", "static", pin=c.product.rails[0], v="vnom")[0])
    c.show(*c.some(c.find("leak", "hot"), 2), *c.some(c.find("func", "unit"), 1))


@family("supply_current")
def behind_the_regulator(c):
    """A short behind a regulator: the rail before it draws a constant current, its output is down, its sister right."""
    name, rail = c.rng.choice(c.product.regulators), c.product.rails[0]
    left = c.rng.uniform(0.03, 0.4)
    for test in c.find("ref", "noload", pin=name) + c.find("ref", "load", pin=name):
        c.put(test, test.mean * left * c.rng.uniform(0.98, 1.0))
    level = c.find("idd", "static", pin=rail, v="vmax")[0].high * c.rng.uniform(1.4, 5)
    tests = c.find("idd", "static", pin=rail) + c.find("idd", "rst", pin=rail) + c.find("idd", "post", pin=rail)
    for test in tests:
        c.die.value[test] = level * c.rng.uniform(0.997, 1.003)
    for test in c.some(tests, 3):
        c.keep(test)
    c.show(c.find("ref", "aft")[0], *[t for t in c.find("ref", "noload") if t.pin != name])
    c.follow("func", "mbist", count=c.rng.randint(0, 2), cycle=c.rng.randint(1, 60))


@family("supply_current")
def short_channels(c):
    """Transistors that never quite turn off: all quiescent vectors up by one factor, stand-by too, and fast."""
    k = c.rng.uniform(1.95, 5)
    fast = c.rng.uniform(1.06, 1.13)
    for test, factor in [(t, k) for t in c.find("idd", "iddq")] + [(t, fast) for t in c.find("time", "ring")]:
        c.die.value[test] = test.mean * factor * c.rng.uniform(0.98, 1.02)
    for test in c.some(c.find("idd", "iddq"), c.rng.randint(4, 8)) + c.some(c.find("time", "ring"), 1):
        c.keep(test)
    if c.rng.random() < 0.6:
        stby = c.find("idd", "stby", pin=c.product.rails[0])[0]
        c.put(stby, stby.mean * k * c.rng.uniform(1.0, 1.4))
    c.show(*c.find("time", "fmax")[:2], *c.some(c.find("leak", "ih"), 1))


@family("supply_current")
def turns_in_its_sleep(c):
    """It wakes up again and again: each reading of the sleep current differs, all too high; idle is right."""
    test = c.one("idd", "sleep")
    c.retests.append((test, [test.high * c.rng.uniform(2, 40), test.high * c.rng.uniform(1.2, 30)]))
    c.put(test, test.high * c.rng.uniform(1.5, 60))
    if c.rng.random() < 0.4:
        c.over(c.find("idd", "stby", pin=test.pin)[0], c.rng.uniform(0.05, 2))
    c.show(*c.find("func", "wake"), *c.find("idd", "static", pin=test.pin)[:2], *c.find("idd", "sleep"))


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
