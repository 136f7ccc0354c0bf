"""Draws a mark as a camera at a wafer sees it: dots or strokes of a laser on silicon, then light, lens and noise.

    picture, facts = draw_mark(rng, "AM1664-24A2", "hard")

Lengths are millimetres on the wafer until `place` gives pixels; y points down. Sizes are those of SEMI M12 and M13. A
picture is float32 [HEIGHT, WIDTH] of grey levels until `finish` makes bytes of it. What makes a mark hard is bounded
by the mark's own contrast, so that a patient person can still read it.
"""
import functools
import math

import numpy as np
from PIL import Image

import shapes

WIDTH, HEIGHT = 320, 48
CHARACTER_WIDTH, CHARACTER_HEIGHT, PITCH, STROKE = 0.812, 1.624, 1.420, 0.2
# From the centre of a character's outermost dots to that of the ones opposite.
SPAN = np.array([CHARACTER_WIDTH - STROKE, CHARACTER_HEIGHT - STROKE], np.float32)
PIXELS_MIN, PIXELS_MAX, MARGIN = 10.5, 21.0, 3.0  # pixels a millimetre: a dot of 1.5 pixels is the smallest

# style: the matrices that it is drawn on; (0, 0): without gaps. Radius: millimetres, from and to.
STYLES = {
    "round": (((5, 9), (5, 9), (5, 7)), (0.058, 0.085)),
    "square": (((5, 9), (5, 9), (5, 7)), (0.05, 0.072)),
    "overlap": (((5, 9), (5, 9), (5, 7)), (0.09, 0.12)),
    "double": (((10, 18),), (0.04, 0.06)),
    "triple": (((15, 27),), (0.03, 0.055)),
    "engraved": (((0, 0),), (0.05, 0.1)),
    "crater": (((5, 9),), (0.07, 0.1)),
}
UNSEEN_STYLES, UNSEEN_FAMILIES = ("crater",), ("cut",)
TRAINED_STYLES = tuple(name for name in STYLES if name not in UNSEEN_STYLES)
TRAINED_FAMILIES = tuple(name for name in shapes.FAMILIES if name not in UNSEEN_FAMILIES)

# From and to. contrast: grey levels between the deepest characters and the ground, in the finished picture; texture,
# noise, scratch, film: as fractions of the faintest character's contrast; blur: pixels; rotation, shear: degrees, both
# ways; perspective: change of scale along the picture, both ways; missing: the probability that a dot is; runs: of some
# dots in a row; faint: the depth at the mark's weaker end; glare: how white the brightest place is made. jitter:
# millimetres. arc, relief, edge, beside: probabilities. uneven: 0 to 1. scratches: the most.
LEVELS = {
    "clean": dict(contrast=(60, 150), texture=(0, 0.12), noise=(0.02, 0.06), scratches=0, scratch=(0, 0), film=(0, 0.1),
                  blur=(0.2, 0.5), rotation=0.8, shear=0, perspective=0.02, missing=(0, 0.003), runs=0, faint=(0.9, 1),
                  uneven=0.1, glare=(0, 0), jitter=0.008, arc=0.1, relief=0.1, edge=0.1, beside=0),
    "medium": dict(contrast=(40, 110), texture=(0.05, 0.3), noise=(0.05, 0.16), scratches=2, scratch=(0.3, 0.8),
                   film=(0, 0.4), blur=(0.3, 0.75), rotation=2, shear=1.5, perspective=0.06, missing=(0, 0.03), runs=1,
                   faint=(0.6, 1), uneven=0.25, glare=(0, 0.4), jitter=0.012, arc=0.25, relief=0.2, edge=0.25,
                   beside=0.2),
    "hard": dict(contrast=(25, 80), texture=(0.1, 0.45), noise=(0.1, 0.3), scratches=4, scratch=(0.5, 1.2),
                 film=(0.1, 0.7), blur=(0.45, 1), rotation=3.5, shear=3, perspective=0.12, missing=(0.01, 0.06), runs=2,
                 faint=(0.4, 0.9), uneven=0.35, glare=(0.1, 0.6), jitter=0.016, arc=0.35, relief=0.25, edge=0.4,
                 beside=0.4),
}

