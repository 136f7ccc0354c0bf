#!/usr/bin/env python3
"""Measures of written texts beside sacrebleu (2.x, its defaults) and a plain edit distance.

    python3 tests/reference/compare_text_scores.py build/score-texts [--sets 300] [FILE...]

Random sets have everything that tokenizers trip over: entities, points and dashes beside digits, white space of Unicode,
empty texts, letters of several bytes. Of each FILE the lines are the right texts, and the same lines with characters and
words changed the written ones. Exits with 1 if a figure differs by more than 1e-4. Needs sacrebleu (PyPI)."""
import argparse
import math
import random
import struct
import subprocess
import sys

import sacrebleu

ATOMS = ["the", "die", "Fehler", "3.97", "V.", "v", ",", ".", "-", "--", "1-2", "1,000", "a.b", "a..b", "x.", ".5", "12.", "(ok)",
         "'s", "don't", "&quot;", "&amp;", "&lt;", "&amp;lt;", "&", "<skipped>", "-\n", "\n", "é", "中文", "🙂", "Ω", "\u00a0", "\u3000",
         "\x1c", "\t", "[", "]", "{x}", "`", "^", "_", "a_b", "/", "\\", "@", "#", "$", "%", "!", "?", ":", ";", "=", "+", "*", "~", "|",
         "\"", "LOT12-07H7", "0", "00", "\u2009", ".é", "é.", "中,", "5-中", "7-"]


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def expected(pairs):
    written, right = [a for a, _ in pairs], [b for _, b in pairs]
    edits, characters = sum(distance(a, b) for a, b in pairs), sum(map(len, right))
    return [sum(a == b for a, b in pairs) / len(pairs), edits / len(pairs), edits / characters if characters else math.nan,
            sacrebleu.corpus_chrf(written, [right]).score, sacrebleu.corpus_bleu(written, [right]).score]


def found(program, pairs):
    data = b""
    for a, b in pairs:
        a, b = a.encode(), b.encode()
        data += struct.pack("<II", len(a), len(b)) + a + b
    return [float(word) for word in subprocess.run([program], input=data, capture_output=True, check=True).stdout.split()]


def change(text, rng):
    """The text with a few characters and words changed."""
    words = text.split(" ")
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words))
        words[at:at + 1] = rng.choice([[], [words[at], words[at]], [words[at][::-1]], [rng.choice(ATOMS)]]) or [""]
    return " ".join(words)


def random_text(rng):
    return "".join(rng.choice(ATOMS) + rng.choice(["", " ", " ", "  "]) for _ in range(rng.randrange(12)))


def random_set(rng):
    pairs = []
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        right = random_text(rng)
        pairs.append((rng.choice([right, change(right, rng), change(right, rng), random_text(rng)]), right))
    return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--sets", type=int, default=300)
    options = parser.parse_args()
    rng = random.Random(1)
    sets = [(f"random set {i}", random_set(rng)) for i in range(options.sets)]
    for path in options.files:
        lines = [line for line in open(path, encoding="utf-8").read().split("\n") if line.strip()][:500]
        sets.append((path, [(change(line, rng), line) for line in lines]))
    worst, failed = 0.0, 0
    for name, pairs in sets:
        ours, theirs = found(options.program, pairs), expected(pairs)
        off = max(abs(a - b) for a, b in zip(ours, theirs) if not (math.isnan(a) and math.isnan(b)))
        worst = max(worst, off)
        if not off <= 1e-4:
            failed += 1
            print(f"{name}: {ours}, not {theirs}: {pairs[:3]}")
        elif not name.startswith("random"):
            print(f"{name}: {len(pairs)} texts, chrF {ours[3]:.4f}, BLEU {ours[4]:.4f}")
    print(f"{len(sets)} sets, sacrebleu {sacrebleu.__version__}: {failed} differ; the largest difference is {worst:.3g}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
