"""Pictures without a readable mark, of several kinds; `matrix-code` is kept out of training."""
import string

import numpy as np
import PIL
from PIL import Image, ImageDraw, ImageFont

import ids
import semi_check
from draw import HEIGHT, LEVELS, PITCH, SPAN, WIDTH, box_of, draw_mark, finish, stamp

WORDS = ("wafer", "front", "Vdd=1.8V", "100 um", "test", "do not touch", "rev", "mask 7", "12:45", "2024/05/17", "OK?",
         "(c)", "pass", "align", "layer #3", "+", "x10", "TOP", "lot:", "ok", "25 C", "~", "mm", "scribe", "R&D")
if tuple(int(part) for part in PIL.__version__.split(".")[:2]) < (10, 1):
    raise ImportError(f"Pillow {PIL.__version__} has no font of a chosen size; install 10.1 or later")
FONTS = [ImageFont.load_default(size) for size in (10, 12, 14, 18, 22, 28)]


def blank(rng, _name, level):
    return finish(rng, np.zeros((HEIGHT, WIDTH), np.float32), (0, 20, 0, 20), level)[0]


def scratches(rng, _name, level):
    return blank(rng, _name, level | dict(scratches=9, scratch=(0.6, 1.6)))


def cut(rng, name, _level):
    """A mark of which the picture has a part: some characters, or the upper or lower part of all. If seven characters
    or more can be seen, they are no ID: their check characters are wrong."""
    while True:
        text = ids.draw_id(rng, name)[1]
        seen = int(rng.integers(1, max(2, 2 * len(text) // 3)))
        parts = [text[:seen], text[:seen + 1], text[-seen:], text[-seen - 1:]]
        if not any(len(part) >= 7 and semi_check.holds(part) for part in parts):
            break
    side, share = rng.integers(4), rng.uniform(0.25, 0.42)

    def shift(places):
        (left, top), (right, bottom) = places.min(0), places.max(0)
        step = (right - left) / max(1, len(text) - 0.43)
        moved = ((WIDTH - left - step * (seen - rng.uniform(0.1, 0.4)), 0),
                 (-left - (right - left) + step * (seen - rng.uniform(0.1, 0.4)), 0),
                 (0, -bottom + share * (bottom - top)), (0, HEIGHT - top - share * (bottom - top)))[side]
        return places + np.array(moved)
    return draw_mark(rng, text, rng.choice(list(LEVELS)), shift=shift)[0]


def words(rng, _name, level):
    """Text of another kind, in a font for print."""
    page = Image.new("L", (WIDTH, HEIGHT))
    pen = ImageDraw.Draw(page)
    x = int(rng.integers(-5, 60))
    font = FONTS[rng.integers(len(FONTS))]
    y = int(rng.integers(0, max(1, HEIGHT - font.size)))
    while x < WIDTH and rng.random() < 0.9:
        word = WORDS[rng.integers(len(WORDS))] if rng.random() < 0.6 else "".join(
            rng.choice(list(string.ascii_lowercase), rng.integers(2, 9)))
        pen.text((x, y), word, fill=255, font=font)
        x += int(pen.textlength(word + " ", font=font)) + int(rng.integers(0, 30))
    cover = np.asarray(page, np.float32) / 255
    return finish(rng, cover, (0, y, WIDTH - 1, min(HEIGHT - 1, y + font.size)), level)[0]


def cells(rng, _name, level):
    """Dots at random in the cells of characters: the size and rhythm of a mark, and no character in it."""
    count, places = int(rng.integers(5, 19)), []
    for i in range(count):
        on = np.argwhere(rng.random((9, 5)) < rng.uniform(0.2, 0.5))[:, ::-1]
        places.append(on / (4, 8) * SPAN + (i * PITCH, 0))
    places = np.concatenate(places)
    pixels = rng.uniform(10, min(20, 310 / (count * PITCH)))
    places = places * pixels + (rng.uniform(4, WIDTH - count * PITCH * pixels + 5), rng.uniform(3, 44 - 1.6 * pixels))
    style = ("round", "square")[rng.integers(2)]
    cover = stamp(places[:, 0], places[:, 1], np.full(len(places), rng.uniform(0.06, 0.1) * pixels),
                  np.ones(len(places)), style)
    return finish(rng, cover, box_of(places), level)[0]


def matrix_code(rng, _name, level):
    """A dot matrix code as SEMI T7 has it, 8 x 32: two full sides, two of every other dot."""
    rows, columns = (8, 32) if rng.random() < 0.6 else (int(rng.integers(8, 15)),) * 2
    on = rng.random((rows, columns)) < 0.5
    on[:, 0] = on[-1] = True
    on[0] = np.arange(columns) % 2 == 0
    on[:, -1] = np.arange(rows) % 2 == 1
    pixel = rng.uniform(1.8, min(5.5, (HEIGHT - 6) / rows))
    y, x = np.nonzero(on)
    places = np.stack((x * pixel + rng.uniform(3, WIDTH - columns * pixel - 2),
                       y * pixel + rng.uniform(3, HEIGHT - rows * pixel - 1)), 1)
    radius = np.full(len(places), pixel * rng.uniform(0.4, 0.6))
    cover = stamp(places[:, 0], places[:, 1], radius, np.ones(len(places)), "round")
    return finish(rng, cover, box_of(places), level)[0]


KINDS = {"blank": blank, "scratches": scratches, "cut": cut, "words": words, "cells": cells, "matrix-code": matrix_code}
TRAINED_KINDS = tuple(kind for kind in KINDS if kind != "matrix-code")


def draw_nothing(rng, name, kinds=None):
    """(bytes [HEIGHT, WIDTH], facts) of one of the kinds; None: of all."""
    kinds = kinds or tuple(KINDS)
    kind = kinds[rng.integers(len(kinds))]
    difficulty = list(LEVELS)[rng.integers(len(LEVELS))]
    return KINDS[kind](rng, name, LEVELS[difficulty]), {"difficulty": "no-mark", "kind": kind}
