"""A rival: cells of characters found by projection, each compared with templates by normalised correlation.

    reader = Matcher().learn(rows)
    text = reader.text_of(reader.scores(picture))

1. The ground is taken away (local mean). The angle is the one whose projection on the rows varies most.
2. Cells: characters have one width, one height and one distance (draw.py), so a mark is a comb of boxes. For each size
   the projection in the boxes less that beside them is summed, and the best run of boxes is the mark.
3. Each box, tried at some places around, is correlated with the templates of all characters, in both polarities. The
   templates are means of the boxes found in pictures of the training set, for each character, family of shapes and kind
   of matrix.
4. `text_of(scores, checked=True)` gives the likeliest text whose check characters hold (dynamic programming over the
   sum modulo 59). Below a mean correlation there is no mark.
"""
import collections
import math

import numpy as np

from draw import CHARACTER_HEIGHT, CHARACTER_WIDTH, HEIGHT, PITCH, PIXELS_MAX, PIXELS_MIN, WIDTH
from semi_check import CHARACTERS, MODULUS, check_characters

ANGLES = np.arange(-4, 4.01, 0.5)
SIZES = np.geomspace(PIXELS_MIN * 0.98, PIXELS_MAX * 1.02, 18)  # pixels a millimetre
GRID_X, GRID_Y = 14, 24  # of a box with its border
DEFAULTS = dict(ground=15, clip=2.5, gap=0.5, least=0.22, reach=2, smooth=0.6, least_score=0.62, stiff=0.5,
                climb=0.02, power=1.0)
# [38, 59]: the sum modulo 59 that this character makes into that one; 8 x 37 is 1 modulo 59.
BEFORE = np.array([[37 * (after - ord(c) + 32) % MODULUS for after in range(MODULUS)] for c in CHARACTERS])
MATRICES = {"5x7": "single", "5x9": "single", "10x18": "fine", "15x27": "fine", "0x0": "fine"}


def box_mean(picture, radius):
    """The mean over a square of 2 radius + 1 pixels, edges repeated."""
    for axis in (0, 1):
        pads = [(radius + 1, radius) if a == axis else (0, 0) for a in (0, 1)]
        sums = np.cumsum(np.pad(picture, pads, mode="edge"), axis, dtype=np.float64)
        first, last = (sums[:-2 * radius - 1], sums[2 * radius + 1:]) if axis == 0 else (
            sums[:, :-2 * radius - 1], sums[:, 2 * radius + 1:])
        picture = (last - first) / (2 * radius + 1)
    return picture


def smooth(picture, sigma):
    weight = math.exp(-0.5 / max(sigma, 1e-3) ** 2)
    for axis in (0, 1):
        pads = [(1, 1) if a == axis else (0, 0) for a in (0, 1)]
        p = np.pad(picture, pads, mode="edge")
        a, b, c = (p[:-2], p[1:-1], p[2:]) if axis == 0 else (p[:, :-2], p[:, 1:-1], p[:, 2:])
        picture = (weight * (a + c) + b) / (1 + 2 * weight)
    return picture


def sample(picture, x, y):
    """Bilinear; outside, the nearest pixel."""
    x, y = np.clip(x, 0, WIDTH - 1.001), np.clip(y, 0, HEIGHT - 1.001)
    i, j = x.astype(np.int32), y.astype(np.int32)
    u, v = x - i, y - j
    flat, at = picture.ravel(), j * WIDTH + i
    return ((1 - v) * ((1 - u) * flat[at] + u * flat[at + 1])
            + v * ((1 - u) * flat[at + WIDTH] + u * flat[at + WIDTH + 1]))


