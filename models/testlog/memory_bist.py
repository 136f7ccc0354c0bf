"""Faults of memories, told by which addresses and bits which algorithm reads back wrong.

Each function is one family: a mechanism with its own tests, pattern of values, passing neighbours and followers.
"""
from registry import family


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
def bit_slice(c):
    """One data bit of a memory wrong at every address: its sense amplifier or its data line."""
    mem, flip = c.rng.choice(c.product.mems), 1 << c.rng.randrange(16)
    depth = c.rng.choice((256, 512, 1024, 2048, 4096))
    for what in c.rng.sample(("march", "ckbd", "uniq", "ret", "dist"), 3):
        c.fault(c.find("mbist", what, mem=mem)[0], depth, pins=[], words=mem_words(c, (0, 1, 2), flip))
    c.show(*c.some(c.find("mbist", "march"), 2))


@family("memory_bist")
def dead_memory(c):
    """One memory returns zeros or ones from its first address on in every algorithm; the others are good."""
    mem, stuck = c.rng.choice(c.product.mems), c.rng.choice((0, 0xFFFF))
    for what in c.rng.sample(("march", "ckbd", "uniq", "speed", "dist", "port"), 3):
        want = c.rng.choice((0x5555, 0xAAAA, 0xFFFF ^ stuck))
        c.fault(c.find("mbist", what, mem=mem)[0], c.rng.randint(2000, 65535), cycle=c.rng.randint(5, 90), pins=[],
                words=[c.word(k, want=want, flip=want ^ stuck) for k in range(2)])
    c.show(*c.some(c.find("mbist", "march", v="vnom"), 2))
    c.follow("func", count=c.rng.randint(0, 1))


@family("memory_bist")
def coupling(c):
    """Writing a cell turns its neighbour: marches and disturbs fail at adjacent addresses, backgrounds pass."""
    mem, a, flip = c.rng.choice(c.product.mems), c.rng.randrange(0x1000), 1 << c.rng.randrange(16)
    for test in c.find("mbist", "march", mem=mem) + c.find("mbist", "dist", mem=mem)[:c.rng.randint(0, 1)]:
        c.fault(test, c.rng.choice((2, 2, 4)), pins=[], words=mem_words(c, (a, a + 1), flip))
    c.keep(c.find("mbist", "ckbd", mem=mem)[0])


@family("memory_bist")
def byte_lane(c):
    """One byte is never written: the low or the high half of each word reads old data."""
    mem, flip = c.rng.choice(c.product.mems), c.rng.choice((0x00FF, 0xFF00))
    for what in c.rng.sample(("march", "ckbd", "uniq", "port"), 2):
        c.fault(c.find("mbist", what, mem=mem)[0], c.rng.randint(100, 4096), pins=[],
                words=[c.word(k, want=w, flip=flip) for k, w in ((0, 0x5555), (1, 0xAAAA))])
    c.follow("func", count=c.rng.randint(0, 1))
    c.show(*c.some(c.find("mbist", "march"), 1))


@family("memory_bist")
def second_port(c):
    """Right through the first port, wrong through the second."""
    mem = c.rng.choice(c.product.mems)
    c.fault(c.find("mbist", "port", mem=mem)[0], c.rng.randint(1, 900), pins=[], words=[c.word(), c.word()])
    c.show(*c.find("mbist", "march", mem=mem), *c.find("mbist", "ckbd", mem=mem))
    if c.rng.random() < 0.3:
        c.follow("func", count=1)


@family("memory_bist")
def read_disturb(c):
    """A cell that loses its datum when read over and over; one read after one write is right."""
    for mem in c.rng.sample(c.product.mems, c.rng.randint(1, 2)):
        c.fault(c.find("mbist", "dist", mem=mem)[0], c.rng.randint(1, 12), pins=[], words=[c.word()])
        c.show(*c.find("mbist", "march", mem=mem), *c.find("mbist", "ret", mem=mem))


@family("memory_bist")
def controller_hangs(c):
    """All memories behind one controller time out at the same cycle without a word read."""
    cycle = c.rng.randint(5000, 90000)
    for mem in c.product.mems[:c.rng.randint(2, 3)]:
        for what in c.rng.sample(("march", "ckbd", "uniq"), c.rng.randint(1, 2)):
            c.fault(c.find("mbist", what, mem=mem)[0], 1, cycle=cycle, pins=c.product.pins[:1])
    c.show(*c.find("mbist", "march", mem=c.product.mems[-1]), *c.some(c.find("func", "unit"), 1))


