"""Turns the MIR-WM811K archives (defects.npz, none.npz) into grey PNG files and a JSONL list.

    python3 models/make_wm811k.py DATA OUT [--part validation|train] [--limit N]

DATA holds the archives: `pixels` (flat uint8: 0 off-wafer, 1 pass, 2 fail), `offsets`[n+1], `shapes`[n,2]
(height, width), `label` (index into `classes`), `split` (0 train, 1 validation; disjoint by lot and by identical
map). OUT receives wm811k_val.jsonl (or _train) with {"image", "label"}, and the maps, die by pixel, as 0, 127 and
255 in wm811k_val/<class>/<archive>_<index>.png: the list and the folder are the same data set. Needs numpy.
"""
import argparse
import json
import pathlib
import struct
import zlib

import numpy as np

GREY = np.array([0, 127, 255], np.uint8)  # off-wafer, pass, fail: as the models were trained


def png(grey):
    """An 8-bit grey PNG of a [height, width] array (PNG specification, sections 5 and 11)."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    height, width = grey.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each row opens with its filter, 0
    rows[:, 1:] = grey
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) +
            chunk(b"IEND", b""))


def maps(data, archive, split):
    """(name, class, grey map) of every map of one part of an archive."""
    z = np.load(data / f"{archive}.npz", allow_pickle=False)
    pixels, offsets, shapes, label, classes = (z[k] for k in ("pixels", "offsets", "shapes", "label", "classes"))
    for i in np.nonzero(z["split"] == split)[0]:
        grey = GREY[pixels[offsets[i]:offsets[i + 1]]].reshape(shapes[i])
        yield f"{archive}_{i}", str(classes[label[i]]), grey


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--part", choices=("validation", "train"), default="validation")
    parser.add_argument("--limit", type=int, help="at most this many maps of each archive")
    options = parser.parse_args()
    name = "wm811k_val" if options.part == "validation" else "wm811k_train"
    options.out.mkdir(parents=True, exist_ok=True)
    count = 0
    with open(options.out / f"{name}.jsonl", "w", encoding="utf-8") as listing:
        for archive in ("defects", "none"):
            for n, (stem, label, grey) in enumerate(maps(options.data, archive, int(options.part == "validation"))):
                if options.limit is not None and n >= options.limit:
                    break
                path = f"{name}/{label}/{stem}.png"
                (options.out / path).parent.mkdir(parents=True, exist_ok=True)
                (options.out / path).write_bytes(png(grey))
                listing.write(json.dumps({"image": path, "label": label}) + "\n")
                count += 1
    print(f"{count} maps: {options.out / name}.jsonl")


if __name__ == "__main__":
    main()
