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


# ---- held out of training: keep these two last -------------------------------------------------------------------

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
