"""Images that are no wafer maps, to measure how well ood_score tells them from wafer maps.

    python3 models/make_strange.py OUT [--photos FOLDER] [--seed N]

OUT receives a list and a folder for each kind: noise.jsonl (uniform noise of pixels), dies.jsonl (a square full
of dies that fail, pass or are missing at random), blank.jsonl (one grey value), clouds.jsonl (1/f noise); and, with
--photos, photo.jsonl: the JPEG and PNG files of FOLDER as they are. Needs numpy. Then

    build/attnd-eval --model models/wafer-vit --data validation.jsonl --ood-data OUT/noise.jsonl
"""
import argparse
import json
import pathlib

import numpy as np

from make_wm811k import GREY, png

SIDE, COUNT = 96, 200


def noise(rng):
    return (rng.integers(0, 256, (SIDE, SIDE), np.uint8) for _ in range(COUNT))


def dies(rng):
    return (GREY[rng.integers(0, 3, (side, side))] for side in rng.integers(24, SIDE + 1, COUNT))


def blank(_rng):
    return (np.full((SIDE, SIDE), value, np.uint8) for value in [*range(0, 256, 8), 127, 255])


def clouds(rng):
    frequency = np.fft.fftfreq(SIDE)
    radius = np.hypot(*np.meshgrid(frequency, frequency))
    radius[0, 0] = 1
    for _ in range(COUNT):
        field = np.real(np.fft.ifft2(np.fft.fft2(rng.standard_normal((SIDE, SIDE))) / radius))
        field -= field.min()
        yield (field / field.max() * 255).astype(np.uint8)


def write_list(out, kind, paths):
    (out / f"{kind}.jsonl").write_text("".join(json.dumps({"image": str(path)}) + "\n" for path in paths))
    print(f"{out / kind}.jsonl: {len(paths)} images")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--photos", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    for make in (noise, dies, blank, clouds):
        kind = make.__name__
        (options.out / kind).mkdir(parents=True, exist_ok=True)
        paths = []
        for i, grey in enumerate(make(np.random.default_rng(options.seed))):
            paths.append(pathlib.Path(kind, f"{i}.png"))
            (options.out / paths[-1]).write_bytes(png(grey))
        write_list(options.out, kind, paths)
    if options.photos:
        found = [path.resolve() for path in sorted(options.photos.rglob("*")) if path.suffix.lower() in
                 (".jpg", ".jpeg", ".png")]
        write_list(options.out, "photo", found)


if __name__ == "__main__":
    main()
