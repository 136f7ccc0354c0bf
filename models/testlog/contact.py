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


@family("contact")
def corners_first(c):
    """Too little overdrive: outermost pads miss their needles, the middle is good, a deeper stroke cures some."""
    ends = c.rng.sample([p for bank in c.product.banks for p in (bank[0], bank[-1])], 5)
    for pin in ends[:c.rng.randint(2, 4)]:
        c.put(neg(c, pin), c.rng.choice((c.product.clamp * c.rng.uniform(0.97, 1.0), c.rng.uniform(-1.6, -0.97))))
    cured = neg(c, ends[4])
    c.retests.append((cured, [c.product.clamp * c.rng.uniform(0.97, 1.0), c.die.value[cured]]))
    if c.rng.random() < 0.4:
        c.put(c.one("cont", "res"), c.rng.uniform(2.7, 9))
    c.show(*[neg(c, bank[2]) for bank in c.product.banks])


@family("contact")
def oxide_on_pads(c):
    """A film on the pads: some pins deep, each by its own amount, until current has broken it; then all is right."""
    for again in c.some(c.find("cont", "again"), c.rng.randint(2, 4)):
        c.put(neg(c, again.pin), c.product.clamp * c.rng.uniform(0.55, 0.9))
        c.keep(again)
        c.show(*leaks(c, again.pin)[:1])
    if c.rng.random() < 0.4:
        c.put(c.one("cont", "res"), c.rng.uniform(2.6, 6))


@family("contact")
def sense_swapped(c):
    """The sense lines of two supplies are exchanged: what one path has too much the other has too little."""
    pair = c.rng.sample(c.find("cont", "res"), 2)
    drop = c.rng.uniform(1.8, 12)
    for test, sign in zip(pair, (1, -1)):
        c.put(test, test.mean + sign * drop * c.rng.uniform(0.97, 1.0))
    for test in c.find("sys", "dps", pin=pair[0].pin)[:c.rng.randint(0, 1)]:
        c.over(test, c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 0.6))
    c.show(*[t for test in pair for t in c.find("cont", "rail", pin=test.pin) + c.find("short", pin=test.pin)])


@family("contact")
def wires_touch(c):
    """Wires swept together in the mould: three share their current, their diodes in parallel a little shallow."""
    bank = c.rng.choice(c.product.banks)
    i = c.rng.randrange(2)
    pins, amps = bank[i:i + 3], c.rng.uniform(2e-4, 3e-3)
    for pin, share in zip(pins, (1, 2, 1)):
        c.put(c.find("cont", "adj", pin=pin)[0], amps * share * c.rng.uniform(0.95, 1.05))
        c.put(neg(c, pin), neg(c, pin).mean + 0.028 + c.rng.gauss(0, 0.001))
        for test in leaks(c, pin):
            c.die.value[test] = (1 if test.what == "ih" else -1) * amps * 3
    if c.rng.random() < 0.4:
        c.keep(leaks(c, pins[1])[0])
    c.show(*[t for p in bank[:4] if p not in pins for t in c.find("cont", "adj", pin=p)])
    c.follow("func", "scan", count=c.rng.randint(0, 2), pins=pins[:2])


@family("contact")
def burns_off(c):
    """Debris of a needle bridges two pads and melts: shorted at first, the same pins right when read again."""
    i = c.rng.randrange(len(c.product.pins) - 1)
    pins, level = c.product.pins[i:i + 2], c.rng.uniform(-0.18, -0.02)
    for pin in pins:
        c.put(neg(c, pin), level + c.rng.gauss(0, 0.002))
        for again in c.find("cont", "again", pin=pin):
            c.keep(again)
        c.show(*leaks(c, pin)[:1])
        for test in c.find("cont", "pos", pin=pin)[:c.rng.randint(0, 1)]:
            c.put(test, c.rng.uniform(0.01, 0.18))
    c.show(*c.find("cont", "adj", pin=pins[0]))


@family("contact")
def few_ground_needles(c):
    """Half of the ground needles miss: low levels too high on pins of every bank, high ones and diodes right."""
    lift = c.product.vdd * c.rng.uniform(0.13, 0.3)
    for test in c.find("level", "vol"):
        c.die.value[test] = test.mean + c.product.vdd * c.rng.uniform(0.06, 0.11)
    for test in c.some(c.find("level", "vol"), c.rng.randint(3, 4)):
        c.put(test, test.mean + lift * c.rng.uniform(0.9, 1.1))
        c.show(neg(c, test.pin), *c.find("level", "voh", pin=test.pin))
    if c.rng.random() < 0.7:
        c.over(c.one("sys", "gnd"), c.rng.uniform(0.1, 3))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 2)):
        c.fault(fast)
    c.show(*c.some(c.find("cont", "res"), 1))


