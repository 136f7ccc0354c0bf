"""Faults of speed: paths, edges, clocks and windows; fast fails where slow passes.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


def slow_paths(c, share):
    """What slow logic brings with it at speed: a delay set of the scan patterns or the fast run of a memory fails."""
    if c.rng.random() < share:
        fast = c.one("scan", "tdf", speed="fast")
        c.fault(fast, c.rng.randint(1, 40))
        c.show(*c.find("scan", "tdf", speed="slow", block=fast.cond["block"]))
    elif c.rng.random() < share:
        fast = c.one("mbist", "speed", speed="fast")
        c.fault(fast, words=[c.word()], pins=[])
        c.show(*c.find("mbist", "speed", mem=fast.cond["mem"], speed="slow"))


@family("timing")
def setup_margin(c):
    """Set-up times past the limit, fast patterns fail and the same slow ones pass."""
    for test in c.some(c.find("time", "tsu"), c.rng.randint(1, 3)):
        c.over(test, c.rng.uniform(0.05, 0.9))
    if c.rng.random() < 0.4:
        c.over(c.one("time", "taa"), c.rng.uniform(0.02, 0.4))
    for fast in c.some(c.find("func", "speed", speed="fast"), 2):
        c.fault(fast)
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))
    slow_paths(c, 0.3)


@family("timing")
def too_slow(c):
    """The top frequency falls short at every supply, least at the highest."""
    for test, k in zip(c.find("time", "fmax"), (0.72, 0.84, 0.97)):
        c.put(test, test.low * k * c.rng.uniform(0.97, 1.02))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 3)):
        c.fault(fast)
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))
    slow_paths(c, 0.4)


@family("timing")
def hold_violation(c):
    """A negative margin that no period cures: slow fails as fast does, and the high supply is the worst."""
    for test in c.some(c.find("time", "th"), c.rng.randint(1, 2)):
        c.over(test, c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 0.9))
    unit = c.rng.choice(c.product.units)
    for v, count in (("vnom", 2), ("vmax", 60)):
        c.fault(c.find("func", "unit", ip=unit, v=v)[0], count * c.rng.randint(1, 5))
    c.show(*c.find("func", "unit", ip=unit, v="vmin"))
    if c.rng.random() < 0.5:
        c.fault(c.find("scan", "stuck", v="vmax")[0])


@family("timing")
def one_edge(c):
    """One output is late on one edge only; its levels are right."""
    test = c.one("time", "tpd")
    c.over(test, c.rng.uniform(0.05, 1.2))
    c.show(*c.find("time", "tpd", pin=test.pin), *c.some(c.find("level"), 2))
    c.follow("func", count=c.rng.randint(0, 2), pins=[test.pin])


@family("timing")
def low_supply_path(c):
    """A path too slow at the lowest supply: delays grow there, patterns of several units fail only there."""
    test = c.find("time", "fmax", v="vmin")[0]
    c.put(test, test.low * c.rng.uniform(0.7, 0.98))
    c.show(*c.find("time", "fmax", v="vnom"))
    for unit in c.rng.sample(c.product.units, 2):
        c.fault(c.find("func", "unit", ip=unit, v="vmin")[0])
        c.show(*c.find("func", "unit", ip=unit, v="vnom"))
    slow_paths(c, 0.4)


@family("timing")
def clock_shape(c):
    """Duty cycle or skew of the clock off, fast patterns fail here and there."""
    c.over(c.rng.choice(c.find("time", "duty")), c.rng.choice((-1, 1)) * c.rng.uniform(0.05, 1))
    if c.rng.random() < 0.6:
        c.over(c.find("time", "skew")[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 2))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 2)):
        c.fault(fast)
    if c.rng.random() < 0.4:
        fast = c.one("mbist", "speed", speed="fast")
        c.fault(fast, words=[c.word()])
        c.show(*c.find("mbist", "speed", mem=fast.cond["mem"], speed="slow"))


@family("timing")
def late_bank(c):
    """All outputs of a bank late by the same amount on both edges: the clock reaches them late."""
    tests = c.find("time", "tpd")
    late = tests[0].high * c.rng.uniform(0.28, 0.7)
    for test in tests[:c.rng.choice((4, 6, 8))]:
        c.put(test, c.die.value[test] + late * c.rng.uniform(0.97, 1.03))
    c.show(*c.some(c.find("level"), 1), *c.some(c.find("time", "slew"), 2))
    c.follow("func", count=c.rng.randint(0, 1), pins=c.product.banks[0][:2])
    slow_paths(c, 0.2)


@family("timing")
def narrow_window(c):
    """The window in which a bus reads right has shrunk on every pin; the access time is in limits."""
    for test in c.some(c.find("time", "eye"), c.rng.randint(2, 4)):
        c.put(test, test.low * c.rng.uniform(0.4, 0.97))
    c.show(*c.some(c.find("time", "taa"), 2))
    for fast in c.some(c.find("mbist", "speed", speed="fast"), c.rng.randint(0, 1)):
        c.fault(fast, words=[c.word()])


@family("timing")
def slow_when_hot(c):
    """Fast enough cold, short of the frequency hot."""
    tests = c.find("time", "fhot")
    c.keep(tests[0])
    for test, k in zip(tests[1:], (c.rng.uniform(0.9, 1.04), c.rng.uniform(0.7, 0.97))):
        c.put(test, test.low * k)
    c.show(*c.some(c.find("func", "speed", speed="fast"), 1), *c.find("time", "fmax", v="vnom"))
    slow_paths(c, 0.5)


@family("timing")
def slow_process(c):
    """Every ring oscillator slow by the same share, delays up, current down: a slow lot."""
    k = c.rng.uniform(0.62, 0.82)
    for test in c.find("time", "ring"):
        c.put(test, test.mean * k * c.rng.uniform(0.99, 1.01))
    if c.rng.random() < 0.6:
        test = c.find("time", "fmax", v="vmin")[0]
        c.put(test, test.low * c.rng.uniform(0.85, 1.0))
    if c.rng.random() < 0.5:
        c.over(c.one("time", "tpd"), c.rng.uniform(0.02, 0.2))
    c.show(*c.find("idd", "active", pin=c.product.rails[0]))
    slow_paths(c, 0.5)


@family("timing")
def slow_edges(c):
    """Outputs rise or fall too slowly, levels reach their place in the end."""
    edge = c.rng.choice("rf")
    tests = c.some(c.find("time", "slew", edge=edge), c.rng.randint(1, 3))
    for test in tests:
        c.over(test, c.rng.uniform(0.05, 1.5))
    c.show(*c.some(c.find("level", "voh") + c.find("level", "vol"), 2), *c.find("time", "slew", pin=tests[0].pin))
    if c.rng.random() < 0.4:
        c.over(c.one("time", "tpd", edge=edge), c.rng.uniform(0.02, 0.3))


@family("timing")
def slow_unit(c):
    """One unit fails fast and passes slow, at every run; a lower frequency or a higher supply cures it."""
    unit = c.rng.choice(c.product.units)
    fast = c.find("func", "speed", ip=unit, speed="fast")[0]
    c.fault(fast)
    c.keep(c.find("func", "speed", ip=unit, speed="slow")[0])
    c.show(*c.find("func", "unit", ip=unit, v="vmax"), *c.find("time", "fmax")[1:])
    if c.rng.random() < 0.6:
        c.fault(c.find("func", "unit", ip=unit, v="vmin")[0])
    if c.rng.random() < 0.4:
        test = c.find("time", "fmax", v="vmin")[0]
        c.put(test, test.low * c.rng.uniform(0.9, 1.03))
    slow_paths(c, 0.4)


@family("timing")
def too_fast(c):
    """Outputs change before their earliest time and data is not held: delays below the lower limit."""
    for test in c.some(c.find("time", "tpd"), c.rng.randint(1, 3)):
        c.put(test, test.low * c.rng.uniform(0.4, 0.97))
    if c.rng.random() < 0.5:
        test = c.one("time", "taa")
        c.put(test, test.low * c.rng.uniform(0.5, 0.97))
    c.show(*c.find("time", "fmax")[-1:], *c.find("time", "ring")[:2])


@family("timing")
def clock_tree_skew(c):
    """Two parts of the clock are apart: set-up short on some pins and hold on others, skew past its limit."""
    c.over(c.find("time", "skew")[0], c.rng.choice((-1, 1)) * c.rng.uniform(0.1, 2))
    c.over(c.one("time", "tsu"), c.rng.uniform(0.02, 0.5))
    if c.rng.random() < 0.6:
        c.over(c.one("time", "th"), c.rng.uniform(0.02, 0.5))
    c.show(*c.find("time", "duty"), *c.some(c.find("scan", "chain"), 1))
    slow_paths(c, 0.4)


@family("timing")
def slow_when_cold(c):
    """High thresholds rule when cold: short of the frequency there, faster the warmer it gets."""
    cold = c.find("time", "fcold")[0]
    level = c.rng.uniform(0.7, 0.98)
    c.put(cold, cold.low * level)
    for test, gain in zip(c.find("time", "fhot"), (0.22, 0.3, 0.36)):
        c.put(test, test.low * max(level + gain, 1.01) * c.rng.uniform(1.0, 1.02))
    c.show(*c.find("time", "ring")[:1])
    slow_paths(c, 0.4)


@family("timing")
def aged_by_stress(c):
    """Transistors wear in the stress: rings right before it and slow after it, rising edges late, falling not."""
    rings, aged = c.find("time", "ring"), c.find("time", "aged")
    k = c.rng.uniform(0.68, 0.82)
    for i in sorted(c.rng.sample(range(3), c.rng.randint(1, 3))):
        c.put(aged[i], aged[i].mean * k * c.rng.uniform(0.98, 1.02))
        c.keep(rings[i])
    if c.rng.random() < 0.5:
        late = c.one("time", "tpd", edge="r")
        c.over(late, c.rng.uniform(0.02, 0.3))
        c.keep(c.find("time", "tpd", pin=late.pin, edge="f")[0])
    c.show(*c.some(c.find("leak", "stress"), 1))
    slow_paths(c, 0.3)


@family("timing")
def edges_apart(c):
    """A threshold off the middle: one edge late by what the other is early, the duty of a clock off with them."""
    tests = c.find("time", "tpd")
    late, shift = c.rng.choice("rf"), tests[0].low * c.rng.uniform(1.1, 2.4)
    for pin in c.rng.sample(c.product.banks[0][:4], c.rng.randint(1, 3)):
        for test in c.find("time", "tpd", pin=pin):
            c.put(test, test.mean + (1 if test.cond["edge"] == late else -1) * shift * c.rng.uniform(0.97, 1.03))
    if c.rng.random() < 0.6:
        duty = c.one("time", "duty")
        c.put(duty, 50 + (1 if late == "f" else -1) * c.rng.uniform(5.5, 12))
    c.follow("func", count=c.rng.randint(0, 1), pins=[pin])


@family("timing")
def late_with_neighbours(c):
    """Coupling of neighbours: an output is late when all switch with it and right when it switches alone."""
    for test in c.some(c.find("time", "sso"), c.rng.randint(1, 3)):
        c.over(test, c.rng.uniform(0.04, 1))
        c.keep(c.find("time", "tpd", pin=test.pin)[0])
    if c.rng.random() < 0.5:
        c.fault(c.one("func", "speed", speed="fast"), c.rng.randint(1, 9), pins=[test.pin])
    if c.rng.random() < 0.3:
        c.over(c.one("time", "eye"), -c.rng.uniform(0.02, 0.4))
    c.show(*c.find("time", "slew")[:1], *c.find("level", pin=test.pin))


@family("timing")
def jitter_at_the_fastest(c):
    """Jitter eats the margin of the fastest mode: a fail or two in many cycles, in all units, windows never alike."""
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(2, 4)):
        c.fault(fast, c.rng.randint(1, 3))
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))
    test = c.one("time", "eye")
    if c.rng.random() < 0.6:
        c.put(test, test.low * c.rng.uniform(0.75, 0.98))
        c.retests.append((test, [test.low * c.rng.uniform(0.6, 0.95), test.low * c.rng.uniform(1.02, 1.3)]))
    c.show(*c.find("time", "fmax", v="vnom"), *c.find("time", "duty")[:1])
    slow_paths(c, 0.3)


@family("timing")
def slow_to_let_go(c):
    """Outputs leave a shared bus too late: turn-off is out, driven edges are right, the next owner collides."""
    tests = c.some(c.find("time", "tz"), c.rng.randint(1, 3))
    for test in tests:
        c.over(test, c.rng.uniform(0.05, 1))
        c.show(c.find("time", "tpd", pin=test.pin)[0])
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 2)):
        c.fault(fast, pins=[t.pin for t in tests])
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))
    c.show(*c.some(c.find("leak", "ioz"), 1))


@family("timing")
def swallowed_pulse(c):
    """A buffer eats short pulses: the shortest that passes is too long, duty is right, fast runs miss clocks."""
    test = c.one("time", "tpw")
    c.over(test, c.rng.uniform(0.05, 1.2))
    c.show(*c.find("time", "tpw"), *c.find("time", "duty")[:1], *c.find("time", "ring")[:1])
    if c.rng.random() < 0.5:
        fast = c.one("mbist", "speed", speed="fast")
        c.fault(fast, c.rng.randint(30, 2000), words=[c.word()], pins=[])
        c.show(*c.find("mbist", "speed", mem=fast.cond["mem"], speed="slow"))
    elif c.rng.random() < 0.5:
        c.fault(c.find("scan", "shift", speed="fast")[0], c.rng.randint(30, 2000))
        c.keep(c.find("scan", "shift", speed="slow")[0])


@family("timing")
def input_delay_off(c):
    """The delay of an input is off: set-up has lost what hold has gained, or the other way, on one pin or more."""
    shift = c.find("time", "tsu")[0].high * c.rng.choice((-1, 1)) * c.rng.uniform(0.5, 1.3)
    for pin in c.rng.sample(c.product.banks[1][:4], c.rng.randint(1, 3)):
        for what, sign in (("tsu", 1), ("th", -1)):
            test = c.find("time", what, pin=pin)[0]
            c.put(test, test.mean + sign * shift * c.rng.uniform(0.97, 1.03))
    c.show(*c.find("time", "skew"), *c.find("level", "vih", pin=pin))
    c.follow("func", count=c.rng.randint(0, 1), pins=[pin])


@family("timing")
def races(c):
    """Transistors too fast: rings above their limit, data overtakes the clock, chains slip at the high supply."""
    k = c.rng.uniform(1.19, 1.35)
    for test in c.find("time", "ring"):
        c.put(test, test.mean * k * c.rng.uniform(0.99, 1.01))
    if c.rng.random() < 0.7:
        c.over(c.one("time", "th"), c.rng.uniform(0.05, 0.8))
    for high in c.some(c.find("scan", "chainv", v="vmax"), c.rng.randint(0, 2)):
        c.fault(high, c.rng.randint(1, 60))
        c.keep(c.find("scan", "chainv", v="vmin", chain=high.cond["chain"])[0])
    if c.rng.random() < 0.4:
        test = c.one("time", "tpd")
        c.put(test, test.low * c.rng.uniform(0.5, 0.97))


@family("timing")
def slow_on_one_side(c):
    """Speed falls across the die: the rings differ in steps, and what lies at the slow end fails its fast runs."""
    shares = (1, c.rng.uniform(0.87, 0.93), c.rng.uniform(0.7, 0.82))
    for test, k in zip(c.find("time", "ring")[::c.rng.choice((-1, 1))], shares):
        c.put(test, test.mean * k * c.rng.uniform(0.99, 1.01))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 1)):
        c.fault(fast)
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))
    c.show(*c.find("time", "fmax")[1:])
    slow_paths(c, 0.5)


@family("timing")
def transition_delay(c):
    """Scan patterns fail at speed and pass slowly, and the stuck-at sets pass at every corner."""
    for fast in c.find("scan", "tdf", speed="fast"):
        c.fault(fast, c.rng.randint(1, 9))
        c.show(*c.find("scan", "tdf", speed="slow", block=fast.cond["block"]))
    c.show(*c.some(c.find("scan", "stuck"), 3))
    for test in c.find("time", "fmax")[:c.rng.randint(0, 2)]:
        c.put(test, test.low * c.rng.uniform(0.8, 0.99))


@family("timing")
def slow_access(c):
    """The memory bus answers late: the fast run of every memory fails with many words, the slow run passes."""
    for test in c.some(c.find("time", "taa"), 2):
        c.over(test, c.rng.uniform(0.05, 0.6))
    if c.rng.random() < 0.5:
        c.over(c.one("time", "tsu"), c.rng.uniform(0.05, 0.6))
    for mem in c.rng.sample(c.product.mems, c.rng.randint(1, 2)):
        c.fault(c.find("mbist", "speed", mem=mem, speed="fast")[0], c.rng.randint(30, 4000), words=[c.word()])
        c.show(*c.find("mbist", "speed", mem=mem, speed="slow"), *c.find("mbist", "march", mem=mem, v="vnom"))