Y, X = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)


# The mark on the wafer.

@functools.lru_cache(None)
def glyph(family, character, matrix):
    """Places of a character's dots in mm, [n, 2]."""
    return np.array(shapes.points(family, character, *matrix), np.float32) * SPAN


def mark_points(rng, text, family, matrix, level):
    """Dots of a text in the order in which a laser makes them: places [n, 2] in mm about the mark's centre, the
    character of each [n]."""
    glyphs = [glyph(family, character, matrix) for character in text]
    places = [dots + (i * PITCH, 0) + rng.normal(0, level["jitter"], 2) for i, dots in enumerate(glyphs)]
    owner = np.repeat(np.arange(len(text)), [len(dots) for dots in glyphs])
    centre = (((len(text) - 1) * PITCH + SPAN[0]) / 2, SPAN[1] / 2)
    return (np.concatenate(places) - centre).astype(np.float32), owner


def depths(rng, places, owner, level, is_engraved):
    """How deep each dot is, 0 (missing) to 1."""
    count, along = len(places), places[:, 0]
    low = rng.uniform(*level["faint"])
    span = float(np.ptp(along)) or 1.0
    ramp = (along - along.min()) / span
    deep = low + (1 - low) * (ramp if rng.random() < 0.5 else 1 - ramp)
    per_character = 1 - level["uneven"] * 0.6 * rng.random(owner[-1] + 1)
    deep = deep * per_character[owner] * (1 - level["uneven"] * 0.6 * rng.random(count))
    if not is_engraved:
        deep[rng.random(count) < rng.uniform(*level["missing"])] = 0
        for _ in range(rng.integers(0, level["runs"] + 1)):
            start = rng.integers(count)
            deep[start:start + rng.integers(2, 4)] = 0
    return deep.astype(np.float32)


def bend(rng, places, level):
    """Arc along the wafer's edge, shear, rotation and perspective, still in millimetres."""
    x, y = places[:, 0], places[:, 1]
    if rng.random() < level["arc"]:
        radius = rng.uniform(60, 150) * (1 if rng.random() < 0.5 else -1)
        x, y = (radius - y) * np.sin(x / radius), radius - (radius - y) * np.cos(x / radius)
    x = x + y * math.tan(math.radians(rng.uniform(-1, 1) * level["shear"]))
    angle = math.radians(rng.uniform(-1, 1) * level["rotation"])
    x, y = x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
    tilt = rng.uniform(-1, 1, 2) * level["perspective"]
    scale = 1 / (1 + tilt[0] * x / 12.5 + tilt[1] * y / 2)
    return np.stack((x * scale, y * scale), 1), angle, scale


def place(rng, places, radius):
    """Pixels: (places [n, 2], pixels a millimetre), the whole mark in the picture."""
    low, high = places.min(0) - radius, places.max(0) + radius
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    largest = float((room / (high - low)).min())
    pixels = min(largest, rng.uniform(PIXELS_MIN, max(PIXELS_MIN, min(PIXELS_MAX, largest))))
    slack = room - (high - low) * pixels
    return (places - low) * pixels + MARGIN + slack * rng.random(2), pixels


