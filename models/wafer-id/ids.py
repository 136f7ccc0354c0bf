"""Wafer IDs of the layouts in use, and which set an ID belongs to.

Every ID ends with its two check characters. The first three characters, with which its lot number begins, decide the
set: no ID and no lot stands in two sets.
"""
import zlib

from semi_check import CHARACTERS, check_characters

DIGITS, LETTERS = CHARACTERS[2:12], CHARACTERS[12:]
ALIKE = "0OQD1I2Z5S8B6G"
SETS = {"train": 74, "validation": 4, "clean": 4, "medium": 4, "hard": 5, "unseen": 3, "unseen-shapes": 3, "no-mark": 3}


def set_of(mark):
    place = zlib.crc32(mark[:3].encode()) % 100
    for name, share in SETS.items():
        if place < share:
            return name
        place -= share
    raise AssertionError("the shares of the sets sum to 100")


def pick(rng, characters, count):
    return "".join(characters[i] for i in rng.integers(0, len(characters), count))


def lot(rng, length, name):
    """A lot number whose beginning belongs to the set `name`."""
    kind = rng.random()
    while True:
        if kind < 0.45:
            text = pick(rng, DIGITS + LETTERS, length)
        elif kind < 0.6:
            text = pick(rng, ALIKE, length)
        else:
            letters = int(rng.integers(1, 4))
            text = (pick(rng, LETTERS, letters) + pick(rng, DIGITS, length))[:length]
        if set_of(text) == name:
            return text


def m12(rng, name):
    """12 characters: lot and wafer number, two check characters. Q1P888-13-B4 is public; the others are as fabs write
    them."""
    wafer = f"{rng.integers(1, 26):02d}"
    return (lambda: lot(rng, 6, name) + "-" + wafer + "-", lambda: lot(rng, 7, name) + "-" + wafer,
            lambda: lot(rng, 10, name), lambda: lot(rng, 5, name) + ".1-" + wafer)[rng.integers(4)]()


def m13(rng, name):
    """18 characters: 8 of the wafer, 2 of its maker, resistivity, dopant, orientation, two check characters. That these
    fields are there is public; their order and widths were not at hand and are assumed."""
    ohm = (f"{rng.uniform(1, 99.9):04.1f}", f"{rng.uniform(1, 9.99):4.2f}", f"{rng.uniform(0.001, 0.999):.3f}"[1:],
           "----")[rng.integers(4)]
    head = lot(rng, 8, name) if rng.random() < 0.6 else lot(rng, 5, name) + f"-{rng.integers(1, 26):02d}"
    return head + pick(rng, LETTERS, 2) + ohm + pick(rng, "BPSA-", 1) + pick(rng, "012345", 1)


def free(rng, name):
    """7 to 18 characters, most of them as AM1664-24A2 is."""
    wafer = f"{rng.integers(1, 26):02d}"
    if rng.random() < 0.5:
        return lot(rng, 6, name) + "-" + wafer
    length = int(rng.integers(3, 13))
    text = lot(rng, length, name)
    if length > 6 and rng.random() < 0.4:
        at = int(rng.integers(4, length - 1))
        text = text[:at] + "-.."[rng.integers(3)] + text[at + 1:]
    return text + ("-" if rng.random() < 0.6 else "") + wafer


LAYOUTS = {"m12": m12, "m13": m13, "free": free}


def draw_id(rng, name):
    """(layout, ID) of the set `name`."""
    layout = ("m12", "m12", "m13", "m13", "free", "free", "free")[rng.integers(7)]
    text = LAYOUTS[layout](rng, name)
    return layout, text + check_characters(text)
