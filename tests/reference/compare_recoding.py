#!/usr/bin/env python3
"""Counts texts that our tokenizers of an encoder-decoder encode or decode unlike transformers' own:

    pip install 'transformers==4.57.*' sentencepiece protobuf
    make compare-recoding CHECKPOINTS="models/a models/b" PYTHON=.venv/bin/python

Of each directory: the ids of its cases.json (source; greedy and beam hypotheses to their texts), and random texts: pieces
of the vocabulary, words, scripts, marks, white space, controls, special tokens, lines of --texts FILE. Each is encoded as a
source and as a target, and the target's ids are decoded with and without special tokens; so are random ids. The
reference is the fast tokenizer if the directory has a tokenizer.json, else the slow one; their seed is printed.
"""
import argparse
import json
import os
import random
import re
import struct
import subprocess
import sys
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
warnings.filterwarnings("ignore")
import transformers  # noqa: E402

sys.path.insert(0, os.path.dirname(__file__))
from compare_tokenizers import random_text  # noqa: E402

REFUSED = 0xFFFFFFFF


def open_reference(folder):
    if os.path.exists(f"{folder}/tokenizer.json"):
        return transformers.AutoTokenizer.from_pretrained(folder)
    with open(f"{folder}/tokenizer_config.json") as file:
        name = json.load(file)["tokenizer_class"]
    return getattr(transformers, name.removesuffix("Fast")).from_pretrained(folder)


def languages_of(tokenizer):
    if "Nllb" in type(tokenizer).__name__:
        return [token for token in tokenizer.additional_special_tokens if re.fullmatch("[a-z]{3}_[A-Z][a-z]{3}", token)]
    return list(getattr(tokenizer, "lang_code_to_id", {}))


def encode(tokenizer, text, codes):
    """The ids of a text as a source and as a target."""
    if codes:
        tokenizer.src_lang, tokenizer.tgt_lang = codes
    source = tokenizer(text, truncation=True)["input_ids"]
    target = tokenizer(text_target=text, truncation=True)["input_ids"]
    return source, target


def decode(tokenizer, ids):
    return [tokenizer.decode(ids, skip_special_tokens=skips) for skips in (True, False)]


def run(program, folder, texts, ids):
    """What our program says of (text, codes) and of lists of ids."""
    data = []
    for text, codes in texts:
        text, codes = text.encode(), " ".join(codes).encode()
        data.append(struct.pack("<II", len(text), len(codes)) + text + codes)
    for numbers in ids:
        data.append(struct.pack("<II", 4 * len(numbers), REFUSED) + struct.pack(f"<{len(numbers)}i", *numbers))
    out = subprocess.run([program, folder], input=b"".join(data), stdout=subprocess.PIPE, check=True).stdout
    at = 0

    def block(size):
        nonlocal at
        count, = struct.unpack_from("<I", out, at)
        at += 4 + (size * count if count != REFUSED else 0)
        return None if count == REFUSED else out[at - size * count:at]

    def numbers():
        block_of = block(4)
        return block_of and list(struct.unpack(f"<{len(block_of) // 4}i", block_of))

    def text():
        block_of = block(1)
        return None if block_of is None else block_of.decode()

    encoded = [(numbers(), numbers(), [text(), text()]) for _ in texts]
    decoded = [[text(), text()] for _ in ids]
    assert at == len(out)
    return encoded, decoded


class Count:
    def __init__(self, folder, shown):
        self.folder, self.shown, self.all, self.wrong = folder, shown, {}, {}

    def compare(self, what, ours, reference, of):
        self.all[what] = self.all.get(what, 0) + 1
        if ours == reference:
            return
        self.wrong[what] = self.wrong.get(what, 0) + 1
        if self.wrong[what] <= self.shown:
            print(f"  {what} of {of!r}\n    ours      {ours!r}\n    reference {reference!r}")


def compare_cases(program, folder, tokenizer, count):
    with open(f"{folder}/cases.json") as file:
        cases = json.load(file)["cases"]
    texts = [(c["text"], (c["src_lang"], c["tgt_lang"]) if "src_lang" in c else ()) for c in cases if "text" in c]
    hypotheses = [h for c in cases for h in [c["greedy"], *c["beam"]]]
    encoded, decoded = run(program, folder, texts, [h["ids"] for h in hypotheses])
    for (ours, _, _), case in zip(encoded, cases):
        count.compare("cases: ids", ours, case["ids"], case["text"])
    for ours, hypothesis in zip(decoded, hypotheses):
        expected = hypothesis.get("text", decode(tokenizer, hypothesis["ids"])[0])
        count.compare("cases: text", ours[0], expected, hypothesis["ids"])


def compare_random(program, folder, tokenizer, args, rng, count):
    pieces = list(tokenizer.get_vocab())
    specials = list(tokenizer.all_special_tokens) + list(tokenizer.get_added_vocab()) + [">>deu<<", ">>x<<"]
    codes = languages_of(tokenizer)
    lines = [line.rstrip("\n") for line in open(args.texts, encoding="utf-8", errors="replace")] if args.texts else []
    texts = []
    for i in range(args.count):
        text = rng.choice(lines) if lines and i % 4 == 0 else random_text(rng, pieces, specials)
        if rng.random() < 0.1:
            text = rng.choice((">>deu<<", ">>", "<<", " ", "\u2581", "\u2581 ")) + text
        texts.append((text, (rng.choice(codes), rng.choice(codes)) if codes else ()))
    size = len(pieces) if not hasattr(tokenizer, "sp_model") else min(len(pieces), tokenizer.vocab_size)
    ids = [[rng.randrange(size) for _ in range(rng.choice((1, 2, 5, 9, 20)))] for _ in range(args.count)]
    extra = sorted(tokenizer.get_added_vocab().values())
    for numbers in ids[::2]:
        numbers[rng.randrange(len(numbers))] = rng.choice(extra)
    encoded, decoded = run(program, folder, texts, ids)
    for (source, target, written), (text, code) in zip(encoded, texts):
        ours = encode(tokenizer, text, code)
        count.compare("source ids", source, ours[0], text)
        count.compare("target ids", target, ours[1], text)
        count.compare("text of the target", written, decode(tokenizer, ours[1]), (text, ours[1]))
    for ours, numbers in zip(decoded, ids):
        count.compare("text of random ids", ours, decode(tokenizer, numbers), numbers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--texts")
    parser.add_argument("--show", type=int, default=3)
    args = parser.parse_args()
    print(f"transformers {transformers.__version__}, seed {args.seed}")
    failed = 0
    for folder in args.folders:
        tokenizer, count = open_reference(folder), Count(folder, args.show)
        if os.path.exists(f"{folder}/cases.json"):
            compare_cases(args.program, folder, tokenizer, count)
        compare_random(args.program, folder, tokenizer, args, random.Random(args.seed), count)
        told = ", ".join(f"{what} {n - count.wrong.get(what, 0)}/{n}" for what, n in count.all.items())
        print(f"{os.path.basename(folder)} ({type(tokenizer).__name__}): {told}")
        failed += sum(count.wrong.values())
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
