"""A case: one product on one tester, the dies that were measured, and the fault that a family puts into one.

A family (contact.py and its neighbours) calls put, over, times and fault on the failing die and `show` on passing
tests that the pattern needs. Whether a parametric result passes always follows from its value and its limits.
"""
import copy

from product import Product


class Fault:
    """What a failing pattern run prints: count, first failing cycle, pins, and words read back (address, want, got)."""

    def __init__(self, count, cycle, pins, words):
        self.count, self.cycle, self.pins, self.words = count, cycle, pins, words


class Die:
    def __init__(self, site, x, y):
        self.site, self.x, self.y = site, x, y
        self.value, self.fault = {}, {}

    def passed(self, test):
        return test not in self.fault if test.pattern else test.passes(self.value[test])


def neg(c, pin):
    """The lower diode of a pin."""
    return c.find("cont", "neg", pin=pin)[0]


def leaks(c, pin):
    """Both input currents of a pin."""
    return c.find("leak", "ih", pin=pin) + c.find("leak", "il", pin=pin)


class Case:
    def __init__(self, rng, parts=1, sites=1):
        self.rng, self.product = rng, Product(rng)
        self.kept, self.notes, self.retests = [], [], []
        number = rng.randint(1, 900)
        self.first_part = number
        self.parts = []
        for _ in range(parts):
            x, y = rng.randint(-40, 60), rng.randint(-40, 60)
            self.parts.append([self._healthy(s, x + s, y) for s in range(sites)])
        self.die = rng.choice(self.parts[-1])

    def _healthy(self, site, x, y):
        die = Die(site, x, y)
        for test in self.product.tests:
            if not test.pattern:
                value = test.healthy(self.rng)
                die.value[test] = round(value) if test.unit == "" else value
        return die

    @property
    def dies(self):
        return [die for part in self.parts for die in part]

    # ---- for the families -------------------------------------------------------------------------------------

    def find(self, kind, what=None, **cond):
        return [t for t in self.product.tests if t.kind == kind and (what is None or t.what == what) and
                all(t.pin == v if k == "pin" else t.cond.get(k) == v for k, v in cond.items())]

    def some(self, tests, count):
        """`count` of the tests, in flow order."""
        chosen = set(map(id, self.rng.sample(tests, min(count, len(tests)))))
        return [t for t in tests if id(t) in chosen]

    def one(self, kind, what=None, **cond):
        return self.rng.choice(self.find(kind, what, **cond))

    def keep(self, test):
        if test not in self.kept:
            self.kept.append(test)

    def show(self, *tests):
        """Passing tests that belong to the pattern; a log samples its passing tests, so half of them stay out."""
        for test in tests:
            if self.rng.random() < 0.5:
                self.keep(test)

    def put(self, test, value, die=None):
        (die or self.die).value[test] = value
        self.keep(test)

    def times(self, test, factor, die=None):
        self.put(test, (die or self.die).value[test] * factor, die)

    def over(self, test, share, die=None):
        """Beyond the upper limit by a share of the window (below the lower one when negative)."""
        low, high = test.low, test.high
        window = (high - low) if None not in (low, high) else abs(high if low is None else low) * 0.5
        edge = high if share > 0 else low
        if edge is None:
            edge, share = (low, -abs(share)) if high is None else (high, abs(share))
        self.put(test, edge + window * share, die)

    def fault(self, test, count=None, cycle=None, pins=None, words=None, die=None):
        r = self.rng
        count = r.randint(1, 40) if count is None else count
        cycle = r.randint(200, 90000) if cycle is None else cycle
        pins = r.sample(self.product.pins, r.randint(1, 2)) if pins is None else pins
        (die or self.die).fault[test] = Fault(count, cycle, pins, words or [])
        self.keep(test)

    def word(self, address=None, want=None, flip=None):
        """One word read back wrong: (address, want, got)."""
        r = self.rng
        address = r.randrange(0, 0x2000) if address is None else address
        want = r.choice((0x0000, 0xFFFF, 0x5555, 0xAAAA, 0x00FF, r.randrange(0x10000))) if want is None else want
        return address, want, want ^ (flip if flip is not None else 1 << r.randrange(16))

    def follow(self, *kinds, count=3, die=None, cycle=None, pins=None):
        """Patterns that fail because of the fault and say little about it."""
        tests = [t for k in kinds for t in self.find(k) if t.pattern and t not in self.kept]
        for test in self.some(tests, count):
            self.fault(test, cycle=cycle, pins=pins, die=die, count=self.rng.randint(5, 4000))

    # ---- after the family -------------------------------------------------------------------------------------

    def spread(self):
        """A process excursion: another site has the same fault, with its own values."""
        others = [d for d in self.parts[-1] if d is not self.die]
        if not others:
            return
        other = self.rng.choice(others)
        for test in self.kept:
            if test.pattern:
                if test in self.die.fault:
                    other.fault[test] = copy.copy(self.die.fault[test])
                    other.fault[test].cycle += self.rng.randint(-150, 900)
                    other.fault[test].count = max(1, other.fault[test].count + self.rng.randint(-3, 9))
            elif not self.die.passed(test) and test.unit:
                other.value[test] = self.die.value[test] * self.rng.uniform(0.95, 1.1)

    def failing(self):
        return [t for t in self.kept if any(not d.passed(t) for d in self.dies)]
