"""Faults of units that compute or answer wrongly while everything measured is in order.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from case import neg
from registry import family


@family("functional")
def one_unit(c):
    """One unit fails at every supply and every speed at the same cycle; the rest passes."""
    unit, cycle = c.rng.choice(c.product.units), c.rng.randint(200, 90000)
    pins = c.rng.sample(c.product.pins, 2)
    for test in c.find("func", "unit", ip=unit) + c.find("func", "speed", ip=unit):
        c.fault(test, c.rng.randint(3, 60), cycle=cycle, pins=pins)
    c.show(*c.some(c.find("func", "unit"), 2))


@family("functional")
def stuck_register_bit(c):
    """Every register reads back with the same bit wrong; scan and memories pass."""
    flip = 1 << c.rng.randrange(16)
    for unit in c.rng.sample(c.product.units, 2):
        test = c.find("func", "unit", ip=unit)[0]
        c.fault(test, c.rng.randint(2, 40), words=[c.word(flip=flip), c.word(flip=flip)])
    c.follow("func", count=c.rng.randint(0, 2))
    c.show(*c.some(c.find("scan", "stuck"), 1), *c.some(c.find("mbist", "march"), 1))


@family("functional")
def no_boot(c):
    """The part never starts: the first pattern fails early and all later ones too, with normal currents and scan."""
    c.fault(c.find("func", "boot")[0], c.rng.randint(200, 900), cycle=c.rng.randint(60, 900))
    c.follow("func", count=c.rng.randint(2, 4), cycle=c.rng.randint(60, 900))
    c.show(c.one("idd", "static"), c.one("idd", "active"), *c.some(c.find("scan", "stuck"), 2))


@family("functional")
def unit_cluster(c):
    """Units that share a bus fail together, the ones on the other bus pass."""
    units = c.rng.sample(c.product.units, 3)
    for unit in units:
        c.fault(c.find("func", "unit", ip=unit, v="vnom")[0])
    c.show(*[c.find("func", "unit", ip=u, v="vnom")[0] for u in c.product.units if u not in units][:2])
    c.show(*c.some(c.find("scan"), 1))


@family("functional")
def weak_driver(c):
    """An output that does not reach its level under load, and the patterns that look at it."""
    test = c.one("level", c.rng.choice(("voh", "vol")))
    c.put(test, test.low * c.rng.uniform(0.6, 0.97) if test.what == "voh" else test.high * c.rng.uniform(1.05, 2.2))
    c.show(*c.find("level", pin=test.pin), *c.find(*c.rng.choice((("leak", "ih"), ("cont", "neg"))), pin=test.pin))
    c.follow("func", count=c.rng.randint(2, 3), pins=[test.pin])


@family("functional")
def high_supply_logic(c):
    """Fails at the highest supply only, with the frequency and the hold times fine."""
    unit = c.rng.choice(c.product.units)
    c.fault(c.find("func", "unit", ip=unit, v="vmax")[0], words=[c.word()])
    c.fault(c.find("func", "boot")[0], words=[c.word()])
    c.show(*c.find("func", "unit", ip=unit), c.rng.choice(c.find("time", "fmax", v="vmax") + c.find("time", "th")))


@family("functional")
def time_out(c):
    """A request without an answer: patterns of two units end at the same late cycle with one fail, at any supply."""
    cycle, pins = c.rng.randint(30000, 90000), c.rng.sample(c.product.pins, 1)
    for unit in c.rng.sample(c.product.units, 2):
        for test in c.some(c.find("func", "unit", ip=unit), 2):
            c.fault(test, 1, cycle=cycle, pins=pins)
    c.show(c.find("func", "boot")[0], *c.some(c.find("func", "unit"), 1), c.one("idd", "active"))


@family("functional")
def reset_values(c):
    """Registers do not hold their default after reset; written ones read back right."""
    for test in c.some(c.find("func", "reset"), c.rng.randint(1, 2)):
        c.fault(test, c.rng.randint(1, 12), words=[c.word(c.rng.randrange(0x100)), c.word(c.rng.randrange(0x100))])
    c.show(*c.some(c.find("func", "unit"), 2), *c.some(c.find("scan", "stuck"), 1), c.find("func", "boot")[0])


@family("functional")
def wrong_result(c):
    """A program of its own ends with the same wrong word each time, slow or fast; logic and memory tests pass."""
    word = c.word(0, flip=c.rng.randrange(1, 0xFFFF))
    for test in c.some(c.find("func", "prog"), c.rng.randint(1, 2)):
        c.fault(test, 1, words=[word], pins=[])
    if c.rng.random() < 0.4:
        c.fault(c.one("func", "unit", v="vnom"), 1, words=[word], pins=[])
    c.show(*c.some(c.find("scan", "stuck"), 1), *c.some(c.find("mbist", "march"), 1), c.one("time", "fmax"))


@family("functional")
def input_level(c):
    """Input thresholds of one or two pins off, both of them by the same amount; patterns that drive them fail."""
    shift = c.rng.choice((-1, 1)) * c.product.vdd * c.rng.uniform(0.11, 0.3)
    pin = c.one("level", "vih").pin
    for test in c.find("level", "vih", pin=pin) + c.find("level", "vil", pin=pin):
        c.put(test, test.mean + shift * c.rng.uniform(0.97, 1.03))
    c.show(*c.find("leak", "ih", pin=pin), *c.find("cont", "neg", pin=pin))
    c.follow("func", count=c.rng.randint(0, 2), pins=[pin])


@family("functional")
def wrong_mode(c):
    """A strap is read wrong: the part enters another mode, and patterns of one mode fail from the start."""
    for test in c.some(c.find("func", "mode"), c.rng.randint(1, 2)):
        c.fault(test, c.rng.randint(20, 900), cycle=c.rng.randint(20, 400))
    c.follow("func", count=c.rng.randint(0, 2), cycle=c.rng.randint(20, 400))
    c.show(*c.some(c.find("scan", "chain"), 2), c.find("func", "boot")[0], c.one("idd", "static"))


@family("functional")
def resets_itself(c):
    """The part starts over after a while: long patterns of all units fail at the same cycle, short ones pass."""
    cycle = c.rng.randint(20000, 60000)
    for test in c.some(c.find("func", "unit") + c.find("func", "speed"), c.rng.randint(3, 4)):
        c.fault(test, c.rng.randint(300, 4000), cycle=cycle + c.rng.randint(0, 2), pins=c.product.pins[:2])
    c.show(c.find("func", "boot")[0], *c.find("func", "reset"), *c.some(c.find("idd", "static"), 1))


@family("functional")
def disabled_unit(c):
    """A unit answers nothing but zeros: it is not enabled, or not of this variant."""
    unit = c.rng.choice(c.product.units)
    for test in c.some(c.find("func", "unit", ip=unit) + c.find("func", "speed", ip=unit), 3):
        want = c.rng.randrange(1, 0x10000)
        c.fault(test, c.rng.randint(100, 2000), cycle=c.rng.randint(20, 300), words=[c.word(want=want, flip=want)])
    c.show(*c.find("idd", "per", ip=unit), *c.some(c.find("func", "unit"), 2))


@family("functional")
def bus_contention(c):
    """Two drivers fight on a bank: its pins reach neither level and all units on it fail there."""
    pins = c.rng.choice(c.product.banks)
    for test in c.find("level"):
        if test.pin in pins and test.what in ("voh", "vol"):
            c.over(test, (-1 if test.what == "voh" else 1) * c.rng.uniform(0.3, 1.2))
    c.follow("func", count=c.rng.randint(2, 3), pins=pins[:2])
    c.show(*c.find("leak", "ih", pin=pins[0]), *c.find("cont", "neg", pin=pins[0]))


@family("functional")
def protocol(c):
    """Frames with wrong words on one serial unit at both speeds, no analog test out of line."""
    unit = c.rng.choice(c.product.units)
    word = c.word(c.rng.randrange(0x40), want=0xA5)
    for test in c.find("func", "speed", ip=unit):
        c.fault(test, c.rng.randint(1, 9), words=[word], pins=c.product.pins[:1])
    c.show(*c.some(c.find("ana"), 2), *c.find("func", "unit", ip=unit)[:1])


@family("functional")
def no_wake(c):
    """Sleep current is right and the part does not come back from it."""
    for test in c.find("func", "wake"):
        c.fault(test, c.rng.randint(5, 200), words=[c.word()] if c.rng.random() < 0.5 else [])
    c.show(c.one("idd", "sleep"), c.one("idd", "stby"), *c.some(c.find("func", "unit"), 2), c.find("func", "boot")[0])


@family("functional")
def select_line(c):
    """Two units answer to one select: both drive a read at once, so that ones are lost and none is gained."""
    for unit in c.rng.sample(c.product.units, 2):
        for test in c.some(c.find("func", "unit", ip=unit), c.rng.randint(1, 2)):
            wants = [c.rng.randrange(1, 0x10000) for _ in range(2)]
            lost = [w & (c.rng.randrange(0x10000) | w & -w) for w in wants]         # one of them at least
            c.fault(test, c.rng.randint(8, 200),
                    words=[c.word(c.rng.randrange(0x40), want=w, flip=f) for w, f in zip(wants, lost)])
    c.show(c.find("func", "boot")[0], *c.some(c.find("func", "reset"), 1), *c.some(c.find("mbist", "march"), 1))


@family("functional")
def lines_bridged(c):
    """Two neighbouring data lines touch: words that differ in these bits read equal there, in unit after unit."""
    bit = c.rng.randrange(15)
    tests = [c.find("func", "unit", ip=u)[c.rng.randrange(3)] for u in c.rng.sample(c.product.units, 3)]
    for test in tests + c.some(c.find("func", "prog") + c.find("func", "reset"), c.rng.randint(0, 1)):
        words = [(0x5555, 0xAAAA)[k] for k in c.rng.sample(range(2), c.rng.randint(1, 2))]
        c.fault(test, c.rng.randint(10, 400), words=[c.word(want=w, flip=w & 3 << bit) for w in words])
    c.show(*c.some(c.find("idd", "iddq"), 1), *c.some(c.find("scan", "chain"), 1), *c.some(c.find("time", "tsu"), 1))


@family("functional")
def carry_lost(c):
    """Sums are short by one power of two, always the same: a carry is lost, slow or fast."""
    step = 1 << c.rng.randrange(3, 15)
    unit = c.rng.choice(c.product.units)
    for test in c.find("func", "prog") + c.some(c.find("func", "speed", ip=unit), c.rng.randint(0, 2)):
        wants = [c.rng.randrange(step, 0x10000) for _ in range(2)]
        c.fault(test, c.rng.randint(2, 30), pins=[], words=[c.word(want=w, flip=w ^ (w - step)) for w in wants])
    c.show(*c.some(c.find("func", "unit"), 2), *c.some(c.find("time", "fmax"), 1), *c.some(c.find("scan", "tdf"), 1))


@family("functional")
def counts_half(c):
    """A divider in front of a unit divides once too often: what it counts is half, at every supply and speed."""
    unit, left = c.rng.choice(c.product.units), c.rng.random() < 0.3
    tests = c.find("func", "unit", ip=unit) + c.find("func", "speed", ip=unit)
    for test in c.some(tests, c.rng.randint(3, 5)):
        wants = [c.rng.randrange(0x10, 0x4000) * 2 for _ in range(2)]
        c.fault(test, c.rng.randint(2, 90), words=[c.word(want=w, flip=w ^ (w * 2 if left else w // 2)) for w in wants])
    c.show(*c.find("time", "duty")[:1], c.one("ana", "osc"), c.one("ana", "vco"), *c.some(c.find("func", "unit"), 1))


@family("functional")
def output_always_on(c):
    """An output that is never switched off: it drives milliamperes when it should float, and inputs on it fail."""
    pin = c.rng.choice(c.product.banks[0])
    drive = c.rng.uniform(2e-3, 2e-2)
    high, low = c.find("leak", "ioz", pin=pin)
    c.put(*c.rng.choice(((high, drive), (low, -drive))))
    for test in c.some(c.find("func", "unit") + c.find("func", "speed"), c.rng.randint(2, 4)):
        c.fault(test, c.rng.randint(90, 2000), pins=[pin])
    c.show(neg(c, pin), *c.find("level", "voh", pin=pin), *c.find("level", "vol", pin=pin), high, low)


@family("functional")
def first_start(c):
    """The state after power is applied is not defined: the first pattern fails, after a reset all is well."""
    c.fault(c.find("func", "boot")[0], c.rng.randint(1, 60), cycle=c.rng.randint(3, 200),
            words=[c.word(c.rng.randrange(0x20), flip=c.rng.randrange(1, 0x10000))])
    if c.rng.random() < 0.4:
        c.fault(c.find("func", "mode")[0], c.rng.randint(1, 60), cycle=c.rng.randint(3, 200))
    for test in c.find("func", "reset")[:1] + c.some(c.find("func", "unit"), 2):
        c.keep(test)
    c.show(c.find("ref", "uvlo")[0], c.one("idd", "inrush"), *c.some(c.find("func", "prog"), 1))


@family("functional")
def fifo_shifted(c):
    """A pointer is one ahead: every word read is the one before it, in the unit that queues them."""
    unit = c.rng.choice(c.product.units)
    for test in c.some(c.find("func", "unit", ip=unit) + c.find("func", "prog"), c.rng.randint(2, 3)):
        queue = [c.rng.randrange(0x10000) for _ in range(4)]
        base = c.rng.randrange(0x100)
        c.fault(test, c.rng.randint(30, 500), words=[c.word(base + k, want=queue[k], flip=queue[k] ^ queue[k - 1])
                                                     for k in (1, 2, 3)])
    c.show(*c.some(c.find("func", "unit"), 2), *c.some(c.find("mbist", "port"), 1), *c.some(c.find("time", "tsu"), 1))


@family("functional")
def interrupt_lost(c):
    """A request is never taken: whatever waits for it ends late with one fail, all that polls passes."""
    pins = c.rng.sample(c.product.pins, 1)
    tests = c.some(c.find("func", "prog"), c.rng.randint(1, 2)) + c.some(c.find("func", "wake"), c.rng.randint(0, 2))
    for test in tests:
        c.fault(test, 1, cycle=c.rng.choice((65535, 65536, 50000, 100000)), pins=pins)
    for test in c.some(c.find("func", "unit", v="vnom"), 2):
        c.keep(test)
    c.show(c.find("func", "boot")[0], *c.some(c.find("idd", "sleep"), 1), *c.some(c.find("scan", "stuck"), 1))