def stamp(x, y, radius, weight, style):
    """Coverage [HEIGHT, WIDTH], 0 to 1, of dots at pixels x, y [n] with radii [n] and weights [n]."""
    half = int(math.ceil(float(radius.max()) + 1))
    side = 2 * half + 1
    inside = (x > -half) & (x < WIDTH + half - 1) & (y > -half) & (y < HEIGHT + half - 1) & (weight > 0)
    x, y, radius, weight = x[inside], y[inside], radius[inside, None, None], weight[inside, None, None]
    left, top = np.floor(x + 0.5).astype(np.int32), np.floor(y + 0.5).astype(np.int32)
    steps = np.arange(-half, half + 1, dtype=np.int32)
    dx = np.abs(left[:, None] + steps - x[:, None])[:, None, :].astype(np.float32)
    dy = np.abs(top[:, None] + steps - y[:, None])[:, :, None].astype(np.float32)
    distance = np.maximum(dx, dy) if style == "square" else np.sqrt(dx * dx + dy * dy)
    cover = np.clip(radius - distance + 0.5, 0, 1)
    if style == "crater":
        cover = cover - 0.8 * np.clip(0.62 * radius - distance + 0.5, 0, 1)
    # Dots that overlap cover 1 - (1 - a)(1 - b): logarithms are summed.
    cover = -np.log1p(-0.97 * cover * weight)
    stride, pad = WIDTH + 2 * side, side
    index = ((top + pad)[:, None, None] + steps[:, None]) * stride + (left + pad)[:, None, None] + steps
    total = np.bincount(index.ravel(), cover.ravel(), minlength=stride * (HEIGHT + 2 * side))
    total = total[:stride * (HEIGHT + 2 * side)].reshape(-1, stride)[pad:pad + HEIGHT, pad:pad + WIDTH]
    return (1 - np.exp(-total)).astype(np.float32)


# The ground, each a texture of about unit amplitude.

def enlarge(small):
    return np.asarray(Image.fromarray(small.astype(np.float32)).resize((WIDTH, HEIGHT), Image.BICUBIC))


