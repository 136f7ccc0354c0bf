"""Writes lot.stdf beside itself: an STDF V4 file of two wafers, and one whose test did not end."""
import os
import struct

CENTRE, RADIUS = 13, 13


def record(kind, subkind, body):
    return struct.pack("<HBB", len(body), kind, subkind) + body


def text(word):
    return bytes([len(word)]) + word.encode("ascii")


def die(x, y, failed):
    part = struct.pack("<BBBHHHhh", 1, 0, 8 if failed else 0, 1, 7 if failed else 1, 7 if failed else 1, x, y)
    return record(5, 10, bytes([1, 0])) + record(5, 20, part)


def wafer(name, fails, ends=True):
    out = record(2, 10, struct.pack("<BBI", 1, 255, 0) + text(name))
    for y in range(2 * CENTRE):
        for x in range(2 * CENTRE):
            from_centre = ((x - CENTRE + 0.5) ** 2 + (y - CENTRE + 0.5) ** 2) ** 0.5
            if from_centre <= RADIUS:
                out += die(x, y, fails(x, y, from_centre))
    if ends:
        out += record(2, 20, struct.pack("<BBI", 1, 255, 0) + struct.pack("<5I", *[0xFFFFFFFF] * 5) + text(name))
    return out


lot = record(0, 10, bytes([2, 4]))
lot += record(1, 10, struct.pack("<IIBBBBHB", 0, 0, 1, 80, 78, 32, 65535, 32) + text("LOT7"))
lot += wafer("W01", lambda x, y, r: r > RADIUS - 2)
lot += wafer("W02", lambda x, y, r: x + y in (20, 21) and 6 <= x <= 16)
lot += wafer("W03", lambda x, y, r: False, ends=False)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lot.stdf"), "wb") as file:
    file.write(lot)
