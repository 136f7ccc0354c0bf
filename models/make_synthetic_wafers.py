"""Wafer maps whose defect is known die by die, to measure where explanations point.

    python3 models/make_synthetic_wafers.py OUT [--seed N] [--count N]

OUT receives synthetic.jsonl with {"image", "label", "mask"} and, in grey as make_wm811k.py writes maps, die by
pixel, image/<class>_<n>.png (0 no die, 127 pass, 255 fail) and mask/<class>_<n>.png (255: a die that the defect
made fail). Sizes, background rates and the extents of defects follow WM-811K's maps by eye: round wafers of 25 to
65 dies across, 1 to 18 % of the dies failing anywhere, and one defect of Center, Donut, Edge-Loc, Edge-Ring, Loc or
Scratch. Near-full and Random have no place, none has no defect. These maps are for asking where, not how well: a
score on them says little about real wafers. Then

    build/attnd-eval --model models/wafer-vit --data OUT/synthetic.jsonl --explain
"""
import argparse
import json
import math
import pathlib
import random
import struct
import zlib

OFF, PASS, FAIL = 0, 127, 255
SIZES = ((27, 25), (25, 27), (34, 30), (26, 29), (37, 39), (29, 33), (41, 44), (44, 42), (33, 41), (31, 35), (37, 33),
         (52, 59), (64, 71))


def png(rows):
    """An 8-bit grey PNG of rows of bytes (PNG specification, sections 5 and 11)."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


# Each defect is a function of a die's place, (0, 0) the centre and 1 the radius of the wafer, that gives the
# probability with which the die fails because of it; `die` is the width of a die in these units.

def blob(draw, x0, y0, radius):
    """An ellipse, dense within and frayed over the outer third."""
    density, stretch, turn = draw.uniform(0.75, 1), draw.uniform(1, 1.5), draw.uniform(0, math.pi)

    def rate(x, y):
        u = (x - x0) * math.cos(turn) + (y - y0) * math.sin(turn)
        v = (y - y0) * math.cos(turn) - (x - x0) * math.sin(turn)
        distance = math.hypot(u / stretch, v * stretch) / radius
        return density * min(1, max(0, 3 * (1 - distance) + 0.3)) if distance < 1.1 else 0
    return rate


def center(draw, die):
    return blob(draw, draw.uniform(-0.1, 0.1), draw.uniform(-0.1, 0.1), max(1.6 * die, draw.uniform(0.12, 0.5)))


def loc(draw, die):
    distance, angle = draw.uniform(0.35, 0.7), draw.uniform(0, 2 * math.pi)
    return blob(draw, distance * math.cos(angle), distance * math.sin(angle), max(1.6 * die, draw.uniform(0.1, 0.25)))


def arc(draw, x0, y0, near, far, extent, density):
    """Dies between two radii around a place, over `extent` of the circle."""
    start = draw.uniform(0, 2 * math.pi)

    def rate(x, y):
        angle = (math.atan2(y - y0, x - x0) - start) % (2 * math.pi)
        return density if near <= math.hypot(x - x0, y - y0) <= far and angle <= extent else 0
    return rate


def donut(draw, die):
    radius, width = draw.uniform(0.35, 0.6), max(2 * die, draw.uniform(0.15, 0.3))
    return arc(draw, draw.uniform(-0.12, 0.12), draw.uniform(-0.12, 0.12), radius - width / 2, radius + width / 2,
               draw.uniform(1.2, 2) * math.pi, draw.uniform(0.45, 0.9))


def edge_loc(draw, die):
    return arc(draw, 0, 0, 1 - max(2 * die, draw.uniform(0.1, 0.3)), 2, draw.uniform(0.15, 0.45) * math.pi,
               draw.uniform(0.75, 1))


def edge_ring(draw, die):
    return arc(draw, 0, 0, 1 - draw.uniform(1, 2) * die, 2, draw.uniform(1.6, 2) * math.pi, draw.uniform(0.8, 1))


def scratch(draw, die):
    """A bent line, one die wide, with few gaps."""
    x, y = draw.uniform(-0.5, 0.5), draw.uniform(-0.5, 0.5)
    heading, bend, length = draw.uniform(0, 2 * math.pi), draw.uniform(-1.2, 1.2), draw.uniform(0.5, 1.2)
    places, steps = [], int(length / (die / 4))
    for i in range(steps):
        x += die / 4 * math.cos(heading + bend * i / steps)
        y += die / 4 * math.sin(heading + bend * i / steps)
        places.append((x, y))
    return lambda u, v: 0.95 if any(math.hypot(u - x, v - y) < 0.5 * die for x, y in places) else 0


DEFECTS = {"Center": center, "Donut": donut, "Edge-Loc": edge_loc, "Edge-Ring": edge_ring, "Loc": loc,
           "Scratch": scratch}


def wafer(draw, label):
    """(map, mask) as rows of bytes."""
    width, height = draw.choice(SIZES)
    background = min(0.18, max(0.01, draw.lognormvariate(math.log(0.07), 0.7)))
    rate = DEFECTS[label](draw, 2 / min(width, height))
    grey, mask = ([[OFF] * width for _ in range(height)] for _ in range(2))
    for j in range(height):
        for i in range(width):
            x, y = (2 * i + 1) / width - 1, (2 * j + 1) / height - 1
            if x * x + y * y > 1:
                continue
            defective = draw.random() < rate(x, y)
            grey[j][i] = FAIL if draw.random() < background or defective else PASS
            mask[j][i] = FAIL if defective else OFF
    return grey, mask


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=300, help="maps in all, the classes in turn")
    options = parser.parse_args()
    draw, lines = random.Random(options.seed), []
    for part in ("image", "mask"):
        (options.out / part).mkdir(parents=True, exist_ok=True)
    while len(lines) < options.count:
        label = list(DEFECTS)[len(lines) % len(DEFECTS)]
        grey, mask = wafer(draw, label)
        if sum(row.count(FAIL) for row in mask) < 3:
            continue  # a defect of a die or two is none
        paths = {part: f"{part}/{label}_{len(lines)}.png" for part in ("image", "mask")}
        (options.out / paths["image"]).write_bytes(png(grey))
        (options.out / paths["mask"]).write_bytes(png(mask))
        lines.append(json.dumps({"image": paths["image"], "label": label, "mask": paths["mask"]}))
    (options.out / "synthetic.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} maps: {options.out / 'synthetic.jsonl'}")


if __name__ == "__main__":
    main()
