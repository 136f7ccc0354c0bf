"""Faults of the path between tester and die: opens, shorts, resistance, pads that are not reached.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from case import leaks, neg
from registry import family


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
def short_to_rail(c):
    """One pin tied to the supply: its upper diode gone, its low current at the range, its output cannot fall."""
    pin = c.rng.choice(c.product.pins[::2])
    c.put(c.find("cont", "pos", pin=pin)[0], c.rng.uniform(-0.004, 0.03))
    for test in c.find("leak", "il", pin=pin):
        c.put(test, -c.rng.choice((1e-3, 2e-4, 5e-3)) * c.rng.uniform(0.97, 1.0))
    for test in c.find("level", "vol", pin=pin):
        c.put(test, c.product.vdd * c.rng.uniform(0.9, 1.0))
    c.show(neg(c, pin))
    c.follow("func", "scan", count=c.rng.randint(0, 1), pins=[pin])


@family("contact")
def sense_open(c):
    """One sense line is open: its resistance reads the end of the range, what it feeds sags only under load."""
    test = c.one("cont", "res")
    c.put(test, c.rng.choice((99.9, 100.0, 999.0, 500.0)) * c.rng.uniform(0.97, 1.0))
    if c.rng.random() < 0.6:
        drop = c.one("ref", "load")
        c.put(drop, drop.low * c.rng.uniform(0.93, 0.995))
    c.show(*c.find("cont", "rail", pin=test.pin), *c.find("idd", "static", pin=test.pin)[:1])


@family("contact")
def opens_later(c):
    """A bond lifts during the test: the first continuity of the pin is good, the one after the patterns open."""
    pin = c.rng.choice(c.find("cont", "again")).pin
    c.put(c.find("cont", "again", pin=pin)[0], c.product.clamp * c.rng.uniform(0.97, 1.0))
    c.keep(neg(c, pin))
    c.show(*c.some(c.find("cont", "again"), 2))
    c.follow("func", "scan", "mbist", count=c.rng.randint(0, 2), pins=[pin])


@family("contact")
def substrate_open(c):
    """The pad below the die floats: every lower diode is deeper by the same amount, the upper ones are right."""
    shift = c.rng.uniform(1.0, 1.35) + c.find("cont", "neg")[0].mean
    for test in c.some(c.find("cont", "neg"), 6) + c.find("cont", "rail")[:c.rng.randint(0, 3)]:
        c.put(test, test.mean - shift * c.rng.uniform(0.97, 1.03))
    c.show(*c.some(c.find("cont", "pos"), 4))
    if c.rng.random() < 0.4:
        c.over(c.one("idd", "inrush"), -0.1)


@family("contact")
def resistive_pin(c):
    """One joint of some ten ohms: a diode a little deep, levels short of their limits under load, edges slow."""
    pin = c.rng.choice([t.pin for t in c.find("level", "voh")])
    c.put(neg(c, pin), c.rng.uniform(-1.2, -0.96))
    for test in c.find("level", pin=pin):
        if test.what in ("voh", "vol"):
            c.over(test, (-1 if test.what == "voh" else 1) * c.rng.uniform(0.02, 0.4))
    for test in c.find("time", "tpd", pin=pin) + c.find("time", "slew", pin=pin):
        c.over(test, c.rng.uniform(0.02, 0.4))
    c.show(*leaks(c, pin))


@family("contact")
def tilted_die(c):
    """The pins of one side reach no needle, the next ones barely, the others are good."""
    for bank in c.rng.sample(c.product.banks, c.rng.randint(2, 3)):
        c.put(neg(c, bank[0]), c.product.clamp * c.rng.uniform(0.97, 1.0))
        if c.rng.random() < 0.6:
            c.put(neg(c, bank[1]), c.rng.uniform(-1.5, -0.97))
        c.show(neg(c, bank[-1]))
    if c.rng.random() < 0.5:
        c.put(c.one("cont", "res"), c.rng.uniform(4, 80))


@family("contact")
def wrong_way_round(c):
    """The part sits turned in its socket: diodes of either sign, opens and zeros from pin to pin, rails short."""
    for pin in c.rng.sample(c.product.pins, 6):
        c.put(neg(c, pin), c.rng.choice((c.product.clamp, c.rng.uniform(0.5, 0.8), c.rng.uniform(-0.02, 0.02),
                                         -c.product.clamp)) * c.rng.uniform(0.97, 1.0))
    for test in c.some(c.find("short"), 2):
        c.put(test, c.rng.choice((0.02, 0.1, 0.2)) * c.rng.uniform(0.9, 1.0))


@family("contact")
def pin_to_rail_diode(c):
    """A pin bridged to a supply pad: both read the same diode, and the pin carries what the rail draws."""
    pin, rail = c.rng.choice(c.product.pins), c.rng.choice(c.product.rails)
    level = c.rng.uniform(-0.2, -0.1)
    c.put(neg(c, pin), level + c.rng.gauss(0, 0.001))
    c.put(c.find("cont", "rail", pin=rail)[0], level + c.rng.gauss(0, 0.001))
    for test in c.find("leak", "il", pin=pin):
        c.put(test, -c.rng.uniform(1e-4, 2e-3))
    c.follow("func", count=c.rng.randint(0, 2), pins=[pin])


# ---- held out of training: keep these two last -------------------------------------------------------------------

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
