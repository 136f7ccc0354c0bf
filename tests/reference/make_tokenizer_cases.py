#!/usr/bin/env python3
"""Texts that are hard to tokenize, answered by transformers' BertTokenizerFast.

    make_tokenizer_cases.py OUT_DIR [SEED] [TEXTS_PER_CONFIGURATION]

writes OUT_DIR/vocab.txt and OUT_DIR/cases.json: a list of {lower, strip, cjk, limit, text, ids,
offsets, truncated}. The committed ones were made with seed 5 and 40 texts by transformers 4.57.6,
tokenizers 0.22.2, Python 3.11 (Unicode 14). The vocabulary holds every character of the texts in
every form that normalisation may give it, so that a wrong character shows as a wrong id.
"""
import itertools
import json
import os
import random
import sys
import unicodedata

from transformers import BertTokenizerFast

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["wafer", "die", "edge", "ring", "fail", "pass", "run", "probe", "##ning", "##ed", "##s"]
ASSIGNED = [c for c in range(0x110000)
            if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn"]
COMBINING = [c for c in ASSIGNED if unicodedata.combining(chr(c))]
# Combining characters that accent stripping keeps, also for being newer than the reference's data.
SURVIVORS = [c for c in COMBINING if unicodedata.category(chr(c)) != "Mn"] + [
    0x898, 0x8D3, 0x8D4, 0x8E0, 0x9FE, 0x1133B]
DECOMPOSING = [c for c in ASSIGNED if unicodedata.normalize("NFD", chr(c)) != chr(c)]
ODD = [0, 9, 10, 13, 0x85, 0xA0, 0xAD, 0x130, 0x344, 0x3A3, 0xF73, 0xF75, 0xF81, 0x166D, 0x1734,
       0x1E9E, 0x200B, 0x2028, 0x2126, 0x212A, 0x2E43, 0x3000, 0xFFFD, 0x111C9, 0x10D50, 0x2B820]
SOURCES = [  # weight, generator
    (20, lambda r: chr(r.randrange(32, 127))), (4, lambda r: chr(r.randrange(32))),
    (10, lambda r: chr(r.choice(ASSIGNED))), (10, lambda r: chr(r.choice(COMBINING))),
    (8, lambda r: chr(r.choice(SURVIVORS))), (10, lambda r: chr(r.choice(DECOMPOSING))),
    (6, lambda r: chr(r.choice(ODD))), (3, lambda r: chr(r.randrange(0x4E00, 0x9FFF))),
    (3, lambda r: chr(r.randrange(0xAC00, 0xD7A4))), (4, lambda r: chr(r.randrange(0x370, 0x530))),
    (12, lambda r: r.choice(WORDS).strip("#")),
    (6, lambda r: r.choice(SPECIALS + ["[MASK", "[cls]"])),
    (8, lambda r: " "),
]


def make_text(r):
    kind = r.random()
    if kind < 0.08:
        return "a" * r.randrange(95, 106) + chr(r.choice(COMBINING)) * r.randrange(3)
    if kind < 0.25:
        return "".join(chr(r.choice(SURVIVORS + COMBINING)) for _ in range(r.randrange(30)))
    weights = [weight for weight, _ in SOURCES]
    return "".join(r.choices(SOURCES, weights)[0][1](r) for _ in range(r.randrange(40)))


def make_vocab(texts):
    forms = set()
    for text in texts:
        for form in (text, text.lower(), unicodedata.normalize("NFD", text.lower()),
                     unicodedata.normalize("NFD", text)):
            forms.update(form)
    singles = sorted(c for c in forms if c not in "\n\r\0")
    return list(dict.fromkeys(SPECIALS + WORDS + singles + ["##" + c for c in singles]))


def main():
    out = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    r = random.Random(seed)
    settings = list(itertools.product((True, False), (None, True, False), (True, False)))
    texts = [[make_text(r) for _ in range(count)] for _ in settings]
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "vocab.txt")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(piece + "\n" for piece in make_vocab(itertools.chain(*texts)))
    cases = []
    for (lower, strip, cjk), group in zip(settings, texts):
        tokenizer = BertTokenizerFast(path, do_lower_case=lower, strip_accents=strip,
                                      tokenize_chinese_chars=cjk)
        for text in group:
            limit = r.choice([512, 512, 16, 3])
            answer = tokenizer(text, truncation=True, max_length=limit,
                               return_offsets_mapping=True)
            cases.append({"lower": lower, "strip": strip, "cjk": cjk, "limit": limit, "text": text,
                          "ids": answer["input_ids"], "offsets": answer["offset_mapping"],
                          "truncated": len(tokenizer(text)["input_ids"]) > limit})
    with open(os.path.join(out, "cases.json"), "w", encoding="ascii") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
