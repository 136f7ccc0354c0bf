"""A rival: tesseract, with the picture made as it likes it.

    texts = read_all(pictures, **settings)

The mark is made dark on bright, enlarged and blurred until dots join. tesseract reads one line of the 38 characters,
without its dictionaries. With polarity="both" it reads each picture twice, and what it is surer of counts. Needs the
program tesseract (5.3) with its English data.
"""
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

import matcher
from semi_check import CHARACTERS

DEFAULTS = dict(scale=2, squeeze=1, blur=1.8, ground=12, threshold="grey", polarity="both", psm=7)


def prepare(picture, scale, squeeze, blur, ground, threshold, sign):
    """A page for tesseract; sign: 1 if the mark is bright."""
    flat = picture.astype(np.float64)
    if ground:
        flat = flat - matcher.box_mean(flat, ground)
    for _ in range(round(blur / 0.6)):
        flat = matcher.smooth(flat, 0.6)
    flat = -sign * flat
    low, high = np.percentile(flat, (1, 99))
    grey = np.clip((flat - low) / (high - low + 1e-6) * 255, 0, 255).astype(np.uint8)
    image = Image.fromarray(grey).resize((round(grey.shape[1] * scale * squeeze), grey.shape[0] * scale), Image.BICUBIC)
    if threshold == "otsu":
        image = image.point(lambda v, t=otsu(np.asarray(image)): 255 * (v > t))
    page = Image.new("L", (image.width + 40, image.height + 40), int(np.median(np.asarray(image))))
    page.paste(image, (20, 20))
    return page


def otsu(grey):
    """The threshold that parts grey levels best (Otsu 1979)."""
    count = np.bincount(grey.ravel(), minlength=256).astype(np.float64)
    below, sums = np.cumsum(count), np.cumsum(count * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums[-1] * below - sums * below[-1]) ** 2 / (below * (below[-1] - below))
    return int(np.nanargmax(between))


def run(pages, psm):
    """[(text, confidence)] of images. Some pictures end tesseract with a signal (5.3: SIGFPE); it read nothing there."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, page in enumerate(pages):
            paths.append(pathlib.Path(folder, f"{i}.png"))
            page.save(paths[-1], compress_level=1)
        names = pathlib.Path(folder, "list.txt")
        names.write_text("\n".join(map(str, paths)) + "\n", encoding="utf-8")
        command = ["tesseract", str(names), "stdout", "--psm", str(psm), "--oem", "1", "--dpi", "300"]
        for setting in (f"tessedit_char_whitelist={CHARACTERS}", "load_system_dawg=0", "load_freq_dawg=0",
                        "tessedit_create_tsv=1"):
            command += ["-c", setting]
        done = subprocess.run(command, check=False, capture_output=True, text=True,
                              env={"OMP_THREAD_LIMIT": "1", "PATH": "/usr/bin:/bin"})
    if done.returncode < 0:
        half = len(pages) // 2
        return run(pages[:half], psm) + run(pages[half:], psm) if half else [("", -1.0)]
    done.check_returncode()
    texts, sure = [""] * len(paths), [[] for _ in paths]
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if len(fields) == 12 and fields[0] == "5":
            texts[int(fields[1]) - 1] += fields[11].strip()
            sure[int(fields[1]) - 1].append(float(fields[10]))
    return [(text, float(np.mean(s)) if s else -1.0) for text, s in zip(texts, sure)]


def read_all(pictures, **settings):
    """The text of each picture [HEIGHT, WIDTH]."""
    chosen = DEFAULTS | settings
    psm, polarity = chosen.pop("psm"), chosen.pop("polarity")
    signs = (1, -1) if polarity == "both" else (None,)
    read = []
    for sign in signs:
        pages = []
        for picture in pictures:
            flat = picture.astype(np.float64) - matcher.box_mean(picture.astype(np.float64), 15)
            pages.append(prepare(picture, sign=sign or (1 if np.mean(flat ** 3) > 0 else -1), **chosen))
        read.append(run(pages, psm))
    return [max(texts, key=lambda pair: pair[1])[0] for texts in zip(*read)]