@family("memory_bist")
def ecc_overflow(c):
    """More words corrected than allowed in one memory; with correction on, its contents are right."""
    mem = c.rng.choice(c.product.mems)
    c.put(c.find("mbist", "ecc", mem=mem)[0], c.rng.randint(5, 200))
    c.show(*c.find("mbist", "ecc"), *c.find("mbist", "march", mem=mem))
    if c.rng.random() < 0.4:
        c.fault(c.find("mbist", "ret", mem=mem)[0], c.rng.randint(1, 20), pins=[], words=[c.word()])


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


@family("memory_bist")
def retention_hot(c):
    """Cells hold at room heat, the weakest lose their datum at 85 degrees and many more at 125."""
    mem, flip = c.rng.choice(c.product.mems[:2]), 1 << c.rng.randrange(16)
    cold, warm, hot = c.find("mbist", "hotret", mem=mem)
    few, weakest = c.rng.randint(1, 9), c.word(flip=flip)
    c.keep(cold)
    if c.rng.random() < 0.7:
        c.fault(warm, few, pins=[], words=[weakest])
    c.fault(hot, few * c.rng.randint(8, 60), pins=[], words=[weakest, c.word(), c.word()])
    c.show(*c.find("mbist", "march", mem=mem), *c.find("leak", "hot", t="125c")[:1], *c.find("idd", "hot", t="125c"))


@family("memory_bist")
def sense_offset(c):
    """Sense amplifiers of one bank lean to zero: ones are lost at many addresses of its half, zeros never."""
    mem, base = c.rng.choice(c.product.mems), c.rng.choice((0, 0x400, 0x800))
    tests = c.find("mbist", "march", mem=mem) + c.find("mbist", "ckbd", mem=mem) + c.find("mbist", "speed", mem=mem)
    for test in c.some(tests, 3):
        bits = [(w, 1 << c.rng.choice([b for b in range(16) if w >> b & 1])) for w in (0xFFFF, 0x5555, 0xAAAA)]
        c.fault(test, c.rng.randint(90, 1500), pins=[],
                words=[c.word(base + c.rng.randrange(0x400), want=w, flip=f) for w, f in bits])
    c.show(*c.some(c.find("mbist", "march"), 2), c.find("mbist", "ret", mem=mem)[0])


@family("memory_bist")
def repair_misloaded(c):
    """The record of repairs is loaded shifted: memories that were repaired all fail, at one row each."""
    mems, count = c.rng.sample(c.product.mems, c.rng.randint(2, 3)), c.rng.choice((16, 32, 64))
    for mem in mems:
        c.put(c.find("mbist", "rep", mem=mem)[0], c.rng.randint(1, 2))
        base = c.rng.randrange(0x40) * 0x40
        c.fault(c.rng.choice(c.find("mbist", "march", mem=mem)), count, pins=[], words=mem_words(c, (base, base + 1)))
    if c.rng.random() < 0.4:
        c.fault(c.find("ref", "otp")[0], c.rng.randint(1, 4), pins=[])
    c.show(*[c.find("mbist", "march", mem=m)[0] for m in c.product.mems if m not in mems])


@family("memory_bist")
def weak_word_line(c):
    """A word line that reaches the far end late: the upper bits of one row, more of them at the low supply."""
    mem, base, count = c.rng.choice(c.product.mems), c.rng.randrange(0x40) * 0x40, c.rng.randint(4, 20)
    low, usual = c.find("mbist", "march", mem=mem)
    c.fault(low, count * c.rng.randint(2, 3), pins=[],
            words=[c.word(base + k, flip=0x8000 | 1 << c.rng.randrange(12, 15)) for k in range(3)])
    for test in (usual, c.find("mbist", "ckbd", mem=mem)[0], c.find("mbist", "dist", mem=mem)[0]):
        if c.rng.random() < 0.6:
            c.fault(test, count, pins=[], words=[c.word(base + c.rng.randrange(9), flip=0x8000)])
    c.show(*c.find("mbist", "speed", mem=mem, speed="slow"), *c.some(c.find("mbist", "march", v="vmin"), 2))


