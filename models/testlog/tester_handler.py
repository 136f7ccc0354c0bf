"""Faults outside the die: meters, sources, relays, limits, heat and handling; the dies are innocent.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


@family("tester_handler", "sites")
def same_value_everywhere(c):
    """All sites fail the same test with the same reading to the digit."""
    kind, what = c.rng.choice((("idd", "static"), ("ref", "aft"), ("idd", "active"), ("ref", "load"), ("leak", "ih"),
                               ("ana", "off"), ("idd", "stby")))
    for test in c.some(c.find(kind, what), c.rng.randint(1, 2)):
        c.over(test, c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 3))
        for die in c.parts[-1]:
            die.value[test] = c.die.value[test]
    if c.rng.random() < 0.6:
        test = c.one("sys")
        for die in c.parts[-1]:
            c.over(test, 0.7, die)
    if c.rng.random() < 0.5:
        for test in c.some(c.find("func", "unit") + c.find("scan", "stuck"), 2):
            for die in c.parts[-1]:
                c.fault(test, 4000, cycle=0, pins=c.product.pins[:2], die=die)


@family("tester_handler")
def exact_zeros(c):
    """From one point on an instrument reads exactly nothing, whatever it measures."""
    kinds = c.rng.choice((("idd", "short"), ("leak", "cont"), ("ref", "level"), ("ref", "ana"), ("idd", "ref")))
    tests = c.some([t for k in kinds for t in c.find(k) if not t.pattern and not t.passes(0)], 6)
    tests += c.some([t for k in kinds for t in c.find(k) if not t.pattern and t.passes(0)], 2)
    tests += c.some(c.find("sys"), c.rng.randint(1, 3))
    for die in c.parts[-1]:
        for test in tests:
            c.put(test, 0.0, die)


@family("tester_handler", "parts")
def one_site_repeats(c):
    """One site fails touch-down after touch-down at different tests, all other sites and dies are good."""
    kinds = c.rng.sample((("cont", "neg"), ("idd", "active"), ("leak", "ih"), ("ref", "load"), ("level", "voh")), 2)
    tests = [c.one(*kind) for kind in kinds]
    for k, part in enumerate(c.parts):
        c.over(tests[k % 2], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 1), part[c.die.site])
    if c.rng.random() < 0.7:
        test = c.one("sys", c.rng.choice(("gnd", "dps")))
        for part in c.parts:
            c.over(test, c.rng.uniform(0.1, 2), part[c.die.site])


@family("tester_handler")
def wrong_temperature(c):
    """The chuck is far from its set point and all that depends on heat moves with it."""
    actual = c.product.setpoint + c.rng.choice((-1, 1)) * c.rng.uniform(9, 45)
    for die in c.parts[-1]:
        for test in c.find("sys", "temp"):
            c.put(test, actual + c.rng.gauss(0, 0.3), die)
        for test in c.some(c.find("idd", "stby") + c.find("leak", "ih") + c.find("idd", "sleep"), 2):
            c.over(test, c.rng.uniform(0.1, 1.5), die)
    if c.rng.random() < 0.5:
        c.over(c.one("ana", "osc"), c.rng.choice((-1, 1)) * 0.2)


@family("tester_handler")
def source_sags(c):
    """The tester's own supply reads low while the device draws what it should; patterns fail on every die."""
    test = c.one("sys", "dps")
    level = test.low * c.rng.uniform(0.7, 0.97)
    rail = c.find("idd", "static", pin=test.pin)
    for die in c.parts[-1]:
        c.put(test, level * c.rng.uniform(0.999, 1.001), die)
        c.follow("func", "mbist", count=c.rng.randint(0, 1), die=die)
        if c.rng.random() < 0.5:
            c.put(c.find("sys", "gnd")[0], level * 0.01, die)
    c.show(*rail[:2])


@family("tester_handler", "parts")
def frozen_readings(c):
    """Die after die returns the digits of the first one: nothing was measured."""
    tests = c.some([t for k in ("idd", "ref", "leak", "ana") for t in c.find(k) if t.unit], 4)
    for test in tests:
        c.show(test)
    c.over(tests[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 1))
    if c.rng.random() < 0.7:
        tests.append(c.one("sys"))
        c.over(tests[-1], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 2))
    for part in c.parts:
        part[c.die.site].value.update({t: c.die.value[t] for t in tests})


@family("tester_handler", "sites")
def range_stuck(c):
    """A meter answers the end of its range for every pin and every site, to the last digit."""
    kind, what = c.rng.choice((("leak", "ih"), ("leak", "il"), ("idd", "static"), ("idd", "stby"), ("leak", "ioff")))
    tests = c.some(c.find(kind, what), c.rng.randint(3, 5))
    level = max(abs(t.high) for t in tests) * c.rng.choice((2, 5, 10)) * c.rng.choice((1, -1))
    level = float(f"{level:.1g}")
    for die in c.parts[-1]:
        for test in tests:
            c.put(test, level, die)


@family("tester_handler", "sites")
def gain_of_meter(c):
    """All that one meter reads is too large by one factor, on all sites and in all sections."""
    k = c.rng.choice((c.rng.uniform(1.12, 1.5), c.rng.uniform(0.6, 0.9)))
    tests = c.some(c.find("ref", "aft") + c.find("ref", "hot") + c.find("ref", "noload") + c.find("ref", "load"), 4)
    tests += c.some(c.find("level", "voh"), 1) + c.some(c.find("sys", "dps"), c.rng.randint(0, 2))
    for die in c.parts[-1]:
        for test in tests:
            c.put(test, die.value[test] * k * c.rng.uniform(0.999, 1.001), die)
        if c.rng.random() < 0.3:
            c.over(c.find("sys", "gnd")[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 0.5), die)