def turned(picture, degrees):
    """The picture with the lines of a mark at this angle made level: each column is moved up or down."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    return sample(picture, x, y + (x - WIDTH / 2) * math.tan(math.radians(degrees)))


def moved_sum(sums, width):
    """Means of `width` entries (a fraction too) from each place on, of sums [rows, n + 1] that begin with 0."""
    n = sums.shape[1] - 1
    end = np.minimum(np.arange(n) + width, n)
    low = np.minimum(end.astype(np.int32), n - 1)
    part = end - low
    return (sums[:, low] * (1 - part) + sums[:, low + 1] * part - sums[:, :n]) / width


class Matcher:
    def __init__(self, **settings):
        self.set = DEFAULTS | settings
        self.templates, self.owner = None, None

    def values(self, level):
        """How well a box at each place holds a character, [sizes, tops, WIDTH], from the projections on the columns of
        a row as high as a character: the mean inside less those above and below and in the gap behind."""
        value = np.full((len(SIZES), HEIGHT, WIDTH), -9.0)
        down = np.concatenate((np.zeros((1, WIDTH)), np.cumsum(level, 0)))
        for s, size in enumerate(SIZES):
            width, h, border = CHARACTER_WIDTH * size, int(round(CHARACTER_HEIGHT * size)), 3
            tops = np.arange(0, HEIGHT - h + 1)
            inside = (down[tops + h] - down[tops]) / h
            above, below = np.maximum(tops - border, 0), np.minimum(tops + h + border, HEIGHT)
            outside = (down[below] - down[above] - h * inside) / np.maximum(below - above - h, 1)[:, None]
            rows = np.concatenate((np.zeros((len(tops), 1)), np.cumsum(inside - 0.5 * outside, 1)), 1)
            boxes = moved_sum(rows, width)
            gaps = np.roll(moved_sum(rows, PITCH * size - width), -int(round(width)), 1)
            boxes = boxes - self.set["gap"] * np.minimum(gaps, boxes) - self.set["least"]
            boxes[:, WIDTH - int(width):] = -9
            value[s, :len(tops)] = boxes
        return value

    def cells(self, picture):
        """(picture without ground, angle, pixels a mm, left edges and tops [count] of the cells, turned level)."""
        flat = picture.astype(np.float64)
        flat = smooth(flat - box_mean(flat, int(self.set["ground"])), self.set["smooth"])
        energy = np.minimum(np.abs(flat) / (flat.std() + 1e-6), self.set["clip"])
        angle = max(ANGLES, key=lambda a: turned(energy, a)[4:-4].mean(1).var())
        level = turned(energy, angle)
        value = self.values(level - np.median(level))
        # The chain of boxes with the largest sum, each about a pitch behind the one before and up to a row above or
        # below it: best[s, y, x] ends there, `onward` is the best of the three rows less the cost of a step.
        stride = np.round(PITCH * SIZES[:, None] + np.array((-2, -1, 0, 1, 2)))
        cost = self.set["stiff"] * np.abs(stride / (PITCH * SIZES[:, None]) - 1)
        stride, sizes = stride.astype(np.int32), np.arange(len(SIZES))[:, None]
        pad, climb = int(stride.max()), self.set["climb"]
        onward = np.full((len(SIZES), HEIGHT, pad + WIDTH), -9.0)
        best, step = np.empty_like(value), np.zeros(value.shape, np.int8)
        for x in range(WIDTH):
            before = onward[sizes, :, pad + x - stride] - cost[:, :, None]
            step[:, :, x] = before.argmax(1)
            here = np.maximum(before.max(1), 0)
            step[:, :, x][here == 0] = -1
            best[:, :, x] = here = here + value[:, :, x]
            onward[:, :, pad + x] = here
            np.maximum(onward[:, 1:, pad + x], here[:, :-1] - climb, out=onward[:, 1:, pad + x])
            np.maximum(onward[:, :-1, pad + x], here[:, 1:] - climb, out=onward[:, :-1, pad + x])
        s, y, x = np.unravel_index(int((best * (SIZES ** self.set["power"])[:, None, None]).argmax()), best.shape)
        lefts, tops = [x], [y]
        while step[s, y, x] >= 0:
            x -= stride[s, step[s, y, x]]
            near = [(best[s, r, x] - climb * (r != y), r) for r in range(max(0, y - 1), min(HEIGHT, y + 2))]
            y = max(near)[1]
            lefts.append(x)
            tops.append(y)
        return flat, angle, SIZES[s], np.array(lefts[::-1]), np.array(tops[::-1])

    def boxes(self, flat, angle, size, lefts, tops, reach):
        """Normalised boxes [count, places, GRID_Y * GRID_X], each at (2 reach + 1)^2 places."""
        moves = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2), -1).reshape(-1, 2) * size / 15
        border = 0.12
        gx = np.linspace(-border, CHARACTER_WIDTH + border, GRID_X) * size
        gy = np.linspace(-border, CHARACTER_HEIGHT + border, GRID_Y) * size
        x = lefts[:, None, None, None] + moves[:, 0, None, None] + gx
        y = tops[:, None, None, None] + moves[:, 1, None, None] + gy[:, None]
        x, y = np.broadcast_arrays(x, y)
        tilt = math.tan(math.radians(angle))
        found = sample(flat, x, y + (x - WIDTH / 2) * tilt).reshape(len(lefts), len(moves), -1)
        found = found - found.mean(-1, keepdims=True)
        return found / (np.linalg.norm(found, axis=-1, keepdims=True) + 1e-6)

    def learn(self, rows):
        """Templates of rows (picture, text, shapes, matrix); pictures whose count of cells is wrong are left out."""
        kinds = collections.defaultdict(list)
        for picture, text, family, matrix in rows:
            flat, angle, size, lefts, tops = self.cells(picture)
            if len(lefts) != len(text):
                continue
            # All characters of a mark are of one polarity: the one in which dots stand out from their box.
            cells = self.boxes(flat, angle, size, lefts, tops, 0)[:, 0]
            sign = 1 if np.mean(cells ** 3) > 0 else -1
            for character, cell in zip(text, sign * cells):
                kinds[CHARACTERS.index(character), family, MATRICES[matrix]].append(cell)
        means = [(key[0], np.mean(cells, 0)) for key, cells in kinds.items() if len(cells) >= 5]
        self.owner = np.array([character for character, _ in means])
        self.templates = np.stack([mean / np.linalg.norm(mean) for _, mean in means]).T
        return self

    def scores(self, picture):
        """Correlation [cells, 38] of each cell with each character, in the better polarity."""
        found = self.boxes(*self.cells(picture), int(self.set["reach"])) @ self.templates
        both = []
        for sign in (1, -1):
            best = (sign * found).max(1)
            both.append(np.stack([best[:, self.owner == c].max(1) for c in range(len(CHARACTERS))], 1))
        return max(both, key=lambda score: score.max(1).mean())

    def text_of(self, scores, checked=False):
        """The text of correlations [cells, 38]; "" for no mark."""
        if len(scores) < 7 or scores.max(1).mean() < self.set["least_score"]:
            return ""
        return most_likely(scores) if checked else "".join(CHARACTERS[i] for i in scores.argmax(1))


def most_likely(scores):
    """The text with the largest sum of scores [n, 38] whose check characters hold: the best of each sum modulo 59."""
    total, steps, sums = np.full(MODULUS, -np.inf), [], np.arange(MODULUS)
    total[0] = 0
    for score in scores[:-2]:
        ways = total[BEFORE] + score[:, None]
        steps.append(ways.argmax(0))
        total = ways.max(0)
    # The check characters follow from the sum of the text before them.
    codes = [check_of(s) for s in sums]
    tail = np.array([scores[-2][CHARACTERS.index(a)] + scores[-1][CHARACTERS.index(b)] for a, b in codes])
    at = int((total + tail).argmax())
    text = codes[at]
    for step in reversed(steps):
        text = CHARACTERS[step[at]] + text
        at = BEFORE[step[at], at]
    return text


def check_of(total):
    """The check characters of a text with this sum."""
    for first in CHARACTERS:
        for second in CHARACTERS:
            if (8 * (ord(first) - 32) + ord(second) - 32) % MODULUS == total:
                return check_characters(first + second)
    raise AssertionError("two characters make every sum")
