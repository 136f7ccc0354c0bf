"""Faults of references, regulators, bias currents, thresholds and of the trim that sets them.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


def trimmed(c, k):
    """The result of the trim, and all that is read of the reference after it, are off by one ratio."""
    for test in c.find("ref", "aft") + c.find("ref", "hot") + c.find("ref", "cold"):
        c.die.value[test] = test.mean * k * c.rng.uniform(0.9992, 1.0008)
    c.keep(c.find("ref", "aft")[0])


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
        line = c.find("ref", "line", pin=c.product.regulators[0])[0]
        c.over(line, c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.4))
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
def uneven_steps(c):
    """One bit of the trim has the wrong weight: the steps jump at one place and the result lands beside its window."""
    tests = c.find("ref", "sim")
    at, jump = c.rng.randint(1, 4), c.rng.choice((-1, 1)) * c.product.vref * c.rng.uniform(0.05, 0.12)
    for i, test in enumerate(tests):
        c.put(test, test.mean + (jump if i >= at else 0))
    c.over(c.find("ref", "aft")[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 1.5))


@family("reference_trim")
def dead_trim(c):
    """Every step of the trim reads the same voltage: the code reaches nothing."""
    level = c.product.vref * c.rng.uniform(*c.rng.choice(((0.9, 0.92), (1.08, 1.1), (0.94, 0.98))))
    for test in c.find("ref", "bef") + c.find("ref", "sim") + c.find("ref", "aft"):
        c.put(test, level * c.rng.uniform(0.9998, 1.0002))
    if c.rng.random() < 0.4:
        c.put(c.find("ref", "code")[0], c.product.code_max)


@family("reference_trim")
def dead_reference(c):
    """The reference does not start: next to nothing at its pin and at whatever is made from it, currents small."""
    for test in c.find("ref", "bef") + c.some(c.find("ref", "hot") + c.find("ref", "aft"), c.rng.randint(0, 2)):
        c.put(test, c.rng.uniform(0.0, 0.25))
    for test in c.some(c.find("ref", "noload") + c.find("ref", "iref"), c.rng.randint(1, 4)):
        c.put(test, test.mean * c.rng.uniform(0.0, 0.2))
    c.show(*c.some(c.find("idd", "static"), 2), *c.some(c.find("short"), 1))
    c.follow("func", "mbist", count=c.rng.randint(0, 1))


@family("reference_trim")
def noisy_reference(c):
    """The mean is right, the noise is not; what is read against it scatters a little."""
    c.over(c.find("ref", "noise")[0], c.rng.uniform(0.05, 3))
    if c.rng.random() < 0.4:
        c.over(c.one("ana", "snr"), -c.rng.uniform(0.02, 0.15))
    c.show(c.find("ref", "aft")[0], c.one("ref", "line"), *c.find("ref", "hot")[:1])


@family("reference_trim")
def slow_start(c):
    """It settles late and then is right; a start-up pattern that does not wait for it fails."""
    c.over(c.find("ref", "settle")[0], c.rng.uniform(0.05, 4))
    if c.rng.random() < 0.4:
        c.fault(c.find("func", "boot")[0], c.rng.randint(1, 90), cycle=c.rng.randint(1, 300))
    if c.rng.random() < 0.3:
        c.over(c.one("ref", "iref"), -c.rng.uniform(0.02, 0.3))
    c.show(c.find("ref", "aft")[0], *c.some(c.find("ref", "noload"), 2))


@family("reference_trim")
def dropout(c):
    """A regulator needs too much headroom: dropout out, output low only at full load or low supply."""
    test = c.one("ref", "drop")
    c.over(test, c.rng.uniform(0.05, 2))
    if c.rng.random() < 0.5:
        load = c.find("ref", "load", pin=test.pin)[0]
        c.put(load, load.low * c.rng.uniform(0.95, 0.998))
    c.show(*c.find("ref", "noload", pin=test.pin), *c.find("idd", "static")[:1])


@family("reference_trim")
def wrong_setting(c):
    """A regulator sits at another of its settings, loaded or not: the selection is lost, the loop is sound."""
    name = c.rng.choice(c.product.regulators)
    k = c.rng.choice((0.5, 0.6667, 0.75, 1.25, 1.3333, 1.5))
    for test in c.find("ref", "noload", pin=name) + c.find("ref", "load", pin=name):
        c.put(test, test.mean * k * c.rng.uniform(0.997, 1.003))
    if c.rng.random() < 0.3:
        c.fault(c.find("ref", "otp")[0], 1, words=[c.word()], pins=[])
    c.show(c.find("ref", "aft")[0], *c.find("ref", "drop", pin=name))


@family("reference_trim")
def lost_after_reset(c):
    """Right just after trimming, back at the raw value when read hot: the code was used and never stored."""
    bef, aft = c.find("ref", "bef")[0], c.find("ref", "aft")[0]
    raw = bef.mean * c.rng.choice((c.rng.uniform(0.95, 0.985), c.rng.uniform(1.03, 1.055)))
    c.put(bef, raw)
    c.keep(aft)
    for test in c.find("ref", "hot"):
        c.put(test, raw * c.rng.uniform(0.998, 1.002))
    if c.rng.random() < 0.4:
        c.over(c.one("ana", "gain"), c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 0.6))
    if c.rng.random() < 0.4:
        c.over(c.one("ref", "iref"), c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.4))


@family("reference_trim")
def mirror_mismatch(c):
    """One of the mirrored currents is off, its sisters and the reference are right."""
    tests = c.find("ref", "iref")
    bad = c.rng.choice(tests)
    c.over(bad, c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 1.2))
    c.show(*tests, c.find("ref", "aft")[0])
    if c.rng.random() < 0.3:
        c.over(c.one("ana", "vslew"), -c.rng.uniform(0.02, 0.3))

@family("reference_trim")
def hysteresis(c):
    """One threshold is where it should be, the other too close to it or too far: the distance is wrong."""
    up, down, distance = c.find("ref", "uvlo")
    gap = c.rng.choice((c.rng.uniform(0.0, 0.12), c.rng.uniform(0.18, 0.4)))
    c.keep(up)
    c.put(down, c.die.value[up] - gap)
    c.put(distance, gap)
    c.show(c.find("ref", "aft")[0], c.one("sys", "dps"))



@family("reference_trim")
def starts_sometimes(c):
    """A weak start-up circuit: nothing at the first try, right at the next, and in the cold it does not start."""
    bef, cold = c.find("ref", "bef")[0], c.find("ref", "cold")[0]
    c.retests.append((bef, [c.rng.uniform(0.0, 0.25), c.die.value[bef]]))
    c.keep(bef)
    c.put(cold, c.rng.uniform(0.0, 0.3))
    if c.rng.random() < 0.5:
        c.over(c.find("ref", "settle")[0], c.rng.uniform(0.1, 6))
    c.show(*c.find("ref", "hot")[:2], c.find("ref", "aft")[0])
    if c.rng.random() < 0.3:
        c.fault(c.find("func", "boot")[0], cycle=c.rng.randint(1, 200))


@family("reference_trim")
def too_curved(c):
    """The curve over temperature bends too much: right in the middle, off by the same sign at both of its ends."""
    cold, hot = c.find("ref", "cold")[0], c.find("ref", "hot")
    off = c.rng.choice((-1, 1)) * c.rng.uniform(0.018, 0.05)
    for test in (cold, hot[-1]):
        c.put(test, test.mean * (1 + off * c.rng.uniform(0.85, 1.15)))
    c.keep(hot[0])
    c.show(hot[1], c.find("ref", "aft")[0])
    if c.rng.random() < 0.3:
        c.over(c.one("ref", "iref"), c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.3))


@family("reference_trim")
def regulator_rings(c):
    """A regulator short of phase margin: right at any steady load, far down at a step, fast patterns feel it."""
    test = c.one("ref", "dip")
    c.over(test, c.rng.uniform(0.1, 4))
    c.keep(c.find("ref", "load", pin=test.pin)[0])
    c.show(*c.find("ref", "noload", pin=test.pin), *c.find("ref", "dip"))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 2)):
        c.fault(fast, c.rng.randint(1, 9))
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))


@family("reference_trim")
def limits_too_early(c):
    """The current limit of a regulator bites below full load: the output breaks down there, unloaded it is right."""
    test = c.one("ref", "ilim")
    c.put(test, test.low * c.rng.uniform(0.3, 0.96))
    if c.rng.random() < 0.7:
        load = c.find("ref", "load", pin=test.pin)[0]
        c.put(load, load.mean * c.rng.uniform(0.3, 0.93))
    c.show(*c.find("ref", "noload", pin=test.pin), *c.find("ref", "drop", pin=test.pin), *c.find("ref", "ilim"))
    if c.rng.random() < 0.3:
        c.over(c.rng.choice(c.find("idd", "active")), -0.05)


@family("reference_trim")
def dead_bit(c):
    """The lowest bit of the trim does nothing: the steps come in equal pairs and none is near enough."""
    tests = c.find("ref", "sim")
    for i, test in enumerate(tests):
        c.put(test, tests[i | 1].mean * c.rng.uniform(0.9998, 1.0002))
    trimmed(c, c.rng.choice((0.99, 1.01)))
    c.show(*c.find("ref", "code"), *c.find("ref", "otp"))


@family("reference_trim")
def trims_away(c):
    """The sign of the trim is wrong: steps go down where they should go up, the result is worse than the start."""
    tests = c.find("ref", "sim")
    for test, other in zip(tests, tests[::-1]):
        c.put(test, other.mean * c.rng.uniform(0.9995, 1.0005))
    bef, aft = c.find("ref", "bef")[0], c.find("ref", "aft")[0]
    off = c.rng.choice((-1, 1)) * c.rng.uniform(0.01, 0.03)
    c.put(bef, aft.mean * (1 + off))
    trimmed(c, 1 + off * c.rng.uniform(1.8, 2.2))
    c.show(*c.find("ref", "code"))


@family("reference_trim")
def one_fuse_too_many(c):
    """A fuse that should be whole is blown: the code reads back with one more bit, all after it is off alike."""
    bit = c.rng.randrange(2, 6)
    k = 1 + c.rng.choice((-1, 1)) * 0.008 * 2 ** (bit - 2) * c.rng.uniform(1.05, 1.3)
    c.fault(c.find("ref", "otp")[0], 1, words=[c.word(want=c.rng.randrange(64) & ~(1 << bit), flip=1 << bit)], pins=[])
    trimmed(c, k)
    c.keep(c.find("ref", "bef")[0])
    c.show(*c.find("ref", "hot")[:2], *c.find("ref", "code"), *c.some(c.find("ref", "sim"), 2))


@family("reference_trim")
def buffer_after_reference(c):
    """The buffer behind the reference has a wrong gain: the pin is right, all made from it off by one ratio."""
    k = 1 + c.rng.choice((-1, 1)) * c.rng.uniform(0.065, 0.14)
    tests = c.find("ref", "noload") + c.find("ref", "load") + c.find("ref", "uvlo")[:2]
    for test in tests:
        c.die.value[test] = test.mean * k * c.rng.uniform(0.997, 1.003)
    for test in c.some(tests, c.rng.randint(3, 6)):
        c.keep(test)
    if c.rng.random() < 0.5:
        c.over(c.one("ana", "gain"), (1 if k < 1 else -1) * c.rng.uniform(0.2, 2))
    c.keep(c.find("ref", "aft")[0])
    c.show(*c.find("ref", "hot")[:1], c.one("sys", "dps"))


@family("reference_trim")
def search_ran_over(c):
    """The search for the code ran past its goal: a raw value near the goal, a code at its end, a result far off."""
    bef, aft, code = c.find("ref", "bef")[0], c.find("ref", "aft")[0], c.find("ref", "code")[0]
    sign = c.rng.choice((-1, 1))
    c.put(bef, aft.mean * c.rng.uniform(0.996, 1.004))
    c.put(code, c.product.code_max if sign > 0 else 0)
    trimmed(c, 1 + sign * c.rng.uniform(0.03, 0.09))
    c.show(*c.some(c.find("ref", "hot"), 1), *c.some(c.find("ref", "sim"), 3), *c.find("ref", "otp"))
    if c.rng.random() < 0.4:
        c.over(c.one("ana", "gain"), -sign * c.rng.uniform(0.1, 1))


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