@family("tester_handler")
def no_part(c):
    """The handler put nothing into the socket: every pin at the clamp and not one rail with a current."""
    for test in c.some(c.find("cont", "neg"), 5) + c.find("cont", "rail")[:c.rng.randint(1, 3)]:
        c.put(test, c.product.clamp * c.rng.uniform(0.998, 1.0))
    for test in c.some(c.find("idd", "static") + c.find("idd", "active"), c.rng.randint(1, 3)):
        c.put(test, c.rng.gauss(0, 2e-9))
    c.show(*c.some(c.find("short"), 2))


@family("tester_handler", "sites")
def timing_calibration(c):
    """The edges of the tester are late by one amount: every time of every pin and site is up by as much."""
    tests = c.some(c.find("time", "tsu"), 2) + c.some(c.find("time", "tpd"), 2) + c.some(c.find("time", "taa"), 2)
    late = c.find("time", "tsu")[0].high * c.rng.choice((c.rng.uniform(1.0, 3.0), -c.rng.uniform(0.9, 1.6)))
    for die in c.parts[-1]:
        for test in tests:
            c.put(test, die.value[test] + late * c.rng.uniform(0.998, 1.002), die)
    c.show(*c.find("time", "fmax")[:2])


@family("tester_handler")
def relay_open(c):
    """A relay of the load board is open: all that goes through it floats a little above nothing, on every part."""
    kinds = c.rng.sample((("ana", "mux"), ("ana", "dacv"), ("level", "voh"), ("ref", "noload"), ("ref", "load")), 2)
    tests = [t for kind in kinds for t in c.some(c.find(*kind), 2)]
    for die in c.parts[-1]:
        for test in tests:
            c.put(test, c.rng.uniform(0.0005, 0.009), die)
    if c.rng.random() < 0.4:
        c.over(c.one("sys", "gnd"), c.rng.uniform(0.05, 0.8))
    c.show(*c.some(c.find("idd", "static"), 2))


@family("tester_handler", "parts")
def warm_up(c):
    """After a pause the first part is far out, the next one half of it: the tester drifts, not the dies."""
    tests = c.some(c.find("ref", "hot") + c.find("ref", "noload") + c.find("idd", "static") + c.find("leak", "ih") +
                   c.find("level", "voh"), 3)
    sign = c.rng.choice((-1, 1))
    for k, part in enumerate(c.parts):
        for test in tests:
            c.over(test, sign * c.rng.uniform(0.8, 1.2) * 0.4 ** k, part[c.die.site])
    if c.rng.random() < 0.6:
        temp = c.find("sys", "temp")[0]
        c.over(temp, sign * c.rng.uniform(0.1, 0.8), c.parts[0][c.die.site])


@family("tester_handler", "sites")
def wrong_limits(c):
    """The limits are those of another unit, a thousand times too tight: usual values fail on every die."""
    kind = c.rng.choice((("idd", "static"), ("ref", "noload"), ("ref", "hot"), ("idd", "active"), ("time", "tpd"),
                         ("level", "voh"), ("idd", "inrush"), ("leak", "pull")))
    for test in c.some(c.find(*kind), c.rng.randint(2, 3)):
        test.low, test.high = (None if v is None else v * 1e-3 for v in (test.low, test.high))
        c.keep(test)
    if c.rng.random() < 0.5:
        c.keep(c.one("sys"))


@family("tester_handler", "sites")
def sites_swapped(c):
    """Patterns fail on one site and its neighbour drives the same pins: the cables of two sites are exchanged."""
    cycle, pins = c.rng.randint(0, 3), c.rng.sample(c.product.pins, 2)
    tests = c.some(c.find("func", "unit"), 1) + c.some(c.find("scan", "chain"), 1) + c.some(c.find("mbist", "march"), 1)
    for die in c.parts[-1][:2]:
        for test in tests:
            c.fault(test, 2000, cycle=cycle, pins=pins, die=die)
        for test in c.find("cont", "neg", pin=pins[0]):
            c.put(test, c.product.clamp * c.rng.uniform(0.99, 1.0), die)


# ---- held out of training: keep these two last -------------------------------------------------------------------

@family("tester_handler", "sites")
def ground_offset(c):
    """Every voltage of every site is up by the same amount, the ground sense with them."""
    shift = c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.12)
    tests = c.find("sys", "gnd") + c.some(c.find("ref", "aft") + c.find("ref", "hot") + c.find("level"), 3) + \
        c.some(c.find("cont", "neg"), 2)
    for die in c.parts[-1]:
        for test in tests:
            c.put(test, die.value[test] + shift * c.rng.uniform(0.99, 1.01), die)


@family("tester_handler", "sites")
def pin_card(c):
    """All patterns of all kinds die at cycle zero on the channels of one card, on every site."""
    pins = c.rng.choice(c.product.banks)[:3]
    tests = c.some(c.find("func", "unit"), 2) + c.some(c.find("scan"), 2) + c.some(c.find("mbist", "march"), 1)
    for die in c.parts[-1]:
        for test in tests:
            c.fault(test, 4000, cycle=0, pins=pins, die=die)
        if c.rng.random() < 0.5:
            c.over(c.find("sys", "gnd")[0], c.rng.uniform(0.1, 1), die)
    c.show(*c.some(c.find("cont", "neg"), 1), c.one("idd", "static"))
