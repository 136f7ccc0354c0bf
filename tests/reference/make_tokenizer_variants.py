#!/usr/bin/env python3
"""Writes directories with a tokenizer.json each, of the steps that the golden checkpoints do not
have, for compare_tokenizers.py: make_tokenizer_variants.py BYTE_LEVEL.json UNIGRAM.json TEXTS OUT

The two files lend their vocabularies; a BPE over characters is trained on the texts (*.jsonl).
"""
import copy
import json
import os
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
CLIP = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"


def sequence(kind, steps):
    return {"type": "Sequence", kind: steps}


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def added(number, content, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": True, "special": False, **flags}


def characters(texts):
    """BPE over characters with unknown ones, fused or not, continued pieces with a prefix."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="@@", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<unk>"], limit_alphabet=80, continuing_subword_prefix="@@", end_of_word_suffix="</w>"))
    return json.loads(tokenizer.to_str())


def variants(byte_level, unigram, chars):
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    plain = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}

    def make(base, **members):
        out = copy.deepcopy(base)
        out.update(copy.deepcopy(members))
        return out

    def count(base):
        return len(base["model"]["vocab"])

    for fused in (False, True):
        out = make(chars)
        out["model"]["fuse_unk"] = fused
        yield f"chars-{'fused' if fused else 'apart'}", out
    yield "chars-digits", make(chars, pre_tokenizer=sequence("pretokenizers", [
        {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Contiguous"}]))
    yield "chars-whole", make(chars, pre_tokenizer=None, normalizer=sequence("normalizers", [
        {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Prepend", "prepend": "_x"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u00e9-"}]))
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield f"punctuation-{behavior}", make(chars, pre_tokenizer={"type": "Punctuation", "behavior": behavior})
        yield f"split-{behavior}", make(byte_level, pre_tokenizer=sequence("pretokenizers", [
            split({"String": " "}, behavior), plain]))
        yield f"inverted-{behavior}", make(byte_level, pre_tokenizer=sequence("pretokenizers", [
            split({"Regex": CLIP}, behavior, True), plain]))
    yield "split-gpt2", make(byte_level, pre_tokenizer=sequence("pretokenizers", [
        {"type": "Digits", "individual_digits": False}, split({"Regex": GPT2}, "Isolated"), plain]))
    prefix = {**plain, "add_prefix_space": True, "use_regex": True}
    post = {**byte_level["post_processor"], "add_prefix_space": True}
    yield "prefix", make(byte_level, pre_tokenizer=sequence("pretokenizers", [prefix]), post_processor=post)
    yield "level-post", make(byte_level, post_processor=sequence("processors", [plain, {
        "type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}]))
    ignoring = make(byte_level, post_processor=None)
    ignoring["model"]["ignore_merges"] = True
    yield "ignoring", ignoring
    size = count(byte_level)
    yield "added", make(byte_level, normalizer=sequence("normalizers", [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]),
                        added_tokens=byte_level["added_tokens"] + [
        added(size, "BUG", single_word=True), added(size + 1, "RIP", rstrip=True), added(size + 2, " at", rstrip=True, lstrip=True),
        added(size + 3, "\u00c9t\u00e9"), added(byte_level["model"]["vocab"]["x"], "x", single_word=True, normalized=False),
        added(size + 4, "kernel bug", normalized=False), added(size + 5, "  ", rstrip=True), added(size + 6, "\u2581")])
    for scheme in ("first", "never", "always"):
        yield f"metaspace-{scheme}", make(unigram, pre_tokenizer={**metaspace, "prepend_scheme": scheme})
        yield f"unsplit-{scheme}", make(unigram, pre_tokenizer={**metaspace, "prepend_scheme": scheme, "split": False})
    yield "metaspace-digits", make(unigram, pre_tokenizer=sequence("pretokenizers", [metaspace, {"type": "Digits", "individual_digits": True}]))
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        yield f"form-{form}", make(unigram, normalizer=sequence("normalizers", [
            {"type": form}, {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Nmt"}, {"type": "Lowercase"}]))


def main():
    byte_level, unigram = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    with open(sys.argv[3], encoding="utf-8") as file:
        chars = characters([json.loads(line)["text"] for line in file])
    for name, tokenizer in variants(byte_level, unigram, chars):
        folder = os.path.join(sys.argv[4], name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(tokenizer, file)
        Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({}, file)


if __name__ == "__main__":
    main()