@family("contact")
def void_under_die(c):
    """A void in the joint below the die: its path is resistive, the die warms itself while the chuck is right."""
    pad = c.find("cont", "pad")[0]
    c.put(pad, pad.high * c.rng.uniform(1.1, 8))
    if c.rng.random() < 0.7:
        rise = c.rng.uniform(3.6, 12)
        for test in c.find("ana", "tsen"):
            c.put(test, rise * c.rng.uniform(0.95, 1.05))
    if c.rng.random() < 0.3:
        hot = c.find("ref", "hot")[-1]
        c.over(hot, c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 0.5))
    c.show(*c.find("sys", "temp"), *c.some(c.find("cont", "res"), 2))


@family("contact")
def off_by_a_pitch(c):
    """The card stands one pad too far: ends of banks open, supplies through a pin, a pull read at the next pin."""
    for bank in c.product.banks:
        c.put(neg(c, bank[-1]), c.product.clamp * c.rng.uniform(0.97, 1.0))
    for test in c.some(c.find("cont", "res"), c.rng.randint(1, 3)):
        c.put(test, c.rng.uniform(30, 400))
    pull = c.one("leak", "pull")
    beside = c.product.pins[c.product.pins.index(pull.pin) + 1]
    c.put(pull, c.rng.gauss(0, 2e-9))
    c.put(c.find("leak", "il", pin=beside)[0], pull.mean * c.rng.uniform(0.95, 1.05))
    c.show(*[neg(c, bank[1]) for bank in c.product.banks])


@family("contact")
def one_bond_of_two(c):
    """One of a supply's two bonds is lost: a path of steady few ohms, a good diode, sags where current is drawn."""
    test = c.one("cont", "res")
    level = c.rng.uniform(2.7, 5.5)
    c.put(test, level)
    if c.rng.random() < 0.5:
        c.retests.append((test, [level * c.rng.uniform(0.98, 1.02), level * c.rng.uniform(0.98, 1.02)]))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 2)):
        c.fault(fast)
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))
    if c.rng.random() < 0.5:
        c.over(c.rng.choice(c.find("ref", "dip")), c.rng.uniform(0.05, 0.8))
    c.show(*[t for t in c.find("cont", "res") if t is not test], *c.find("cont", "rail", pin=test.pin))


@family("contact", "parts")
def worn_spring_pin(c):
    """One spring of the socket sticks: its pin is open on one part, good on the next and open again."""
    test = neg(c, c.rng.choice(c.product.pins))
    n = len(c.parts)
    for k, part in enumerate(c.parts):
        if (n - 1 - k) % 2 == 0:
            c.put(test, c.rng.choice((c.product.clamp, c.rng.uniform(-1.7, -1.0))) * c.rng.uniform(0.97, 1.0),
                  c.die if k == n - 1 else part[c.die.site])
    c.retests.append((test, [c.product.clamp * c.rng.uniform(0.97, 1.0), test.mean * c.rng.uniform(1.0, 1.2)]))
    c.show(*leaks(c, test.pin)[:1], neg(c, c.rng.choice(c.product.pins)))
    c.follow("func", "scan", count=c.rng.randint(0, 1), pins=[test.pin])


@family("contact")
def open_output(c):
    """An output without its pin: high and low read the tester's termination, no edge comes, the diode is open."""
    pin = c.rng.choice([t.pin for t in c.find("level", "voh")])
    middle = c.product.vdd * c.rng.uniform(0.42, 0.58)
    for test in c.find("level", "voh", pin=pin) + c.find("level", "vol", pin=pin):
        c.put(test, middle + c.rng.gauss(0, 0.001))
    for test in c.find("time", "tpd", pin=pin) + c.find("time", "slew", pin=pin):
        c.put(test, test.high * 4)
    c.put(neg(c, pin), c.product.clamp * c.rng.uniform(0.97, 1.0))
    c.follow("func", "scan", count=c.rng.randint(0, 2), pins=[pin])


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
