"""Faults that let current into a pin or through a switch that should be off.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from case import leaks, neg
from registry import family


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
def pull_always_on(c):
    """A pull-up that never turns off: tens of microamperes low, nothing high, the pull itself as specified."""
    test = c.one("leak", "pull")
    amps = c.rng.uniform(2e-5, 5e-5)
    c.put(c.find("leak", "il", pin=test.pin)[0], -amps)
    for other in c.find("leak", "ioz", pin=test.pin, v="il"):
        c.put(other, -amps * c.rng.uniform(0.99, 1.01))
    c.show(test, *c.find("leak", "ih", pin=test.pin), neg(c, test.pin))


@family("leakage")
def surface_film(c):
    """Moisture between the pads: one pin leaks most, its neighbours half and a quarter, none by its diode."""
    bank = c.rng.choice(c.product.banks)
    centre, what = c.rng.randrange(len(bank)), c.rng.choice(("ih", "il"))
    top = c.find("leak", what)[0].high * c.rng.uniform(3, 15) * (1 if what == "ih" else -1)
    for i, pin in enumerate(bank):
        if abs(i - centre) <= 2:
            c.put(c.find("leak", what, pin=pin)[0], top * 0.45 ** abs(i - centre) * c.rng.uniform(0.8, 1.2))
    c.show(neg(c, bank[centre]))


@family("leakage")
def after_stress(c):
    """Within limits before the high-voltage stress and far above after it."""
    test = c.one("leak", "stress")
    c.put(test, test.high * c.rng.uniform(1.3, 60))
    for other in c.some([t for t in c.find("leak", "stress") if t is not test], c.rng.randint(0, 2)):
        c.put(other, other.high * c.rng.uniform(0.7, 1.8))
    c.keep(c.find("leak", "ih", pin=test.pin)[0])
    if c.rng.random() < 0.3:
        c.over(c.one("leak", "refpin"), c.rng.uniform(0.05, 3))
    if c.rng.random() < 0.3:
        c.over(c.one("idd", "post"), c.rng.uniform(0.02, 0.3))


@family("leakage")
def breaks_down(c):
    """Little at the low voltage, ten times the limit at the high one: an oxide or a junction gives way."""
    pin = c.one("leak", "volt").pin
    top = c.find("leak", "volt", pin=pin)[0].high * c.rng.uniform(1.5, 20)
    for test, share in zip(c.find("leak", "volt", pin=pin), (0.01, 0.1, 1)):
        c.put(test, top * share * c.rng.uniform(0.7, 1.4))
    c.show(*leaks(c, pin))


@family("leakage")
def between_domains(c):
    """Current from one powered rail into the other that is off; each rail by itself draws what it should."""
    test = c.one("leak", "inter")
    c.over(test, c.rng.uniform(0.1, 8))
    if c.rng.random() < 0.4:
        c.over(c.rng.choice([t for t in c.find("leak", "inter") if t is not test]), -c.rng.uniform(0.1, 3))
    c.show(*c.find("idd", "static", pin=test.pin)[:1], *c.find("short", pin=test.pin))
    if c.rng.random() < 0.3:
        c.over(c.rng.choice(c.find("idd", "stby", pin=test.pin)), c.rng.uniform(0.05, 0.5))


@family("leakage")
def open_drains(c):
    """The outputs of a bank leak when pulled up while off, none of them when held low."""
    for pin in c.product.banks[0][:c.rng.randint(2, 4)]:
        high, low = c.find("leak", "ioz", pin=pin)
        c.put(high, high.high * c.rng.uniform(1.1, 5))
        c.show(low)
    c.show(*c.some(c.find("level", "vol"), 2))


@family("leakage")
def back_powered(c):
    """Pins feed the unpowered part through their clamps; with power on all of them are tight."""
    tests = c.some(c.find("leak", "ioff"), c.rng.randint(1, 4))
    for test in tests:
        c.put(test, test.high * c.rng.uniform(1.4, 40))
    c.show(*leaks(c, tests[0].pin), neg(c, tests[0].pin))
    if c.rng.random() < 0.3:
        c.over(c.one("leak", "inter"), c.rng.uniform(0.05, 0.4))


@family("leakage")
def same_at_any_heat(c):
    """A defect that leaks at every temperature alike, as a resistor does and a junction does not."""
    pin = c.rng.choice(c.find("leak", "hot")).pin
    level = c.find("leak", "hot", pin=pin)[-1].high * c.rng.uniform(1.2, 9)
    for test in c.find("leak", "hot", pin=pin) + c.find("leak", "ih", pin=pin):
        c.put(test, level * c.rng.uniform(0.9, 1.1))
    c.show(*c.find("leak", "il", pin=pin))


@family("leakage")
def flickers(c):
    """A path that opens and closes by itself: each reading of the pin is another one, some of them in limits."""
    late = c.one("leak", "late")
    test = c.find("leak", "ih", pin=late.pin)[0]
    top = test.high * c.rng.uniform(1.5, 20)
    c.retests.append((test, [top * c.rng.uniform(0.7, 3), test.high * c.rng.uniform(0.05, 0.7)]))
    c.put(test, top)
    c.put(late, top * c.rng.uniform(0.05, 0.9))
    c.show(neg(c, late.pin), *c.find("leak", "il", pin=late.pin))


@family("leakage")
def decays(c):
    """Charge in a dielectric: too high when read at once, a fraction of it and in limits when read again."""
    for late in c.some(c.find("leak", "late"), c.rng.randint(1, 3)):
        c.put(c.find("leak", "ih", pin=late.pin)[0], late.high * c.rng.uniform(1.3, 5))
        c.put(late, late.high * c.rng.uniform(0.2, 0.8))
    c.show(*c.some(c.find("leak", "stress"), 1), neg(c, late.pin))


@family("leakage")
def creeps_under_bias(c):
    """Ions move under bias: in limits when read first, past them when read later, without heat or stress."""
    for late in c.some(c.find("leak", "late"), c.rng.randint(1, 3)):
        first = late.high * c.rng.uniform(0.3, 0.95)
        c.put(c.find("leak", "ih", pin=late.pin)[0], first)
        c.put(late, late.high + first * c.rng.uniform(0.3, 8))
    if c.rng.random() < 0.3:
        c.over(c.one("leak", "refpin"), c.rng.uniform(0.05, 1))
    c.show(*c.find("leak", "il", pin=late.pin), neg(c, late.pin))


@family("leakage")
def dendrite(c):
    """A thread between two pads: what flows into one pin flows out of the next, far too little to move a diode."""
    bank = c.rng.choice(c.product.banks)
    i = c.rng.randrange(3)
    one, other = c.rng.sample(bank[i:i + 2], 2)
    amps = c.find("leak", "ih")[0].high * c.rng.uniform(1.3, 9)
    c.put(c.find("leak", "ih", pin=one)[0], amps)
    c.put(c.find("leak", "il", pin=other)[0], -amps * c.rng.uniform(0.98, 1.02))
    for pin in (one, other):
        c.put(c.find("cont", "adj", pin=pin)[0], amps * c.rng.uniform(0.3, 0.6))
        c.show(neg(c, pin))


@family("leakage")
def junctions_hot(c):
    """Every junction leaks when hot: all pins past the limit by about one factor, the supply current with them."""
    top = c.find("leak", "hot", t="125c")[0].high * c.rng.uniform(1.15, 5)
    for t, share in (("85c", 1 / 7), ("125c", 1)):
        for test in c.find("leak", "hot", t=t):
            c.put(test, top * share * c.rng.uniform(0.9, 1.1))
    c.show(*c.find("leak", "hot", t="25c"))
    if c.rng.random() < 0.6:
        c.over(c.find("idd", "hot")[-1], c.rng.uniform(0.05, 0.6))


@family("leakage")
def mux_off_switches(c):
    """Switches of channels that are not selected leak: all inputs alike, the channels pull each other along."""
    level = c.find("leak", "refpin")[0].high * c.rng.choice((-1, 1)) * c.rng.uniform(1.2, 7)
    for test in c.find("leak", "refpin"):
        c.put(test, level * c.rng.uniform(0.93, 1.07))
    if c.rng.random() < 0.7:
        for test in c.some(c.find("ana", "mux"), c.rng.randint(1, 2)):
            c.put(test, test.mean + (1 if level > 0 else -1) * c.rng.uniform(0.032, 0.07))
    c.show(c.one("ana", "off"), c.one("ana", "gain"), *c.some(c.find("leak", "ih"), 1))


@family("leakage")
def charged_at_handling(c):
    """Discharge in handling: pins at ends of banks leak both ways, each through its own resistor, diodes good."""
    ends = [p for bank in c.product.banks for p in (bank[0], bank[-1])]
    for pin in c.rng.sample(ends, c.rng.randint(2, 3)):
        k = 10 ** c.rng.uniform(0.2, 2.3)
        for test in leaks(c, pin) + c.find("leak", "ioff", pin=pin) + c.find("leak", "stress", pin=pin):
            c.put(test, (test.low if test.what == "il" else test.high) * k * c.rng.uniform(0.85, 1.15))
        c.show(neg(c, pin))
    if c.rng.random() < 0.3:
        c.follow("func", count=1)


@family("leakage")
def punch_through(c):
    """Channels too short to block the high voltage: all pins out there by one factor, rings fast but in limits."""
    top = c.find("leak", "volt")[0].high * c.rng.uniform(1.3, 6)
    for v, share in (("vmin", 0.03), ("vnom", 0.14), ("vmax", 1)):
        for test in c.find("leak", "volt", v=v):
            c.put(test, top * share * c.rng.uniform(0.9, 1.1))
    fast = c.rng.uniform(1.06, 1.13)
    for ring in c.find("time", "ring"):
        c.die.value[ring] = ring.mean * fast * c.rng.uniform(0.99, 1.01)
    c.keep(ring)
    if c.rng.random() < 0.4:
        c.over(c.find("idd", "static", v="vmax")[0], c.rng.uniform(0.02, 0.3))


@family("leakage")
def droops_when_slow(c):
    """A bus that only holds its charge loses it through a pin: the slow run fails, the fast one is quick enough."""
    pin = c.rng.choice(c.product.pins)
    test = c.rng.choice(leaks(c, pin))
    c.put(test, (test.high if test.what == "ih" else test.low) * c.rng.uniform(1.4, 12))
    for slow in c.some(c.find("func", "speed", speed="slow"), c.rng.randint(1, 2)):
        c.fault(slow, pins=[pin])
        c.keep(c.find("func", "speed", speed="fast", ip=slow.cond["ip"])[0])
    c.show(*c.find("level", pin=pin), neg(c, pin))


@family("leakage")
def seen_by_the_rail(c):
    """What flows out of a pin held low comes from the rail: the sleep current is up by that, awake it drowns."""
    rail, test = c.product.rails[1], c.one("leak", "il")
    asleep = c.find("idd", "sleep", pin=rail)[0]
    amps = max(-test.low * 3, asleep.high * c.rng.uniform(0.8, 2.5))
    c.put(test, -amps)
    c.put(asleep, asleep.mean + amps * c.rng.uniform(0.99, 1.01))
    c.show(*c.find("leak", "ih", pin=test.pin), *c.find("idd", "static", pin=rail)[:1], neg(c, test.pin))
    for other in c.find("idd", "sleep", pin=c.product.rails[0]):
        c.show(other)


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
