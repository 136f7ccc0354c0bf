"""Pictures of scribed wafer IDs with the text of each, drawn; and pictures without a mark.

    python3 models/wafer-id/make_wafer_ids.py OUT --set hard --count 10000 [--seed N] [--difficulty D]
    python3 models/wafer-id/make_wafer_ids.py --set hard --count 40 --sheet FILE.png

OUT receives <set>.jsonl with {"image", "target", ...} a line, and <set>/<thousand>/<number>.png, 320 x 48 in grey. The
target of a picture without a mark is "". Sets: train and validation (a quarter clean, 30 % medium, 35 % hard, a tenth
without a mark), clean, medium, hard, unseen (a dot style that training never has, at medium difficulty), unseen-shapes
(a family of shapes that training never has), no-mark. No ID and no lot stands in two sets. Picture i of a set is the
same whatever the count is. --sheet writes one page of pictures for people to look at.
Needs numpy and Pillow from 10.1 on.
"""
import argparse
import json
import pathlib
import zlib

import numpy as np
from PIL import Image, ImageDraw

import ids
from draw import HEIGHT, TRAINED_FAMILIES, TRAINED_STYLES, UNSEEN_FAMILIES, UNSEEN_STYLES, WIDTH, draw_mark
from nothing import TRAINED_KINDS, draw_nothing

MIX = {"clean": 0.25, "medium": 0.3, "hard": 0.35, "no-mark": 0.1}


def draw(seed, name, number, difficulty=None):
    """Picture `number` of a set: (bytes [HEIGHT, WIDTH], the fields of its line)."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    is_mixed = name in ("train", "validation")
    chosen = rng.choice(list(MIX), p=list(MIX.values())) if is_mixed else {
        "unseen": "medium", "unseen-shapes": "medium"}.get(name, name)
    chosen = str(difficulty or chosen)
    if chosen == "no-mark":
        picture, facts = draw_nothing(rng, name, TRAINED_KINDS if is_mixed else None)
        return picture, {"target": ""} | facts
    layout, text = ids.draw_id(rng, name)
    picture, facts = draw_mark(rng, text, chosen, UNSEEN_STYLES if name == "unseen" else TRAINED_STYLES,
                               UNSEEN_FAMILIES if name == "unseen-shapes" else TRAINED_FAMILIES)
    return picture, {"target": text, "layout": layout} | facts


def sheet(drawn, columns=2, scale=2):
    """A page of pictures, each above its text."""
    step_x, step_y = WIDTH * scale + 8, HEIGHT * scale + 18
    page = Image.new("L", (columns * step_x, -(-len(drawn) // columns) * step_y), 255)
    pen = ImageDraw.Draw(page)
    for i, (picture, fields) in enumerate(drawn):
        x, y = i % columns * step_x, i // columns * step_y
        page.paste(Image.fromarray(picture).resize((WIDTH * scale, HEIGHT * scale), Image.BICUBIC), (x, y))
        told = [fields["target"] or "(no mark)"] + [str(fields[k]) for k in ("difficulty", "style", "shapes", "kind")
                                                    if k in fields]
        pen.text((x + 2, y + HEIGHT * scale + 2), "   ".join(told), fill=0)
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--set", choices=ids.SETS, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--difficulty", choices=MIX, help="of all pictures, in place of the set's")
    parser.add_argument("--sheet", type=pathlib.Path, help="a page of the pictures in place of files")
    options = parser.parse_args()
    if (options.sheet is None) == (options.out is None):
        parser.error("give either OUT or --sheet")
    drawn = (draw(options.seed, options.set, i, options.difficulty) for i in range(options.count))
    if options.sheet:
        sheet(list(drawn)).save(options.sheet)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / f"{options.set}.jsonl", "w", encoding="utf-8") as lines:
        for i, (picture, fields) in enumerate(drawn):
            path = pathlib.Path(options.set, f"{i // 1000:03d}", f"{i:06d}.png")
            if i % 1000 == 0:
                (options.out / path.parent).mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(options.out / path, compress_level=1)
            lines.write(json.dumps({"image": str(path)} | fields) + "\n")
    print(f"{options.out / options.set}.jsonl: {options.count} pictures")


if __name__ == "__main__":
    main()
