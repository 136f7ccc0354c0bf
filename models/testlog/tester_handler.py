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


@family("tester_handler", "sites")
def wrong_load_board(c):
    """A load board of another revision: its resistor says so, and one suite sits elsewhere on every site alike."""
    suite = c.rng.choice(((("level", "voh", -1), ("level", "vol", 1)), (("time", "slew", 1), ("time", "tpd", 1)),
                          (("ana", "gbw", -1), ("ana", "vslew", -1)), (("ref", "settle", 1), ("ref", "load", -1)),
                          (("ana", "ltime", 1), ("ana", "tune", 1)), (("ana", "amp", -1), ("ana", "eye", -1))))
    board, share = c.one("sys", "board"), c.rng.uniform(0.1, 0.6)
    for die in c.parts[-1]:
        for kind, what, sign in suite:
            for test in c.find(kind, what):
                c.over(test, sign * share * c.rng.uniform(0.95, 1.05), die)
    c.kept = c.some(c.kept, c.rng.randint(2, 4))
    other = c.rng.choice([ohms for ohms in (1e3, 2.2e3, 4.7e3, 1e4) if ohms != board.mean])
    for die in c.parts[-1] if c.rng.random() < 0.7 else ():
        c.put(board, other * c.rng.uniform(0.995, 1.005), die)


@family("tester_handler", "sites")
def digitiser_unlocked(c):
    """The digitiser samples on a clock of its own: noise, spurs and jitter bad on every site, static values right."""
    noise, spur = c.rng.uniform(0.1, 0.6), c.rng.uniform(0.05, 0.5)
    jitters = c.rng.random() < 0.5
    for die in c.parts[-1]:
        for i in range(2):
            c.over(c.find("ana", "snr", adc=i)[0], -noise * c.rng.uniform(0.93, 1.07), die)
            c.over(c.find("ana", "spur", pll=i)[0], spur * c.rng.uniform(0.93, 1.07), die)
            if jitters:
                c.over(c.find("ana", "jit", pll=i)[0], spur * 4 * c.rng.uniform(0.93, 1.07), die)
    c.show(c.one("ana", "off"), c.one("ana", "dnl"), c.one("ana", "vco"), c.one("ref", "noise"))


@family("tester_handler", "sites")
def compliance_clamp(c):
    """The source ends at a clamp set too low: every larger current of a rail is the same round number."""
    i = c.rng.randrange(2)
    tests, source = c.find("idd", pin=c.product.rails[i]), c.find("sys", "dps")[i]
    clamp = float(f"{c.find('idd', 'active', pin=source.pin)[0].low * c.rng.uniform(0.6, 0.95):.2g}")
    sags, level = c.rng.random() < 0.5, source.low * c.rng.uniform(0.6, 0.99)
    for die in c.parts[-1]:
        for test in tests:
            if test.mean > clamp:
                c.put(test, clamp * c.rng.choice((1, 1, 1.0004, 0.9996)), die)
    c.kept = c.some(c.kept, c.rng.randint(3, 5))
    for die in c.parts[-1]:
        if sags:
            c.put(source, level * c.rng.uniform(0.99, 1.0), die)
        c.follow("func", count=c.rng.randint(0, 1), die=die)
    c.show(*c.find("idd", "stby", pin=source.pin), *c.find("short", pin=source.pin))


@family("tester_handler", "sites")
def site_offset(c):
    """The calibration of one site has expired: all its voltages are off by as much, those of its neighbours are not."""
    shift = c.rng.choice((-1, 1)) * c.rng.uniform(0.035, 0.15)
    for kind, whats in (("ref", "bef sim aft hot noload load"), ("level", "voh vol vih vil"), ("ana", "mux dacv"),
                        ("cont", "neg pos rail again"), ("sys", "dps")):
        tests = [t for what in whats.split() for t in c.find(kind, what)]
        for test in tests:
            c.die.value[test] += shift * c.rng.uniform(0.98, 1.02)
        for test in c.some(tests, c.rng.randint(1, 2)):
            c.keep(test)
    c.show(*c.some(c.find("time", "fmax"), 1), *c.some(c.find("func", "unit"), 1), *c.find("ref", "line")[:1])


@family("tester_handler")
def die_lifted(c):
    """The chuck drops in the middle of the flow: up to there all is right, from there on nothing conducts anywhere."""
    order = list(dict.fromkeys(t.kind for t in c.product.tests if t.kind not in ("cont", "short", "sys")))
    gone = [t for t in c.product.tests if t.kind in order[c.rng.randint(2, len(order) - 2):]]
    for die in c.parts[-1]:
        for test in gone:
            if test.pattern:
                c.fault(test, c.rng.randint(3990, 4000), cycle=c.rng.randint(0, 2), die=die)
            else:
                c.put(test, c.rng.gauss(0, {"A": 3e-9, "V": 2e-3}.get(test.unit, 0)), die)
    c.kept = c.some([t for t in gone if t.pattern], 2) + \
        c.some([t for t in gone if not t.pattern and not c.die.passed(t)], c.rng.randint(3, 5))
    c.show(*c.find("cont", "neg")[:2], *c.some([t for t in c.product.tests if t not in gone], 2))


