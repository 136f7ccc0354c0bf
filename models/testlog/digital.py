"""Faults told by which patterns fail where: timing, scan, memory, function; and faults of the tester itself."""
from registry import family

# ---- timing -------------------------------------------------------------------------------------------------


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


@family("timing")
def too_slow(c):
    """The top frequency falls short at every supply, least at the highest."""
    for test, k in zip(c.find("time", "fmax"), (0.72, 0.84, 0.97)):
        c.put(test, test.low * k * c.rng.uniform(0.97, 1.02))
    for fast in c.some(c.find("func", "speed", speed="fast"), c.rng.randint(0, 3)):
        c.fault(fast)
        c.show(*c.find("func", "speed", speed="slow", ip=fast.cond["ip"]))


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


# ---- scan -----------------------------------------------------------------------------------------------------

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


# ---- memory BIST ------------------------------------------------------------------------------------------------

def mem_words(c, addresses, flip=None):
    return [c.word(a, flip=flip) for a in addresses]


@family("memory_bist")
def single_cell(c):
    """One address and one bit in every algorithm of one memory."""
    mem, address, flip = c.rng.choice(c.product.mems), c.rng.randrange(0x1000), 1 << c.rng.randrange(16)
    for what in ("march", "ckbd", "uniq"):
        for test in c.find("mbist", what, mem=mem)[:c.rng.randint(1, 2)]:
            c.fault(test, c.rng.randint(1, 4), pins=[], words=[c.word(address, flip=flip)])
    c.show(*c.some(c.find("mbist", "march"), 2))


@family("memory_bist")
def row(c):
    """Consecutive addresses of one row."""
    mem, base = c.rng.choice(c.product.mems), c.rng.randrange(0x40) * 0x40
    for what in ("march", "ckbd"):
        c.fault(c.find("mbist", what, mem=mem)[0], c.rng.randint(30, 64), pins=[],
                words=mem_words(c, range(base, base + 3)))
    if c.rng.random() < 0.5:
        c.put(c.find("mbist", "rep", mem=mem)[0], c.rng.choice((1, 2)))
    c.follow("func", count=c.rng.randint(0, 1))


@family("memory_bist")
def column(c):
    """The same bit at a fixed stride of addresses."""
    mem, flip, base = c.rng.choice(c.product.mems), 1 << c.rng.randrange(16), c.rng.randrange(0x40)
    for what in ("march", "ckbd", "ret"):
        c.fault(c.find("mbist", what, mem=mem)[0], c.rng.randint(60, 256), pins=[],
                words=mem_words(c, [base + k * 0x40 for k in range(3)], flip))
    c.show(*c.some(c.find("mbist", "march"), 1))


@family("memory_bist")
def retention(c):
    """Fails only after the pause, more words in a second memory; everything without a pause passes."""
    for mem in c.rng.sample(c.product.mems, c.rng.randint(1, 2)):
        c.fault(c.find("mbist", "ret", mem=mem)[0], c.rng.randint(1, 90), pins=[],
                words=[c.word(want=0xFFFF), c.word(want=0)])
        c.show(c.find("mbist", "march", mem=mem)[0], c.find("mbist", "ckbd", mem=mem)[0])


@family("memory_bist")
def repair_exhausted(c):
    """More spare rows are needed than there are."""
    mem = c.rng.choice(c.product.mems)
    c.put(c.find("mbist", "rep", mem=mem)[0], c.rng.randint(3, 19))
    c.show(*c.find("mbist", "rep"))
    if c.rng.random() < 0.6:
        c.fault(c.find("mbist", "march", mem=mem)[0], c.rng.randint(60, 2000), pins=[], words=[c.word(), c.word()])


@family("memory_bist")
def decoder(c):
    """The address test fails in pairs that differ in one address bit; data backgrounds pass."""
    mem, a = c.rng.choice(c.product.mems), c.rng.randrange(0x800)
    c.fault(c.find("mbist", "uniq", mem=mem)[0], c.rng.choice((2, 4, 512)), pins=[], words=mem_words(c, (a, a ^ 0x100)))
    c.show(c.find("mbist", "ckbd", mem=mem)[0])
    if c.rng.random() < 0.6:
        c.fault(c.find("mbist", "march", mem=mem)[0], c.rng.choice((2, 4, 512)), pins=[],
                words=mem_words(c, (a, a ^ 0x100)))
    c.follow("func", count=c.rng.randint(0, 1))


@family("memory_bist")
def weak_cells(c):
    """Scattered bits of several memories at the lowest supply, while logic there is at speed."""
    for mem in c.rng.sample(c.product.mems, 2):
        c.fault(c.find("mbist", "march", mem=mem, v="vmin")[0], c.rng.randint(1, 7), pins=[],
                words=[c.word(), c.word()])
        c.show(*c.find("mbist", "march", mem=mem, v="vnom"))
    c.show(*c.some(c.find("func", "unit", v="vmin"), 2), c.find("time", "fmax", v="vmin")[0])


@family("memory_bist")
def non_volatile(c):
    """Read-only contents with a wrong check word, or erase and margin reads that fail."""
    if c.rng.random() < 0.5:
        c.fault(c.one("mbist", "rom"), 1, pins=[], words=[c.word(0, want=c.rng.randrange(0x10000), flip=0x5A31)])
    else:
        for test in c.some(c.find("mbist", "flash"), 2):
            c.fault(test, c.rng.randint(1, 900), pins=[], words=[c.word(want=0xFFFF), c.word(want=0xFFFF)])
    c.show(*c.find("mbist", "rom"), *c.some(c.find("mbist", "march"), 2))


# ---- functional -------------------------------------------------------------------------------------------------

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
    test = c.one("level")
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


# ---- tester or handler --------------------------------------------------------------------------------------------

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
