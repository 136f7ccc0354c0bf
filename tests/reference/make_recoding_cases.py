#!/usr/bin/env python3
"""Writes tests/data/recoding: tokenizers of seeded encoder-decoders, and what transformers 4.57 makes of texts and ids with
them; and decode.json, what it makes of ids with the tokenizers of tests/data/tokenizer:

    pip install 'transformers==4.57.*' sentencepiece protobuf
    tests/reference/make_recoding_cases.py GOLDEN_DIR [NAME...]

With names only theirs: `trocr-3 mt5-0 umt5-0 nllb-0 nllb-1 mbart-1 mbart-2` of what make_pairs.py has made.
A case of cases.json has a text, its languages if the tokenizer has them, and its ids as a source and as a target, with the
texts that the latter decode to without and with special tokens. A hypothesis has ids and these two texts.
"""
import json
import os
import random
import shutil
import sys

import compare_recoding as reference

OUT = "tests/data/recoding"
DIRECTORIES = ("marian-0", "marian-1", "bart-0", "t5-0", "t5-gated-0", "m2m100-0", "mbart-0", "pegasus-0", "trocr-0", "trocr-1")
FILES = ("tokenizer_config.json", "special_tokens_map.json", "tokenizer.json")
OLDER = ("vocab.json", "target_vocab.json", "source.spm", "target.spm", "spiece.model", "sentencepiece.bpe.model")
PLAIN = ("albert-0", "bert-5", "clip-0", "deberta-v2-0", "modernbert-1", "mpnet-0", "roberta-1", "xlm-roberta-0", "xlm-roberta-1")
TEXTS, HYPOTHESES = 50, 30


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        rows = ",\n".join(f"{json.dumps(k)}:[\n" + ",\n".join(json.dumps(x, separators=(",", ":")) for x in v) + "]"
                          for k, v in value.items())
        file.write("{" + rows + "}\n")


def copy(golden, name):
    os.makedirs(f"{OUT}/{name}", exist_ok=True)
    has_json = os.path.exists(f"{golden}/{name}/tokenizer.json")
    for file in FILES + (() if has_json else OLDER):
        if os.path.exists(f"{golden}/{name}/{file}"):
            shutil.copyfile(f"{golden}/{name}/{file}", f"{OUT}/{name}/{file}")


def random_ids(rng, tokenizer, count):
    size = min(len(tokenizer), getattr(tokenizer, "vocab_size", len(tokenizer)))
    extra = sorted(tokenizer.get_added_vocab().values())
    lists = [[rng.randrange(size) for _ in range(rng.choice((1, 2, 5, 9, 20)))] for _ in range(count)]
    for ids in lists[::2]:
        ids[rng.randrange(len(ids))] = rng.choice(extra)
    return lists


def seq2seq(golden, name, rng):
    tokenizer = reference.open_reference(f"{golden}/{name}")
    cases, codes = [], reference.languages_of(tokenizer)
    with open(f"{golden}/{name}/cases.json") as file:
        given = json.load(file)["cases"]
    pieces = list(tokenizer.get_vocab())
    specials = tokenizer.all_special_tokens + [">>deu<<"]
    texts = [(c["text"], [c["src_lang"], c["tgt_lang"]] if codes else [], c["ids"]) for c in given if "text" in c]
    for _ in range(TEXTS):
        texts.append((reference.random_text(rng, pieces, specials), rng.sample(codes, 2) if codes else [], None))
    for text, languages, ids in texts:
        source, target = reference.encode(tokenizer, text, languages)
        assert ids in (None, source)
        cases.append({"text": text, "languages": languages, "ids": source, "target_ids": target,
                      "decoded": reference.decode(tokenizer, target)})
    hypotheses = [h for c in given for h in [c["greedy"], *c["beam"]]]
    for h in hypotheses:
        assert h.get("text") in (None, reference.decode(tokenizer, h["ids"])[0])
    lists = [h["ids"] for h in hypotheses] + random_ids(rng, tokenizer, HYPOTHESES)
    write(f"{OUT}/{name}/cases.json", {
        "cases": cases, "hypotheses": [{"ids": ids, "decoded": reference.decode(tokenizer, ids)} for ids in lists]})


def main():
    golden, rng = sys.argv[1], random.Random(36)
    for name in sys.argv[2:] or DIRECTORIES:
        copy(golden, name)
        seq2seq(golden, name, rng)
    if sys.argv[2:]:
        return
    decoded = {}
    for name in PLAIN:
        tokenizer = reference.open_reference(f"tests/data/tokenizer/{name}")
        decoded[name] = [{"ids": ids, "decoded": reference.decode(tokenizer, ids)}
                         for ids in random_ids(rng, tokenizer, HYPOTHESES)]
    write(f"{OUT}/decode.json", decoded)


if __name__ == "__main__":
    main()
