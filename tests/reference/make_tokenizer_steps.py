#!/usr/bin/env python3
"""Writes tests/data/tokenizer/steps.json, the steps of tokenizer.json one by one, and cuts the
tokenizers of golden checkpoints to tests/data/tokenizer/NAME: make_tokenizer_steps.py GOLDEN

Each entry of steps.json is a small tokenizer.json with texts, ids and offsets of the reference
(tokenizers 0.22.2). Of a checkpoint are kept the files of its tokenizer and its cases' texts.
"""
import json
import os
import shutil
import sys

from tokenizers import Tokenizer

CHECKPOINTS = ("roberta-1", "modernbert-1", "clip-0", "mpnet-0", "bert-5", "albert-0", "xlm-roberta-0",
               "xlm-roberta-1", "deberta-v2-0")
TEXTS = [
    "", " ", "a b", "  Ab  c\u00e9 ", "it's 12 ab34.5!", "a\u0301b \u1e9e\u0130\u03a3", "x,y;;z  --", "\u2460\u00bd\u4e00 \u3042\ufb01",
    "a<m>b <M> <m>", "cat  cat scat cats cat", "tab\tnl\n\u00a0end\u200b", "\u0915\u094d\u0937\u0903 \u20dd", "abc \u2581 \u2581\u2581a", "\u00e9\u00e8 \u00c9t\u00e9 BUG",
    "ab ab ab", "the there", "\ufdfa\u2126 \u212b", "\x00\x01\x7f\u008f", "''s ''", "a.b. c",
]
GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
CLIP = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"


def sequence(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def token(number, content, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": True, "special": False, **flags}


def characters(**members):
    pieces = ["?"] + list("abcdehstxyz AB.,12'\u00e9\u2581") + ["ab", "th", "the", " a"]
    model = {"type": "BPE", "unk_token": "?", "fuse_unk": False, "vocab": {p: i for i, p in enumerate(pieces)},
             "merges": [["a", "b"], ["t", "h"], ["th", "e"], [" ", "a"]], **members.pop("model", {})}
    return {"version": "1.0", "added_tokens": members.pop("added", []), "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, "model": model, **members}


def wordpieces(**members):
    pieces = ["[UNK]", "a", "ab", "##b", "the", "##re", "c", "x", "."]
    out = characters(**members)
    out["model"] = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 5, "vocab": {p: i for i, p in enumerate(pieces)}}
    return out


def steps():
    yield "plain", characters()
    yield "fused", characters(model={"fuse_unk": True})
    yield "suffix", characters(pre_tokenizer={"type": "Whitespace"}, model={
        "end_of_word_suffix": "</w>", "vocab": {"?": 0, "a": 1, "b": 2, "b</w>": 3, "ab</w>": 4, "c</w>": 5, "t": 6, "h": 7, "the</w>": 8, "e</w>": 9, "th": 10},
        "merges": ["a b</w>", "t h", "th e</w>"]})
    yield "prefix", characters(pre_tokenizer={"type": "WhitespaceSplit"}, model={
        "continuing_subword_prefix": "@@", "vocab": {"?": 0, "a": 1, "@@b": 2, "ab": 3, "t": 4, "@@h": 5, "th": 6, "@@e": 7, "the": 8},
        "merges": ["a @@b", "t @@h", "th @@e"]})
    yield "ignore_merges", characters(pre_tokenizer={"type": "Whitespace"}, model={
        "ignore_merges": True, "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "cat": 4, "c": 5, "t": 6}, "merges": [["a", "b"]]})
    yield "WordPiece", wordpieces(pre_tokenizer=sequence(
        "pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}))
    for normalizer in ({"type": "Lowercase"}, {"type": "Nmt"}, {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"},
                       {"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": False},
                       {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Prepend", "prepend": "\u2581a"},
                       {"type": "Replace", "pattern": {"String": "ab"}, "content": "\u00e9\u00e9x"},
                       {"type": "Replace", "pattern": {"String": "''"}, "content": ""},
                       {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"},
                       {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
                       {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
                       sequence("normalizers", {"type": "NFKD"}, {"type": "StripAccents"},
                                sequence("normalizers", {"type": "Lowercase"}, {"type": "BertNormalizer", "clean_text": False,
                                         "handle_chinese_chars": True, "strip_accents": True, "lowercase": False}))):
        yield json.dumps(normalizer, ensure_ascii=True), characters(normalizer=normalizer)
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for splitter in ({"type": "Punctuation", "behavior": behavior}, split({"String": " "}, behavior),
                         split({"Regex": CLIP}, behavior, True), split({"Regex": "\\s+"}, behavior)):
            yield json.dumps(splitter), characters(pre_tokenizer=splitter)
    for splitter in ({"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}, {"type": "Digits", "individual_digits": True},
                     {"type": "Digits", "individual_digits": False}, split({"Regex": GPT2}, "Isolated")):
        yield json.dumps(splitter), characters(pre_tokenizer=splitter)
    for scheme in ("always", "first", "never"):
        for splits in (True, False):
            metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": splits}
            yield f"Metaspace {scheme} {splits}", characters(pre_tokenizer=metaspace, added=[token(26, "<m>")])
    yield "added", characters(normalizer={"type": "Lowercase"}, pre_tokenizer={"type": "WhitespaceSplit"}, added=[
        token(26, "<m>", lstrip=True), token(27, "cat", single_word=True), token(28, "  ", rstrip=True),
        token(29, "BUG", normalized=False), token(30, "\u00c9t\u00e9"), token(31, "cats", normalized=False, rstrip=True)])
    yield "trimmed", characters(added=[token(26, "<m>", lstrip=True)], post_processor={
        "type": "RobertaProcessing", "sep": ["a", 1], "cls": ["b", 2], "trim_offsets": True, "add_prefix_space": True})
    yield "bert", characters(post_processor={"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]})


def write_steps(out):
    entries = []
    for name, members in steps():
        reference = Tokenizer.from_str(json.dumps(members))
        cases = []
        for text in TEXTS:
            encoding = reference.encode(text)
            cases.append({"text": text, "ids": encoding.ids, "offsets": encoding.offsets})
        entries.append({"name": name, "tokenizer": members, "cases": cases})
    with open(os.path.join(out, "steps.json"), "w", encoding="ascii") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "\n]\n")


def texts_of(case):
    if "text_ids" in case:
        for label, ids in zip(case["candidate_labels"], case["text_ids"]):
            yield {"text": case["hypothesis_template"].format(label), "ids": ids}
    elif "text" in case:
        yield {key: case[key] for key in ("text", "text_pair", "ids", "offsets", "token_type_ids") if key in case}


def cut_checkpoint(golden, name, out):
    os.makedirs(os.path.join(out, name), exist_ok=True)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(os.path.join(golden, name, file), os.path.join(out, name, file))
    with open(os.path.join(golden, name, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)
    cases = [text for case in (cases["cases"] if isinstance(cases, dict) else cases) for text in texts_of(case)]
    with open(os.path.join(out, name, "cases.json"), "w", encoding="ascii") as file:
        json.dump({"cases": cases}, file, separators=(",", ":"))


def main():
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tokenizer")
    write_steps(out)
    for name in CHECKPOINTS:
        cut_checkpoint(sys.argv[1], name, out)


if __name__ == "__main__":
    main()