def cloud(rng):
    cell = rng.integers(7, 48)
    return enlarge(rng.normal(0, 0.6, (HEIGHT // cell + 3, WIDTH // cell + 3)))


def streaks(rng):
    """Marks of grinding: lines, or arcs about a centre far away."""
    table = np.convolve(rng.standard_normal(1024), np.ones(3) / 3, "same")
    if rng.random() < 0.5:
        angle = rng.uniform(0, math.pi)
        along = X * math.cos(angle) + Y * math.sin(angle)
    else:
        x, y = rng.uniform(-200, 520), rng.choice((-1, 1)) * rng.uniform(150, 600)
        along = np.hypot(X - x, Y - y)
    return table[(along * rng.uniform(0.4, 1.2)).astype(np.int32) & 1023].astype(np.float32)


def pattern(rng):
    """Dies or test structures: rectangles that repeat."""
    height, width = rng.integers(8, 40, 2)
    tile = np.zeros((height, width), np.float32)
    for _ in range(rng.integers(1, 5)):
        y, x = rng.integers(0, height), rng.integers(0, width)
        tile[y:y + rng.integers(1, height), x:x + rng.integers(1, width)] = rng.uniform(-0.8, 0.8)
    angle = math.radians(rng.normal(0, 1.5) + (0 if rng.random() < 0.7 else 45))
    u = (X * math.cos(angle) + Y * math.sin(angle) + 4000).astype(np.int32) % width
    v = (Y * math.cos(angle) - X * math.sin(angle) + 4000).astype(np.int32) % height
    return tile[v, u]


def grain(rng):
    return blur(rng.standard_normal((HEIGHT, WIDTH), np.float32) * 1.5, rng.uniform(0.6, 1.2), 0.8)


TEXTURES = (cloud, cloud, streaks, pattern, grain)


def edge(rng, box):
    """The wafer's bevel: what lies beyond a flat arc above or below the mark. 0 to 1."""
    left, top, right, bottom = box
    is_above = top > HEIGHT - bottom
    bow = rng.uniform(-8e-5, 8e-5)
    arc = bow * (X - rng.uniform(0, WIDTH)) ** 2
    if is_above:
        line = top - rng.uniform(2, 6) - arc[:, int(left):int(right) + 1].max()
        return np.clip((line + arc - Y) / rng.uniform(0.7, 3), 0, 1)
    line = bottom + rng.uniform(2, 6) - arc[:, int(left):int(right) + 1].min()
    return np.clip((Y - line - arc) / rng.uniform(0.7, 3), 0, 1)


def scratch(rng):
    """A line, bent a little, 0 to 1."""
    x0, y0, angle = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT), rng.uniform(-0.6, 0.6)
    if rng.random() < 0.3:
        angle = rng.uniform(0, math.pi)
    along = (X - x0) * math.cos(angle) + (Y - y0) * math.sin(angle)
    across = (Y - y0) * math.cos(angle) - (X - x0) * math.sin(angle) + rng.uniform(-1e-3, 1e-3) * along * along
    line = np.clip(rng.uniform(0.2, 0.9) - np.abs(across) + 0.5, 0, 1)
    return line * np.clip(rng.uniform(15, 160) - np.abs(along), 0, 1)


def blur(picture, sigma_x, sigma_y):
    for axis, sigma in ((1, sigma_x), (0, sigma_y)):
        reach = max(1, math.ceil(2.5 * sigma))
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(sigma, 1e-3)) ** 2).astype(np.float32)
        weights /= weights.sum()
        size = picture.shape[axis]
        padded = np.pad(picture, [(reach, reach) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
        picture = sum(w * (padded[:, i:i + size] if axis else padded[i:i + size]) for i, w in enumerate(weights))
    return picture


def beside(rng, box):
    """Another mark beside: dots of a matrix code or of a line of text that the picture cuts, outside of the mark's box
    (left, top, right, bottom)."""
    left, top, right, bottom = box
    pixel = rng.uniform(1.6, 3)
    if max(left, WIDTH - right) > 8 * pixel + 12:
        rows, columns = 8, int(rng.integers(8, 33))
        at = (left - 8 - columns * pixel, 0) if left > WIDTH - right else (right + 8, 0)
        y, x = np.nonzero(rng.random((rows, columns)) < 0.5)
        y0 = rng.uniform(2, max(3, HEIGHT - rows * pixel - 2))
        return stamp(x * pixel + at[0], y * pixel + y0, np.full(len(x), pixel * 0.45), np.ones(len(x)), "round")
    text = "".join(rng.choice(list(shapes.ROUND), 20))
    places = np.concatenate([glyph("round", c, (5, 9)) + (i * PITCH, 0) for i, c in enumerate(text)])
    scale = rng.uniform(11, 18)
    places = places * scale + (rng.uniform(-20, 20), 0)
    height = CHARACTER_HEIGHT * scale
    if top > HEIGHT - bottom:
        places[:, 1] += min(top - 4 - height, -0.55 * height)
    else:
        places[:, 1] += max(bottom + 5, HEIGHT - 0.45 * height)
    return stamp(places[:, 0], places[:, 1], np.full(len(places), 0.07 * scale), np.ones(len(places)), "round")


# Light, lens and noise.

def ground_of(rng, box, level, contrast, scale):
    """The wafer without the mark: light that varies, texture, films, the bevel. `scale`: grey levels of a fraction."""
    picture = (X / WIDTH - 0.5) * rng.normal(0, 10) + (Y / HEIGHT - 0.5) * rng.normal(0, 6)
    for _ in range(rng.integers(1, 3)):
        picture += TEXTURES[rng.integers(len(TEXTURES))](rng) * scale * rng.uniform(*level["texture"])
    film = rng.uniform(*level["film"])
    if film > 0.05:
        phase = cloud(rng) * rng.uniform(1, 4) + X * rng.uniform(0, 0.04)
        picture += np.cos(phase) * film * scale * 0.7
    if rng.random() < level["edge"]:
        picture += edge(rng, box) * rng.choice((-1, 1)) * rng.uniform(0.5, 1.5) * contrast
    return picture


def veil_of(rng, level):
    """Glare: how far each pixel is drawn to white, 0 to 1."""
    x, y, angle = rng.uniform(0, WIDTH), rng.uniform(-10, HEIGHT + 10), rng.uniform(0, math.pi)
    u = (X - x) * math.cos(angle) + (Y - y) * math.sin(angle)
    v = (Y - y) * math.cos(angle) - (X - x) * math.sin(angle)
    shape = np.exp(-(u / rng.uniform(25, 160)) ** 2 - (v / rng.uniform(8, 60)) ** 2)
    return rng.uniform(*level["glare"]) * shape


def finish(rng, cover, box, level, faintest=1.0):
    """The picture of a mark's coverage [HEIGHT, WIDTH] within `box`, as bytes [HEIGHT, WIDTH], and its polarity.
    `faintest`: the depth of the faintest character, of the deepest one's."""
    contrast, sigma = rng.uniform(*level["contrast"]), rng.uniform(*level["blur"])
    sigmas = sigma * rng.uniform(0.8, 1.25), sigma
    signal = cover
    if rng.random() < level["relief"]:  # light from the side: one wall of a groove is bright, the other dark
        dy, dx = rng.choice((-1, 1), 2)
        signal = 0.55 * cover + 0.45 * (cover - np.roll(cover, (dy, dx), (0, 1)))
    # Small dots lose most of their contrast in the blur; what is left of the mark is brought to `contrast`.
    left = float(np.abs(blur(signal, *sigmas)).max())
    signal = signal / min(max(left, 0.25), 1)
    if rng.random() < level["beside"]:
        signal = np.maximum(signal, beside(rng, box) * rng.uniform(0.5, 1))
    sign = 1 if rng.random() < 0.5 else -1
    spread = contrast * 0.8 + 10
    mean = rng.uniform(min(110, spread), 245 - spread) if sign > 0 else rng.uniform(max(130, 10 + spread), 245)
    scale = contrast * faintest
    picture = mean + ground_of(rng, box, level, contrast, scale) + sign * contrast * signal
    for _ in range(rng.integers(0, level["scratches"] + 1)):
        picture += scratch(rng) * rng.choice((-1, 1)) * contrast * rng.uniform(*level["scratch"])
    veil = veil_of(rng, level)
    picture += (255 - picture) * veil
    picture = blur(picture.astype(np.float32), *sigmas)
    noise = rng.standard_normal((HEIGHT, WIDTH), np.float32) * (scale * rng.uniform(*level["noise"]))
    picture += noise * (1 - veil)
    return np.clip(picture + 0.5, 0, 255).astype(np.uint8), ("bright" if sign > 0 else "dark")


def box_of(places):
    (left, top), (right, bottom) = places.min(0), places.max(0)
    return (min(max(left, 0), WIDTH - 1), min(max(top, 0), HEIGHT - 1), min(max(right, 0), WIDTH - 1),
            min(max(bottom, 0), HEIGHT - 1))


def draw_mark(rng, text, difficulty, styles=TRAINED_STYLES, families=TRAINED_FAMILIES, shift=None):
    """(bytes [HEIGHT, WIDTH], facts). `shift(places)` gives where the dots of a cut mark lie and which can be seen."""
    level = LEVELS[difficulty]
    style = styles[rng.integers(len(styles))]
    family = families[rng.integers(len(families))]
    matrices, radii = STYLES[style]
    matrix = matrices[rng.integers(len(matrices))]
    radius = rng.uniform(*radii)
    flat, owner = mark_points(rng, text, family, matrix, level)
    weight = depths(rng, flat, owner, level, style == "engraved")
    for _ in range(8):
        places, angle, scale = bend(rng, flat, level)
        places, pixels = place(rng, places, radius)
        if pixels >= PIXELS_MIN:
            break
    if shift is not None:
        places = shift(places)
    cover = stamp(places[:, 0], places[:, 1], radius * pixels * scale, weight, style)
    mean = np.bincount(owner, weight) / np.bincount(owner)
    middles = [places[owner == i].min(0) + places[owner == i].max(0) for i in range(len(text))]
    picture, polarity = finish(rng, cover, box_of(places), level, float(mean.min() / mean.max()))
    facts = {"difficulty": difficulty, "style": style, "shapes": family, "matrix": "{}x{}".format(*matrix),
             "polarity": polarity, "rotation": round(math.degrees(angle), 2), "pixels_per_mm": round(float(pixels), 2),
             "middles": [[round(float(x) / 2, 1) for x in middle] for middle in middles]}
    return picture, facts