@family("tester_handler")
def other_product(c):
    """A part of another product is in the socket: it answers with its own identity, contents and currents."""
    names = {t: c.word(0, want=c.rng.randrange(0x10000), flip=c.rng.randrange(1, 0x10000))
             for t in (c.find("scan", "jtag")[0], c.find("mbist", "rom")[0])[:c.rng.choice((1, 2, 2))]}
    draws = {r: c.rng.choice((c.rng.uniform(0.1, 0.27), c.rng.uniform(1.8, 4))) for r in c.product.rails}
    shown = c.some(c.find("idd", "static", v="vnom"), 3) + c.some(c.find("idd"), 1)
    boots, everywhere = c.rng.random() < 0.5, c.rng.random() < 0.5
    for die in c.parts[-1] if everywhere else [c.die]:
        for test in c.find("idd"):
            die.value[test] = test.mean * draws[test.pin] * c.rng.uniform(0.98, 1.02)
        for test in shown:
            c.keep(test)
        for test, word in names.items():
            c.fault(test, 1, pins=[], words=[word], die=die)
        if boots:
            c.fault(c.find("func", "boot")[0], c.rng.randint(200, 900), cycle=c.rng.randint(3, 90), die=die)
    c.show(*c.some(c.find("cont", "neg"), 2), *c.find("ref", "noload")[:1])


@family("tester_handler", "sites")
def shifted_rows(c):
    """The results have slipped by one: each test shows what belongs to the one before it, on every site."""
    kind = c.rng.choice(("ref", "ana", "level", "idd", "time"))
    tests = [t for t in c.find(kind) if t.unit and t.unit != "%"]
    start, count = c.rng.randrange(len(tests) - 6), c.rng.randint(3, 5)
    c.keep(tests[start])
    for die in c.parts[-1]:
        values = [die.value[t] for t in tests[start:start + count]]
        for test, value in zip(tests[start + 1:], values):
            c.put(test, value, die)


@family("tester_handler", "sites")
def limits_of_next_row(c):
    """A line is missing in the table of limits: each test is judged by those of the next one, usual values fail."""
    tests = [t for t in c.find(c.rng.choice(("level", "idd", "time", "ref", "ana"))) if t.unit]
    start = c.rng.randrange(len(tests) - 5)
    chosen = tests[start:start + c.rng.randint(3, 5)]
    limits = [(t.low, t.high) for t in tests[start + 1:start + len(chosen) + 1]]
    for test, (low, high) in zip(chosen, limits):
        test.low, test.high = low, high
        c.keep(test)


@family("tester_handler")
def settling_skipped(c):
    """The meter is read before it has settled: far out at the first pin, half of it at the next, and so on down."""
    kind, what, sign = c.rng.choice((("leak", "ih", 1), ("leak", "il", -1), ("leak", "ioff", 1), ("idd", "iddq", 1),
                                     ("leak", "ih", -1)))
    tests = c.find(kind, what)[:c.rng.randint(4, 6)]
    first, fall = c.rng.uniform(3, 20), c.rng.uniform(0.3, 0.6)
    for die in c.parts[-1]:
        for k, test in enumerate(tests):
            c.put(test, die.value[test] + sign * test.high * first * fall ** k * c.rng.uniform(0.97, 1.03), die)
    c.show(*c.find("cont", "neg")[:2], *c.find("sys", "gnd")[:1])


@family("tester_handler", "sites")
def lamp_left_on(c):
    """The lamp of the prober shines on the wafer: every pin of every die leaks as much, and so do sleeping rails."""
    pins = [t for what in ("ih", "ioff", "ioz", "refpin", "volt", "stress", "hot") for t in c.find("leak", what)]
    light, share = max(t.high for t in pins) * c.rng.uniform(1.05, 3), c.rng.uniform(0.1, 2)
    rails = c.find("idd", "sleep") + c.find("idd", "stby")
    for die in c.parts[-1]:
        for test in pins:
            die.value[test] += light * c.rng.uniform(0.97, 1.03)
        for test in rails:
            c.over(test, share * c.rng.uniform(0.95, 1.05), die)
    c.kept = c.some(rails, c.rng.randint(1, 2)) + c.some(pins, c.rng.randint(4, 6))
    c.show(*c.find("sys", "temp")[:1], *c.find("idd", "static")[:1], *c.some(c.find("cont", "neg"), 1))


@family("tester_handler", "parts")
def bypass_missing(c):
    """A capacitor is off the board at one site: whatever lands there is noisy and slow, its direct values right."""
    tests = c.some(c.find("ana", "jit") + c.find("ref", "noise") + c.find("ana", "spur"), 2)
    edge, run = c.find("time", "fmax", v="vmin")[0], c.one("func", "speed", speed="fast")
    for part in c.parts:
        die = part[c.die.site]
        for test in tests:
            c.over(test, c.rng.uniform(0.1, 1.2), die)
        if c.rng.random() < 0.7:
            c.put(edge, edge.low * c.rng.uniform(0.7, 0.97), die)
        if c.rng.random() < 0.7:
            c.fault(run, c.rng.randint(2, 300), die=die)
    c.show(c.find("sys", "dps")[0], *c.some(c.find("idd", "static"), 1), c.find("ref", "aft")[0])


@family("tester_handler", "sites")
def old_pattern(c):
    """A pattern of an older revision is loaded: every die fails it at the same cycle by the same count."""
    kind = c.rng.choice((("func", "unit"), ("func", "prog"), ("scan", "stuck"), ("scan", "tdf"), ("mbist", "rom"),
                         ("func", "reset"), ("scan", "bsr")))
    count, cycle, pins = c.rng.randint(1, 900), c.rng.randint(40, 90000), c.rng.sample(c.product.pins, 2)
    words = [c.word() for _ in range(2)] if kind[0] == "func" and c.rng.random() < 0.4 else []
    tests = c.some(c.find(*kind), c.rng.randint(1, 2))
    for part in c.parts:
        for die in part:
            for test in tests:
                c.fault(test, count, cycle=cycle, pins=pins, words=words, die=die)
    c.show(*c.some(c.find(kind[0]), 3), c.one("idd", "active"))