@family("memory_bist")
def precharge(c):
    """A bit line keeps the last read: alternating backgrounds fail at every other word, solid ones pass."""
    mem, flip, base = c.rng.choice(c.product.mems), 1 << c.rng.randrange(16), c.rng.randrange(0x400) * 2
    want = 0x5555 if flip & 0x5555 else 0xAAAA
    for test in c.find("mbist", "ckbd", mem=mem) + c.some(c.find("mbist", "speed", mem=mem), c.rng.randint(0, 2)):
        c.fault(test, c.rng.choice((32, 64, 128)), pins=[],
                words=[c.word(base + 2 * k, want=want, flip=flip) for k in range(3)])
    for test in c.find("mbist", "march", mem=mem):
        c.keep(test)
    c.show(c.find("mbist", "uniq", mem=mem)[0], c.find("mbist", "ret", mem=mem)[0])


@family("memory_bist")
def charge_loss(c):
    """Programmed cells have lost charge: the margin read of zeros finds ones, erase and program work."""
    erase, program, zeros, ones = c.find("mbist", "flash")
    base = c.rng.randrange(0x1000)
    c.fault(zeros, c.rng.randint(1, 60), pins=[],
            words=[c.word(base + c.rng.randrange(0x100), want=w) for w in (0x0000, 0x0000)])
    if c.rng.random() < 0.4:
        c.fault(c.one("mbist", "rom"), 1, pins=[], words=[c.word(0, want=c.rng.randrange(0x10000))])
    c.keep(ones)
    c.show(erase, program, c.find("ref", "otp")[0], *c.some(c.find("mbist", "ret"), 1))


@family("memory_bist")
def weak_pump(c):
    """The pump of the non-volatile array is weak: nothing erases or programs, what was written reads right."""
    erase, program, zeros, ones = c.find("mbist", "flash")
    cycle, base = c.rng.randint(3000, 90000), c.rng.randrange(0x10) * 0x100
    for test, want in ((erase, 0xFFFF), (program, 0x0000)):
        c.fault(test, c.rng.randint(2000, 65535), cycle=cycle, pins=[],
                words=[c.word(base + k, want=want, flip=c.rng.choice((0xFFFF, 0xFF0F, 0xF7FF))) for k in range(2)])
    c.show(*c.find("mbist", "rom"), zeros, ones, *c.find("ref", "noload")[:1])


@family("memory_bist")
def compare_stuck(c):
    """The comparator shared by all memories sees one bit wrong: the same in every memory, programs run from them."""
    flip = 1 << c.rng.randrange(16)
    for mem in c.product.mems:
        for what in c.rng.sample(("march", "ckbd", "uniq", "dist"), c.rng.randint(1, 2)):
            c.fault(c.find("mbist", what, mem=mem)[0], c.rng.choice((512, 1024, 2048)), cycle=c.rng.randint(4, 40),
                    pins=[], words=mem_words(c, (0, 1), flip))
    c.show(*c.find("func", "prog"), c.find("func", "boot")[0], c.one("mbist", "ecc"))


@family("memory_bist")
def open_load(c):
    """One cell without its pull-up holds a one for a moment only: lost after a pause or many reads, never a zero."""
    mem, address, flip = c.rng.choice(c.product.mems), c.rng.randrange(0x1000), 1 << c.rng.randrange(16)
    tests = [c.find("mbist", "ret", mem=mem)[0], c.find("mbist", "dist", mem=mem)[0]]
    for test in tests + c.find("mbist", "hotret", mem=mem):
        if c.rng.random() < 0.8 or test is tests[0]:
            c.fault(test, 1, pins=[], words=[c.word(address, want=0xFFFF, flip=flip)])
    c.keep(c.find("mbist", "march", mem=mem)[1])
    c.show(c.find("mbist", "ckbd", mem=mem)[0], c.find("mbist", "speed", mem=mem)[0])


@family("memory_bist")
def particle(c):
    """A spot on the array: adjacent bits in adjacent rows, too many for the spares, one current a little high."""
    mem, bit = c.rng.choice(c.product.mems), c.rng.randrange(14)
    base = c.rng.randrange(0x38) * 0x40 + c.rng.randrange(0x38)
    for what in c.rng.sample(("march", "ckbd", "uniq", "ret", "port"), 3):
        c.fault(c.find("mbist", what, mem=mem)[0], c.rng.randint(6, 25), pins=[],
                words=[c.word(base + 0x40 * k + c.rng.randrange(2), flip=c.rng.choice((1, 3, 7)) << bit)
                       for k in range(3)])
    if c.rng.random() < 0.5:
        c.put(c.find("mbist", "rep", mem=mem)[0], c.rng.randint(3, 6))
    if c.rng.random() < 0.4:
        c.over(c.one("idd", "stby"), c.rng.uniform(0.02, 0.6))
