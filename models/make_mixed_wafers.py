"""Wafer maps with two defects, one or none, of real ones: for a model of several labels.

    python3 models/make_mixed_wafers.py DATA OUT [--learn N] [--judge N] [--seed N]

DATA holds the archives of MIR-WM811K, as make_wm811k.py reads them. OUT receives learn.jsonl and judge.jsonl with
{"image", "labels"}, of lots that differ, and the maps in learn/ and judge/. A map with two labels is two maps of one
shape laid over each other: a die fails if it fails in either. Three in ten are maps of the class none and have no
label. Needs numpy. Then

    build/attnd-train --model wafer-vit --task multi-label --data OUT/learn.jsonl --out mixed --epochs 6 --rate 3e-4
    build/attnd-eval --model mixed --data OUT/judge.jsonl --multi-label
"""
import argparse
import json
import pathlib
import random

import numpy as np

from make_wm811k import GREY, png

CLASSES = ("Center", "Donut", "Edge-Loc", "Edge-Ring", "Loc", "Scratch")
NONE, ONE = 0.3, 0.3  # shares of maps without a label, and with one


def maps_by_shape(data, split):
    """{(shape, class): [map]} of one part of both archives; 0 off-wafer, 1 pass, 2 fail."""
    found = {}
    for archive in ("defects", "none"):
        z = np.load(data / f"{archive}.npz", allow_pickle=False)
        pixels, offsets, shapes, label, classes = (z[k] for k in ("pixels", "offsets", "shapes", "label", "classes"))
        for i in np.nonzero(z["split"] == split)[0]:
            shape = tuple(shapes[i])
            one = pixels[offsets[i]:offsets[i + 1]].reshape(shape)
            found.setdefault((shape, str(classes[label[i]])), []).append(one)
    return found


def write(found, count, out, name, draw):
    shapes = [shape for shape in sorted({shape for shape, _ in found})
              if sum((shape, one) in found for one in CLASSES) >= 3 and (shape, "none") in found]
    weights = [sum(len(found.get((shape, one), ())) for one in CLASSES) for shape in shapes]
    (out / name).mkdir(parents=True, exist_ok=True)
    with open(out / f"{name}.jsonl", "w", encoding="utf-8") as listing:
        for n in range(count):
            shape = draw.choices(shapes, weights)[0]
            share = draw.random()
            many = 0 if share < NONE else 1 if share < NONE + ONE else 2
            labels = draw.sample([one for one in CLASSES if (shape, one) in found], many)
            parts = [draw.choice(found[shape, one]) for one in labels or ["none"]]
            path = f"{name}/{n:05}.png"
            (out / path).write_bytes(png(GREY[np.maximum.reduce(parts)]))
            listing.write(json.dumps({"image": path, "labels": sorted(labels)}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--learn", type=int, default=2600, help="maps to learn, of the training part")
    parser.add_argument("--judge", type=int, default=900, help="maps to judge by, of the validation part")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    for split, name, count in ((0, "learn", options.learn), (1, "judge", options.judge)):
        write(maps_by_shape(options.data, split), count, options.out, name, draw)
        print(f"{count} maps: {options.out / name}.jsonl")


if __name__ == "__main__":
    main()
