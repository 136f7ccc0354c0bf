"""Faults of the structure that tests logic: shift, capture, compressor, port, self-test of logic.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from case import neg
from registry import family


@family("scan")
def broken_chain(c):
    """One chain fails to shift, and every capture set shows the same output from the first cycles."""
    chain = c.one("scan", "chain")
    c.fault(chain, c.rng.randint(500, 4000), cycle=c.rng.randint(3, 60), pins=[chain.pin])
    c.show(*c.some(c.find("scan", "chain"), 2))
    for test in c.some(c.find("scan", "stuck"), c.rng.randint(1, 3)):
        c.fault(test, c.rng.randint(500, 4000), cycle=c.rng.randint(3, 90), pins=[chain.pin])


@family("scan")
def stuck_gate(c):
    """A few capture cycles of one block fail at every corner and at every speed; shifting is fine."""
    block, cycle = c.rng.randrange(3), c.rng.randint(500, 40000)
    pins = c.rng.sample(c.product.pins, 1)
    for test in c.find("scan", "stuck", block=block):
        c.fault(test, c.rng.randint(1, 6), cycle=cycle, pins=pins)
    c.show(*c.find("scan", "chain")[:2])
    for test in c.find("scan", "tdf", speed="slow", block=block):
        c.fault(test, c.rng.randint(1, 6), cycle=cycle + c.rng.randint(5, 900), pins=pins)
    if c.rng.random() < 0.4:
        c.fault(c.find("scan", "lbist", block=block)[0], 1, pins=[], words=[c.word(0, flip=c.rng.randrange(1, 0xFFFF))])


@family("scan")
def compressed_block(c):
    """All outputs of one compressor together, the others clean."""
    tests = c.find("scan", "edt")
    bad = c.rng.choice(tests)
    c.fault(bad, c.rng.randint(60, 900), pins=c.rng.choice(c.product.banks)[:4])
    c.show(*tests)
    if c.rng.random() < 0.5:
        c.fault(c.find("scan", "stuck", v="vnom")[bad.cond["block"]], c.rng.randint(60, 900))


@family("scan")
def shift_control(c):
    """Every chain fails to shift from cycle one though continuity and currents are good and functions run."""
    for test in c.find("scan", "chain"):
        c.fault(test, c.rng.randint(900, 4000), cycle=c.rng.randint(1, 3), pins=[test.pin])
    if c.rng.random() < 0.5:
        c.fault(c.rng.choice(c.find("scan", "jtag") + c.find("scan", "bsr")), cycle=c.rng.randint(1, 3))
    c.show(*c.some(c.find("func", "unit"), 2), *c.some(c.find("cont", "neg"), 1), c.one("idd", "static"))


@family("scan")
def bridge(c):
    """Capture fails in two blocks at related cycles with one quiescent vector a little high."""
    cycle = c.rng.randint(500, 40000)
    for block in c.rng.sample(range(3), 2):
        for test in c.some(c.find("scan", "stuck", block=block), 2):
            c.fault(test, c.rng.randint(1, 4), cycle=cycle + c.rng.randint(0, 3))
    if c.rng.random() < 0.6:
        c.times(c.one("idd", "iddq"), c.rng.uniform(1.3, 2.2))
    c.show(c.one("scan", "chain"))


@family("scan")
def capture_control(c):
    """Shifting passes; every capture set dies at the same cycle on many outputs."""
    cycle = c.rng.randint(100, 900)
    for test in c.some(c.find("scan", "stuck") + c.find("scan", "tdf"), 4):
        c.fault(test, c.rng.randint(800, 9000), cycle=cycle, pins=c.product.pins[:3])
    c.show(*c.find("scan", "chain")[:2], *c.some(c.find("func", "unit"), 1))


@family("scan")
def hold_in_chain(c):
    """One chain loses bits at the high supply and shifts cleanly at the low one: a hold fault inside it."""
    low, high = c.find("scan", "chainv", chain=c.rng.randrange(4))
    c.fault(high, c.rng.randint(2, 60))
    c.keep(low)
    for test in c.some(c.find("scan", "stuck", v="vmax"), c.rng.randint(0, 2)):
        c.fault(test, c.rng.randint(2, 90))
    c.show(*c.find("scan", "chain", chain=low.cond["chain"]), *c.some(c.find("time", "th"), 1))


@family("scan")
def chain_low_supply(c):
    """Shifting breaks at the lowest supply alone, in one or two chains, while functions there run."""
    for i in c.rng.sample(range(4), c.rng.randint(1, 2)):
        low, high = c.find("scan", "chainv", chain=i)
        c.fault(low, c.rng.randint(20, 2000), cycle=c.rng.randint(3, 900))
        c.show(high, *c.find("scan", "chain", chain=i))
    c.show(*c.some(c.find("func", "unit", v="vmin"), 2))


@family("scan")
def branch_of_enable(c):
    """Two chains on one branch of the enable fail with the same count, the others shift."""
    count, cycle = c.rng.randint(200, 3000), c.rng.randint(2, 9)
    tests = c.find("scan", "chain")
    bad = c.some(tests, 2)
    for test in bad:
        c.fault(test, count, cycle=cycle, pins=[test.pin])
    for test in tests:
        if test not in bad:
            c.show(test)
    for test in c.some(c.find("scan", "edt"), c.rng.randint(0, 1)):
        c.fault(test, count * 2, cycle=cycle)


@family("scan")
def shift_power(c):
    """Chains pass when shifted slowly and fail when shifted fast: the supply droops as everything toggles."""
    slow, fast = c.find("scan", "shift")
    c.fault(fast, c.rng.randint(30, 3000), pins=c.rng.sample(c.product.pins, 3))
    c.keep(slow)
    for test in c.some(c.find("scan", "edt"), c.rng.randint(0, 2)):
        c.fault(test, c.rng.randint(5, 400))
    c.show(*c.find("scan", "chain")[:2], *c.find("idd", "static", v="vnom")[:1])


@family("scan")
def wrapper_cells(c):
    """The cells between two cores fail, the patterns inside each core pass."""
    for test in c.some(c.find("scan", "wrap"), c.rng.randint(1, 2)):
        c.fault(test, c.rng.randint(1, 60))
    if c.rng.random() < 0.5:
        c.fault(c.find("scan", "bsr")[0], c.rng.randint(1, 20))
    c.show(*c.some(c.find("scan", "stuck"), 3), *c.find("scan", "chain")[:1])


@family("scan")
def block_clock(c):
    """The capture clock of one block is dead: each of its sets fails by thousands, its chain is sound."""
    block = c.rng.randrange(2)
    count = c.rng.randint(900, 9000)
    for test in c.find("scan", "stuck", block=block) + c.find("scan", "tdf", block=block):
        if c.rng.random() < 0.8 or test.cond.get("v") == "vnom":
            c.fault(test, count + c.rng.randint(0, 60))
    if c.rng.random() < 0.5:
        c.fault(c.find("scan", "lbist", block=block)[0], 1, pins=[], words=[c.word(0, flip=c.rng.randrange(1, 0xFFFF))])
    c.show(*c.find("scan", "stuck", block=2), *c.find("scan", "chain")[:2])


@family("scan")
def unknown_source(c):
    """An undriven node feeds the compressors: all of them fail by different counts at each run, plain sets pass."""
    for test in c.find("scan", "edt"):
        if c.rng.random() < 0.8:
            c.fault(test, c.rng.randint(1, 900))
    if not c.kept:
        c.fault(c.find("scan", "edt")[0])
    c.show(*c.some(c.find("scan", "stuck", v="vnom"), 3))
    if c.rng.random() < 0.6:
        c.fault(c.one("scan", "lbist"), 1, pins=[], words=[c.word(0, flip=c.rng.randrange(1, 0xFFFF))])


@family("scan")
def output_channel(c):
    """Whatever is shifted out of one pin is wrong: a chain, a compressor and both capture sets, always there."""
    chain = c.one("scan", "chain")
    tests = c.some(c.find("scan", "edt"), 1) + c.some(c.find("scan", "stuck", v="vnom"), 2) + \
        c.some(c.find("scan", "tdf", speed="slow"), 1)
    for test in [chain] + tests:
        c.fault(test, c.rng.randint(90, 2000), pins=[chain.pin])
    c.show(neg(c, chain.pin), *c.find("level", "voh", pin=chain.pin), *c.some(c.find("func", "unit"), 1))


@family("scan")
def test_port(c):
    """The identity register reads back wrong and the boundary ring with it; inner patterns are not reached."""
    c.fault(c.find("scan", "jtag")[0], 1, cycle=c.rng.randint(8, 60), pins=[],
            words=[c.word(0, want=c.rng.randrange(0x10000), flip=c.rng.randrange(1, 0xFFFF))])
    c.fault(c.find("scan", "bsr")[0], c.rng.randint(20, 400), cycle=c.rng.randint(8, 60))
    if c.rng.random() < 0.6:
        for test in c.some(c.find("scan", "chain"), 2):
            c.fault(test, c.rng.randint(900, 4000), cycle=c.rng.randint(1, 60))
    c.show(*c.some(c.find("func", "unit"), 2), *c.some(c.find("cont", "neg"), 2))


@family("scan")
def logic_signature(c):
    """Signatures of the self-test of logic differ, the same wrong word twice; memories pass."""
    word = c.word(0, want=c.rng.randrange(0x10000), flip=c.rng.randrange(1, 0xFFFF))
    tests = c.find("scan", "lbist")
    for test in c.some(tests, c.rng.randint(1, 2)):
        c.fault(test, 1, pins=[], words=[word])
    if c.rng.random() < 0.6:
        c.fault(c.one("scan", "stuck", v="vnom"), c.rng.randint(1, 6))
    c.show(*tests, *c.some(c.find("mbist", "march"), 2))


@family("scan")
def reset_of_cells(c):
    """Cells are cleared as they capture: each set fails at the patterns that move the reset, and at no other."""
    cycle, count = c.rng.randint(500, 30000), c.rng.randint(20, 300)
    for test in c.some(c.find("scan", "stuck", v=c.rng.choice(("vmin", "vnom", "vmax"))), 3):
        c.fault(test, count + c.rng.randint(0, 2), cycle=cycle)
    c.show(*c.some(c.find("scan", "tdf"), 2), *c.some(c.find("scan", "chain"), 1), *c.some(c.find("func", "reset"), 1))


@family("scan")
def boundary_cell(c):
    """One cell of the boundary ring: its pin alone, though the pin itself conducts, drives and works."""
    pin = c.rng.choice(c.product.pins[::3])
    c.fault(c.find("scan", "bsr")[0], c.rng.randint(1, 3), pins=[pin])
    if c.rng.random() < 0.3:
        c.fault(c.rng.choice(c.find("scan", "wrap")), c.rng.randint(1, 2), pins=[pin])
    c.keep(c.find("scan", "jtag")[0])
    c.show(neg(c, pin), *c.find("level", "voh", pin=pin), *c.find("level", "vol", pin=pin), c.one("func", "unit"))


@family("scan")
def instruction_decode(c):
    """The identity is right, yet no other instruction of the port takes effect: all behind it fails at once."""
    c.keep(c.find("scan", "jtag")[0])
    for test in c.find("scan", "bsr") + c.some(c.find("scan", "wrap"), c.rng.randint(1, 2)):
        c.fault(test, c.rng.randint(200, 2000), cycle=c.rng.randint(20, 140))
    for test in c.some(c.find("scan", "lbist"), c.rng.randint(0, 3)):
        c.fault(test, 1, pins=[], words=[c.word(0, want=c.rng.randrange(1, 0x10000), flip=c.rng.randrange(1, 0x10000))])
    c.show(*c.some(c.find("scan", "chain"), 2), *c.some(c.find("func", "boot"), 1))


@family("scan")
def self_test_idle(c):
    """The self-test of logic never runs: every signature is still its seed; patterns from outside find nothing."""
    seed, cycle = c.rng.choice((0x0000, 0xFFFF, 0x0001)), c.rng.randint(900, 90000)
    for test in c.find("scan", "lbist"):
        want = c.rng.randrange(2, 0xFFFF)
        c.fault(test, 1, cycle=cycle, pins=[], words=[c.word(0, want=want, flip=want ^ seed)])
    c.show(*c.some(c.find("scan", "stuck"), 2), *c.some(c.find("scan", "tdf", speed="fast"), 1),
           *c.some(c.find("mbist", "march"), 1))


@family("scan")
def launch_pulse(c):
    """One pulse comes where two should: sets of transitions fail by thousands, slow or fast; stuck sets pass."""
    cycle = c.rng.randint(200, 2000)
    for test in c.find("scan", "tdf"):
        if c.rng.random() < 0.8:
            c.fault(test, c.rng.randint(2000, 9000), cycle=cycle + c.rng.randint(0, 9))
    if not c.kept:
        c.fault(c.find("scan", "tdf", speed="slow")[0], c.rng.randint(2000, 9000), cycle=cycle)
    c.show(*c.some(c.find("scan", "stuck"), 2), c.find("scan", "chain")[0], *c.find("ana", "lock", pll=0),
           *c.some(c.find("time", "fmax"), 1))


@family("scan")
def domain_off(c):
    """A switched domain stays off in test mode: its chain and its sets are dead from the start, in use it works."""
    i = c.rng.randrange(2)
    chain = c.find("scan", "chain", chain=i)[0]
    for test in [chain] + c.find("scan", "chainv", chain=i)[:c.rng.randint(0, 2)]:
        c.fault(test, c.rng.randint(2000, 4000), cycle=c.rng.randint(1, 4), pins=[chain.pin])
    sets = c.find("scan", "stuck", block=i) + c.find("scan", "tdf", block=i)
    for test in c.some(sets, c.rng.randint(2, 3)) + c.some(c.find("scan", "wrap"), c.rng.randint(0, 1)):
        c.fault(test, c.rng.randint(2000, 9000), cycle=c.rng.randint(1, 90))
    c.show(*c.some(c.find("func", "unit"), 2), *c.find("scan", "stuck", block=2)[:1])


@family("scan")
def clock_gate_open(c):
    """A clock gate never closes: sets of one block fail where cells should hold, and the current runs on."""
    block, cycle = c.rng.randrange(3), c.rng.randint(300, 9000)
    for test in c.some(c.find("scan", "stuck", block=block), c.rng.randint(2, 3)):
        c.fault(test, c.rng.randint(30, 250), cycle=cycle + c.rng.randint(0, 40))
    for test in c.find("scan", "lbist", block=block)[:c.rng.randint(0, 1)]:
        c.fault(test, 1, pins=[], words=[c.word(0, flip=c.rng.randrange(1, 0xFFFF))])
    if c.rng.random() < 0.6:
        c.over(c.one("idd", c.rng.choice(("active", "per"))), c.rng.uniform(0.02, 0.2))
    c.show(*c.some(c.find("scan", "chain"), 2), *c.some(c.find("func", "unit"), 2))


@family("scan")
def cell_in_reach(c):
    """A cell near the input of a chain cannot be loaded: late first fail in the chain, a few in every set."""
    chain = c.one("scan", "chain")
    count = c.rng.randint(2, 30)
    c.fault(chain, count, cycle=c.rng.randint(900, 9000), pins=[chain.pin])
    for test in c.find("scan", "chainv", chain=chain.cond["chain"]):
        c.fault(test, count, cycle=c.rng.randint(900, 9000), pins=[chain.pin])
    for test in c.some(c.find("scan", "stuck", v="vnom") + c.find("scan", "tdf", speed="slow"), 2):
        c.fault(test, count * c.rng.randint(3, 20), pins=[chain.pin])
    c.show(*c.some(c.find("scan", "chain"), 2), *c.find("scan", "shift")[:1])
