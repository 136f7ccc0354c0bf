"""Faults of converters, amplifiers, loops, oscillators, the radio path and serial lanes.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


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
def distortion(c):
    """Harmonics too strong, noise follows, offset and gain stay right."""
    i = c.rng.randrange(2)
    c.over(c.find("ana", "thd", adc=i)[0], c.rng.uniform(0.02, 0.5))
    if c.rng.random() < 0.4:
        c.over(c.find("ana", "inl", adc=i)[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.5))
    if c.rng.random() < 0.4:
        c.over(c.find("ana", "snr", adc=i)[0], -c.rng.uniform(0.02, 0.15))
    c.show(c.find("ana", "off", adc=i)[0], c.find("ana", "gain", adc=i)[0], c.one("ref", "noise"))


@family("analog_pll")
def slow_amplifier(c):
    """An amplifier short of bandwidth and slew rate, its offset right."""
    i = c.rng.randrange(2)
    c.put(c.find("ana", "gbw")[i], c.find("ana", "gbw")[i].low * c.rng.uniform(0.3, 0.98))
    if c.rng.random() < 0.7:
        c.put(c.find("ana", "vslew")[i], c.find("ana", "vslew")[i].low * c.rng.uniform(0.3, 0.98))
    c.show(c.find("ana", "cmp")[i], *c.find("ref", "iref")[:2])


@family("analog_pll")
def converter_full_scale(c):
    """The output converter ends short of its range or starts above zero; its steps are even."""
    low, middle, high = c.find("ana", "dacv")
    if c.rng.random() < 0.5:
        k = c.rng.choice((c.rng.uniform(0.85, 0.985), c.rng.uniform(1.015, 1.1)))
        c.put(high, high.mean * k)
        c.put(middle, middle.mean * k)
    else:
        shift = c.rng.uniform(0.03, 0.3)
        for test in (low, middle, high)[:c.rng.randint(1, 3)]:
            c.put(test, test.mean + shift)
    c.show(*c.find("ana", "dac"), c.find("ref", "aft")[0])


@family("analog_pll")
def tuning_range(c):
    """Locked with the control voltage at the end of its range, and spurs beside the carrier."""
    i = c.rng.randrange(2)
    tune = c.find("ana", "tune", pll=i)[0]
    c.over(tune, c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.3))
    if c.rng.random() < 0.6:
        c.over(c.find("ana", "spur", pll=i)[0], c.rng.uniform(0.02, 0.4))
    if c.rng.random() < 0.3:
        c.over(c.one("ana", "osc"), c.rng.choice((-1, 1)) * c.rng.uniform(0.02, 0.6))
    c.show(c.find("ana", "lock", pll=i)[0], c.find("ana", "vco", pll=i)[0])


@family("analog_pll")
def spurs(c):
    """The reference leaks through the loop: spurs and jitter, lock and frequency right."""
    i = c.rng.randrange(2)
    c.over(c.find("ana", "spur", pll=i)[0], c.rng.uniform(0.05, 0.6))
    if c.rng.random() < 0.4:
        c.over(c.find("ana", "jit", pll=i)[0], c.rng.uniform(0.02, 0.5))
    if c.rng.random() < 0.3:
        c.put(c.find("ana", "ber")[2], c.rng.randint(4, 90))
    c.show(c.find("ana", "tune", pll=i)[0], c.find("ana", "ltime", pll=i)[0], *c.find("idd", "active")[:1])


@family("analog_pll")
def input_mux(c):
    """One channel of the converter reads its neighbour; the converter itself is right."""
    tests = c.find("ana", "mux")
    i = c.rng.randrange(3)
    c.put(tests[i], c.die.value[tests[i + 1]] * c.rng.uniform(0.999, 1.001))
    if c.rng.random() < 0.4:
        c.put(tests[i + 1], c.die.value[tests[i]] * c.rng.uniform(0.999, 1.001))
    c.show(*tests, *c.find("ana", "off")[:1], *c.some(c.find("leak", "refpin"), 1))


@family("analog_pll")
def low_output_power(c):
    """Gain and output power of the radio path low together, supply current a little low with them."""
    short = c.rng.uniform(0.1, 1.2)
    for test in c.find("ana", "rf")[:c.rng.randint(1, 3)]:
        c.over(test, -short * c.rng.uniform(0.8, 1.2))
    c.show(*c.find("ana", "rf"), c.one("ana", "lock"), c.one("idd", "active"))


@family("analog_pll")
def die_sensor(c):
    """The sensor on the die reads degrees off while the chuck is right; a converter reads it correctly."""
    error = c.rng.choice((-1, 1)) * c.rng.uniform(3.5, 25)
    for test in c.find("ana", "tsen")[:c.rng.randint(1, 2)]:
        c.put(test, error + c.rng.gauss(0, 0.2))
    c.show(*c.find("sys", "temp"), c.one("ana", "off"), *c.find("ref", "hot")[:1])


@family("analog_pll")
def late_on_some_tries(c):
    """The loop locks, late and on one of several tries."""
    i = c.rng.randrange(2)
    late = c.find("ana", "ltime", pll=i)[0]
    c.retests.append((late, [late.high * c.rng.uniform(1.2, 3), late.high * c.rng.uniform(0.5, 0.9)]))
    c.put(late, late.high * c.rng.uniform(1.1, 4))
    c.show(c.find("ana", "lock", pll=i)[0], c.find("ana", "jit", pll=i)[0], c.find("ana", "vco", pll=i)[0])


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


@family("analog_pll")
def divider_wrong(c):
    """Locked on a wrong multiple: the frequency is off by a ratio of small numbers, all else of the loop right."""
    i, n = c.rng.randrange(2), c.rng.randint(3, 20)
    vco = c.find("ana", "vco", pll=i)[0]
    c.put(vco, vco.mean * c.rng.choice((n / (n + 1), (n + 1) / n)) * c.rng.uniform(0.9999, 1.0001))
    c.keep(c.find("ana", "lock", pll=i)[0])
    c.show(c.find("ana", "jit", pll=i)[0], c.find("ana", "tune", pll=i)[0], c.find("ana", "ltime", pll=i)[0])
    if c.rng.random() < 0.4:
        c.fault(c.one("func", "speed", speed="fast"), c.rng.randint(200, 4000), cycle=c.rng.randint(20, 400))


@family("analog_pll")
def lock_detector(c):
    """The flag stays low and its time runs out, but frequency, jitter and control voltage are right."""
    i = c.rng.randrange(2)
    c.put(c.find("ana", "lock", pll=i)[0], 0)
    if c.rng.random() < 0.7:
        c.put(c.find("ana", "ltime", pll=i)[0], c.rng.choice((2e-4, 5e-4, 1e-3)))
    for what in ("vco", "jit", "tune"):
        if c.rng.random() < 0.8:
            c.keep(c.find("ana", what, pll=i)[0])
    if c.rng.random() < 0.4:
        c.fault(c.find("func", "boot")[0], 1, cycle=c.rng.choice((50000, 65535, 100000)))


@family("analog_pll")
def channel_memory(c):
    """The sampling switch settles too late: every channel is drawn towards the one converted before it."""
    tests, share = c.find("ana", "mux"), c.rng.uniform(0.08, 0.4)
    before = [c.die.value[t] for t in tests]
    for k in range(1, 4):
        c.put(tests[k], before[k] + share * (before[k - 1] - before[k]) * c.rng.uniform(0.97, 1.03))
    if c.rng.random() < 0.4:
        c.over(c.one("ana", "gain"), -c.rng.uniform(0.05, 0.6))
    c.show(tests[0], *c.find("ana", "off")[:1], *c.find("leak", "refpin")[:1], c.one("ref", "aft"))


@family("analog_pll")
def bit_weight(c):
    """The largest bit of the output converter weighs wrong: a jump at mid scale, both ends of the range right."""
    low, middle, high = c.find("ana", "dacv")
    linear, step = c.find("ana", "dac")
    sign = c.rng.choice((-1, 1))
    c.put(middle, middle.mean + sign * c.rng.uniform(0.025, 0.09))
    c.over(step, sign * c.rng.uniform(0.2, 3))
    if c.rng.random() < 0.6:
        c.over(linear, sign * c.rng.uniform(0.05, 1))
    c.keep(high)
    c.show(low, c.one("ref", "aft"))


@family("analog_pll")
def amplifier_rings(c):
    """An amplifier oscillates: its offset wanders, the converter behind it is noisy, the analog supply draws more."""
    i = c.rng.randrange(2)
    bad = c.find("ana", "cmp")[i]
    first = bad.high * c.rng.uniform(1.3, 4)
    c.put(bad, -first * c.rng.uniform(0.4, 0.9) if c.rng.random() < 0.5 else first)
    if c.rng.random() < 0.5:
        c.retests.append((bad, [first, bad.high * c.rng.uniform(0.2, 0.9)]))
    c.over(c.find("ana", "snr", adc=i)[0], -c.rng.uniform(0.05, 0.6))
    if c.rng.random() < 0.6:
        c.over(c.find("idd", "active")[-1], c.rng.uniform(0.02, 0.2))
    c.show(c.find("ana", "gbw")[i], c.find("ana", "inl", adc=i)[0], c.one("ref", "noise"))


@family("analog_pll")
def oscillator_pushed(c):
    """The free oscillator follows its supply: slow at the lowest, fast at the highest, right in between."""
    low, usual, high = c.find("ana", "osc")
    push = c.rng.uniform(0.05, 0.16) * c.rng.choice((1, 1, 1, -1))
    c.put(low, low.mean * (1 - push))
    c.put(high, high.mean * (1 + push * c.rng.uniform(0.85, 1.15)))
    c.keep(usual)
    if c.rng.random() < 0.3:
        c.over(c.one("ana", "spur"), c.rng.uniform(0.02, 0.3))
    c.show(*c.find("ref", "line"), *c.find("ref", "iref")[:1], *c.find("ana", "psrr")[:1])


@family("analog_pll")
def receiver_clock(c):
    """The lane never finds the phase of its data: the counter of errors is full at every rate, swing and eye good."""
    full = c.rng.choice((255, 1023, 4095, 65535, 32768))
    for test in c.find("ana", "ber"):
        c.put(test, full if c.rng.random() < 0.8 else round(full * c.rng.uniform(0.4, 0.6)))
    c.keep(c.one("ana", "eye"))
    c.show(c.one("ana", "amp"), *c.find("ana", "lock")[:1], *c.find("ana", "jit")[:1])


@family("analog_pll")
def reference_buffer(c):
    """The buffer of the reference for all converters is off: their gains agree, the pin of the reference is right."""
    error = c.rng.choice((-1, 1)) * c.rng.uniform(1.2, 4.5)
    for test in c.find("ana", "gain"):
        c.put(test, error * c.rng.uniform(0.95, 1.05))
    low, middle, high = c.find("ana", "dacv")
    for test in (middle, high)[c.rng.randint(0, 1):]:
        c.put(test, test.mean * (1 - error / 100))
    c.keep(c.one("ref", "aft"))
    c.show(low, *c.find("ana", "off"), *c.find("ana", "inl")[:1])


@family("analog_pll")
def sparkle_codes(c):
    """A comparator in the converter decides too late at times: one reading far off, the next one right, much noise."""
    i, channel = c.rng.randrange(2), c.rng.choice(c.find("ana", "mux"))
    wrong = channel.mean + c.rng.choice((-1, 1)) * 2.5 / c.rng.choice((4, 8, 16, 32))
    if c.rng.random() < 0.7:
        c.retests.append((channel, [wrong, c.die.value[channel]]))
    else:
        c.put(channel, wrong)
    c.over(c.find("ana", "snr", adc=i)[0], -c.rng.uniform(0.1, 0.9))
    c.show(c.find("ana", "dnl", adc=i)[0], c.find("ana", "inl", adc=i)[0], c.find("ana", "off", adc=i)[0], channel)
