#!/usr/bin/env python3
"""Counts texts that our tokenizers encode unlike Hugging Face's fast ones, ids and offsets apart:

    pip install tokenizers==0.22.2
    make compare-tokenizers CHECKPOINTS="models/a models/b" PYTHON=.venv/bin/python

Texts are random: pieces of the vocabulary, words, scripts, marks, white space, special tokens, their
seed is printed. --texts FILE takes the lines of a file instead, --pairs encodes pairs, --limit cuts.
"""
import argparse
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import time

from tokenizers import Tokenizer

ODD = ("\u0301\u0300\u0327\u0345\u20dd\u0903\u0e33\u1160\u11a8\u1100\u1161\uac00\uac01\u200d\u200b\u2060\ufeff\ufe0f"
       "\U0001f468\U0001f469\U0001f1e9\U0001f1ea\u0130\u0131\u1e9e\u00df\u03a3\u03c2\ufb01\ufdfa\u2126\u212b\u00e9"
       "\u0958\u09dc\u2adc\U0001d15f\u0378\ue000\ufffd\u2581\u0120\u010a\u00a0\u3000\u2028\u0085\u1680\u180e\u202f"
       "\uff21\uff1c\uff53\uff1e\u2460\u00bd\u2167\u4e00\u3042\u0e01\u0915\u094d\u0937\U00010400\U000e0041\x00\x01\x7f\x1c\t\n\r\x0b\x0c")
WORDS = ("the kernel BUG at mm/slub.c:3071! it's we're I'll don't can've he'd I'm O'S RIP: 0010:[<ffffffff8100>] "
         "cafe\u0301 na\u00efve Stra\u00dfe \u039f\u03a3 Vdd=1.08V -40\u00b0C 100\u00b5A 3\u00bd x\u00b2 don\u2019t e.g. ``quoted'' ...").split()
SCRIPTS = ((0x20, 0x7e), (0xa0, 0x24f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff), (0x590, 0x6ff), (0x900, 0x97f),
           (0xe00, 0xe7f), (0x1100, 0x11ff), (0x2000, 0x206f), (0x2190, 0x2bff), (0x3040, 0x30ff), (0x4e00, 0x4fff),
           (0xac00, 0xacff), (0xff00, 0xffef), (0x1f300, 0x1faff), (0, 0x10ffff))


def any_character(rng):
    first, last = rng.choice(SCRIPTS)
    while True:
        c = rng.randint(first, last)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def random_text(rng, pieces, specials):
    parts = []
    for _ in range(rng.choice((1, 2, 3, 5, 8, 13, 30))):
        kind = rng.random()
        if kind < 0.3:
            parts.append(rng.choice(WORDS))
        elif kind < 0.45:
            parts.append(rng.choice(pieces))
        elif kind < 0.52:
            parts.append(rng.choice(specials))
        elif kind < 0.7:
            parts.append(rng.choice(ODD))
        elif kind < 0.85:
            parts.append("".join(any_character(rng) for _ in range(rng.randint(1, 6))))
        else:
            parts.append(rng.choice((" ", "  ", "   ", "\n", "\t", " \n ", "\r\n", "\u00a0", " " * rng.randint(4, 30))))
        if rng.random() < 0.6:
            parts.append(" ")
    return "".join(parts)


def open_reference(folder, limit):
    """The tokenizer as transformers sets it up: neither truncation nor padding of the file, and the
    tokens of tokenizer_config.json."""
    reference = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    reference.no_padding()
    reference.no_truncation()
    if limit:
        reference.enable_truncation(limit)
    return reference


def encode_ours(program, folder, texts):
    data = b"".join(struct.pack("<II", len(a), len(b)) + a + b for a, b in
                    ((a.encode(), b.encode()) for a, b in texts))
    run = subprocess.run([program, folder], input=data, stdout=subprocess.PIPE, check=True)
    at = 0
    for _ in texts:
        count, = struct.unpack_from("<I", run.stdout, at)
        at += 4
        if count == 0xFFFFFFFF:
            yield None
            continue
        numbers = struct.unpack_from(f"<{4 * count}I", run.stdout, at)
        at += 16 * count
        yield (list(numbers[:count]), list(zip(numbers[count:2 * count], numbers[2 * count:3 * count])),
               list(numbers[3 * count:]))


def read_texts(path):
    """Lines; of *.jsonl the members "text"."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    return [json.loads(line)["text"] for line in lines] if ".jsonl" in path else lines


def measure(options, folder, texts):
    """One thread each; the reference keeps words that it has cut, we do not."""
    reference = open_reference(folder, 0)
    data = b"".join(struct.pack("<II", len(a), 0) + a for a in (text.encode() for text, _ in texts))
    ours = subprocess.run([options.program, folder, "5"], input=data, stdout=subprocess.PIPE, check=True)
    start = time.perf_counter()
    for text, _ in texts:
        reference.encode(text)
    seconds = time.perf_counter() - start
    size = sum(len(text.encode()) for text, _ in texts)
    print(f"{folder}: ours {ours.stdout.decode().strip()}, theirs {size / seconds / 1e6:.1f} MB/s")


def make_texts(options, folder, rng):
    if options.texts:
        texts = read_texts(options.texts)
    else:
        reference = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        pieces = [p.replace("\u0120", " ").replace("\u2581", " ").replace("##", "") or " "
                  for p in sorted(reference.get_vocab())]
        specials = [t.content for t in reference.get_added_tokens_decoder().values()]
        specials = specials + [s.lower() for s in specials] + [s.upper() for s in specials] or ["<s>"]
        texts = ["".join(random_text(rng, pieces, specials) for _ in range(options.join))
                 for _ in range(options.count)]
    if not options.pairs:
        return [(text, "") for text in texts]
    return [(text, texts[-1 - i]) for i, text in enumerate(texts)]


def compare(options, folder):
    rng = random.Random(options.seed)
    texts = make_texts(options, folder, rng)
    if options.speed:
        measure(options, folder, texts)
        return 0
    with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as file:
        config = json.load(file)
    reference = open_reference(folder, int(min(config.get("model_max_length", 1e9), 1e9)) if options.limit else 0)
    ids = offsets = types = refused = shown = 0
    for (text, pair), ours in zip(texts, encode_ours(options.program, folder, texts)):
        theirs = reference.encode(text, pair) if pair else reference.encode(text)
        differs = ours is None or ours[0] != theirs.ids
        refused += ours is None
        ids += differs
        offsets += not differs and ours[1] != theirs.offsets
        types += not differs and ours[2] != theirs.type_ids
        if (differs or ours[1] != theirs.offsets or ours[2] != theirs.type_ids) and shown < options.show:
            shown += 1
            print(f"  {text!r} {pair!r}\n  theirs {theirs.ids} {theirs.offsets}\n  ours   {ours}")
    print(f"{folder}: of {len(texts)} texts {ids} differ in ids ({refused} refused), {offsets} more in offsets, "
          f"{types} in types", flush=True)
    return ids + offsets + types


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts")
    parser.add_argument("--join", type=int, default=1, help="so many random texts make one")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--limit", action="store_true", help="cut at model_max_length")
    parser.add_argument("--speed", action="store_true", help="measure instead")
    parser.add_argument("--show", type=int, default=3)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    sys.exit(1 if sum(compare(options, folder) for folder in options.folders) else 0)


if __name__ == "__main__":
    main()
