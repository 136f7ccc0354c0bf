"""How well a reader reads the sets of make_wafer_ids.py: exact match, character error rate, processor time."""
import json

import numpy as np
from PIL import Image

import semi_check

JUDGED = ("clean", "medium", "hard", "unseen", "unseen-shapes", "no-mark")


def lines_of(data, name, count=None):
    """[(path, target)] of a set's first pictures."""
    with open(data / f"{name}.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(count or 10**9), lines)]
    return [(data / row["image"], row["target"]) for row in rows]


def load(data, name, count=None):
    """[(bytes [HEIGHT, WIDTH], target)] of a set's first pictures."""
    return [(np.asarray(Image.open(path)), target) for path, target in lines_of(data, name, count)]


def distance(a, b):
    """Edit distance (Levenshtein 1966): the fewest characters to insert, delete and replace."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def tell(title, name, pairs, seconds):
    """One line of figures of [(read, target)]. Of a set without marks: the share to which a text was given."""
    count = len(pairs)
    exact = sum(read == target for read, target in pairs) / count
    held = [(read, target) for read, target in pairs if semi_check.holds(read)]
    wrong = sum(read != target for read, target in held)
    length = sum(len(target) for _, target in pairs)
    error = f"{sum(distance(*pair) for pair in pairs) / length:7.4f}" if length else "      -"
    print(f"{title:34} {name:14} {count:6} {exact:7.4f} {error} {len(held) / count:7.4f} {wrong:6} "
          f"{1000 * seconds / count:8.2f}", flush=True)


HEAD = (f"{'reader':34} {'set':14} {'count':>6} {'exact':>7} {'CER':>7} {'check':>7} {'wrong':>6} {'ms':>8}\n"
        "check: the share whose check characters hold; wrong: how many of these are wrong all the same")

