#!/usr/bin/env python3
"""Writes tests/data/recoding/variants.json: small SentencePiece models of our own, one for each field that changes pieces or
texts, in directories of the classes that read them, and what transformers 4.57 makes of texts and ids:

    pip install 'transformers==4.57.*' sentencepiece protobuf
    tests/reference/make_recoding_variants.py

A variant has files (those that are not JSON in base64), and cases and hypotheses as in cases.json (make_recoding_cases.py).
"""
import base64
import io
import json
import os
import random
import tempfile

import sentencepiece
import transformers
from sentencepiece import sentencepiece_model_pb2 as proto

import compare_recoding as reference

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
WORDS = ["\u2581the", "\u2581die", "\u2581fail", "ed", "s", "\u2581", "\u2581\u2581", "th", "he", "die", "ie", "ab", "abc", "bc", "ca", "\u2581a",
         "1.0", "\u2581V", "dd", "\u00e9", "\u2581caf", "fi", "x\u2581y", "\ud55c", "aa", "aaa"]
LETTERS = "abcdefghilnstuxyzV0123.<>k\u4e2d"
TEXTS = ("the die failed", "  the   die  ", "\tthe\ndie\u00a0x", "", " ", "\u2581", "\u2581the \u2581 die", "abcabcab caab", "aaaaaaa", "caf\u00e9 \ufb01 \uff21\u0301",
         "\ud55c\uad6d\uc5b4 \ud55c qq\U0001f600q", "<unk> <s>the</s> <pad>", "a</s>", "x y x\u2581y", "<x><x>the<x> ing<xx>", "V 1.0 <0x41> Vdd",
         ">>deu<< the", ">>deu<<the>>deu<<", ">>zz<< the", ">> the", "<extra_id_0> the<extra_id_1>\x1c die", "the <extra_id_0>", " <extra_id_0>",
         "<mask_1> the <mask_2>", "<unk_7>die", "__en__ the", "<new> the<new>die", "\x00\x01\x7f", "\u200bthe\u3000die\u2028", "the\r\ndie ")


def model(kind="unigram", train=None, normal=None, pad=False, controls=("</s>",), extra=(), drop=(), charsmap=b"", ties=False):
    """The bytes of a ModelProto. The first pieces are those that a class expects."""
    m = proto.ModelProto()

    def add(piece, score, type_=NORMAL):
        if piece not in drop and piece not in [p.piece for p in m.pieces]:
            m.pieces.add(piece=piece, score=score, type=type_)
    if pad:
        add("<pad>", 0, CONTROL)
    for piece in controls:
        add(piece, 0, CONTROL)
    add("<unk>", 0, UNKNOWN)
    for piece, type_ in extra:
        add(piece, -0.5, type_)
    rng = random.Random(5)
    for i, piece in enumerate(WORDS):
        add(piece, -(i // 3) if ties else -1 - rng.random() * 6)
    for i, piece in enumerate(LETTERS):
        add(piece, -float(len(WORDS)) - (i // 4 if ties else rng.random() * 3))
    if train and train.get("byte_fallback"):
        for byte in range(256):
            add(f"<0x{byte:02X}>", 0, BYTE)
    m.trainer_spec.model_type = 2 if kind == "bpe" else 1
    for name, value in (train or {}).items():
        setattr(m.trainer_spec, name, value)
    for name, value in (normal or {}).items():
        setattr(m.normalizer_spec, name, value)
    m.normalizer_spec.precompiled_charsmap = charsmap
    return m.SerializeToString()


def charsmap(rules):
    """Rules as SentencePiece compiles them."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/rules.tsv", "w", encoding="utf-8") as file:
            file.writelines(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in rules)
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the die failed abc"] * 20), model_writer=out, vocab_size=20, model_type="char",
            normalization_rule_tsv=f"{folder}/rules.tsv", minloglevel=2)
        return proto.ModelProto.FromString(out.getvalue()).normalizer_spec.precompiled_charsmap


RULES = (("\t", " "), ("\n", " "), ("\u00a0", " "), ("\u3000", " "), ("\x01", ""), ("\ufb01", "fi"), ("\uff21", "A"), ("\uff21\u0301", "\u00c1"),
         ("\u200b", ""), ("e\u0301", "\u00e9"), ("\u00bd", " 1\u20442"), ("\u2028", " "), ("caf\u00e9", "cafe bar"), ("\uff1c", "<"), ("\uff1e", ">"))


def t5(bytes_, **config):
    return {"spiece.model": bytes_, "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 100, **config}}


def pegasus(bytes_, **config):
    return {"spiece.model": bytes_, "tokenizer_config.json": {"tokenizer_class": "PegasusTokenizer", **config}}


def marian(source, target, ids, target_ids=None, **config):
    files = {"source.spm": source, "target.spm": target, "vocab.json": ids,
             "tokenizer_config.json": {"tokenizer_class": "MarianTokenizer", **config}}
    if target_ids is not None:
        files |= {"target_vocab.json": target_ids}
        files["tokenizer_config.json"]["separate_vocabs"] = True
    return files


def m2m100(bytes_, ids, **config):
    return {"sentencepiece.bpe.model": bytes_, "vocab.json": ids,
            "tokenizer_config.json": {"tokenizer_class": "M2M100Tokenizer", "src_lang": "en", "tgt_lang": "de", **config}}


def variants():
    rules = charsmap(RULES)
    ids = ["</s>", "<unk>", *WORDS, *LETTERS, ">>deu<<", ">>fra<<", "\uad6d\uc5b4", "qq", "\U0001f600q", "__en__"]
    rng = random.Random(7)
    shuffled = [*ids[:2], *rng.sample(ids[2:], len(ids) - 2), "<pad>"]
    shared = {piece: i for i, piece in enumerate(shuffled)}
    fewer = {piece: i for i, piece in enumerate([*ids[:2], *WORDS[::2], *LETTERS[::2], "<pad>"])}
    m2m = {piece: i for i, piece in enumerate(dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *ids[2:]]))}
    listed = {"300": {"content": "<new>", "special": False, "lstrip": True}, "200": {"content": "<x>", "special": True}}
    small = dict(pad=True)
    yield "t5 unigram", t5(model(**small))
    yield "t5 bpe", t5(model("bpe", **small))
    yield "t5 ties", t5(model(ties=True, **small))
    yield "t5 bpe ties", t5(model("bpe", ties=True, **small))
    yield "t5 rules", t5(model(charsmap=rules, **small))
    yield "t5 bpe rules", t5(model("bpe", charsmap=rules, **small))
    for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
        yield f"t5 no {flag}", t5(model(normal={flag: False}, charsmap=rules, **small))
        yield f"t5 bpe no {flag}", t5(model("bpe", normal={flag: False}, **small))
    yield "t5 bytes", t5(model(train={"byte_fallback": True}, **small))
    yield "t5 bpe bytes", t5(model("bpe", train={"byte_fallback": True}, charsmap=rules, **small))
    yield "t5 user defined", t5(model(extra=(("<x>", USER_DEFINED), ("ing<xx>", USER_DEFINED), ("\ufb01", USER_DEFINED)), charsmap=rules, **small))
    yield "t5 bpe user defined", t5(model("bpe", extra=(("<x>", USER_DEFINED), ("ing<xx>", USER_DEFINED), ("die", USER_DEFINED)), **small))
    yield "t5 unused", t5(model(extra=(("\u2581the", UNUSED), ("zz", UNUSED)), **small))
    yield "t5 surface", t5(model(train={"unk_surface": "??"}, **small))
    yield "t5 new", t5(model(**small), legacy=False)
    yield "t5 new rules", t5(model(charsmap=rules, **small), legacy=False)
    yield "t5 new bpe", t5(model("bpe", **small), legacy=False)
    yield "t5 new no prefix", t5(model(charsmap=rules, **small), legacy=False, add_prefix_space=False)
    yield "t5 new null prefix", t5(model(**small), legacy=False, add_prefix_space=None)
    yield "t5 new bytes", t5(model(train={"byte_fallback": True}, **small), legacy=False)
    yield "t5 new unknown mark", t5(model(drop=("\u2581", "\u2581\u2581", "<", ">"), **small), legacy=False)
    yield "t5 no prefix", t5(model(**small), add_prefix_space=False)
    yield "t5 three", t5(model(**small), extra_ids=3, additional_special_tokens=[f"<extra_id_{i}>" for i in range(3)])
    yield "t5 none", t5(model(**small), extra_ids=0, additional_special_tokens=[])
    yield "t5 listed", t5(model(**small), legacy=False, added_tokens_decoder={"1": {"content": "</s>", "special": True}, **listed})
    yield "t5 clean", t5(model(extra=((" .", NORMAL), ("\u2581.", NORMAL), ("\u2581'", NORMAL)), **small), clean_up_tokenization_spaces=True)
    yield "t5 short", t5(model(**small), model_max_length=5)
    yield "t5 left", t5(model(**small), model_max_length=5, truncation_side="left")
    yield "pegasus", pegasus(model(**small))
    yield "pegasus bpe rules", pegasus(model("bpe", charsmap=rules, **small))
    yield "pegasus offset", pegasus(model(**small), offset=10)
    yield "pegasus no prefix", pegasus(model(normal={"add_dummy_prefix": False, "remove_extra_whitespaces": False}, **small))
    yield "marian", marian(model(), model("bpe"), shared)
    yield "marian rules", marian(model(charsmap=rules), model(charsmap=rules), shared, source_lang="en", target_lang="de")
    yield "marian fewer", marian(model(), model(), fewer)
    yield "marian separate", marian(model(), model(charsmap=rules), fewer, {**shared, "<pad>": len(shared) - 1})
    yield "marian separate listed", marian(model("bpe"), model(), fewer, shared, added_tokens_decoder={
        "0": {"content": "</s>", "special": True}, "1": {"content": "<unk>", "special": True}, str(len(fewer) - 1): {"content": "<pad>", "special": True}})
    yield "m2m100", m2m100(model("bpe"), m2m)
    yield "m2m100 unigram", m2m100(model(charsmap=rules), m2m)
    yield "m2m100 named", m2m100(model("bpe"), m2m, additional_special_tokens=["__en__", "__de__", "<new>"])
    yield "m2m100 last", m2m100(model("bpe"), m2m, src_lang="zu", tgt_lang="af", model_max_length=6)


def main():
    rng, out = random.Random(3), []
    for name, files in variants():
        with tempfile.TemporaryDirectory() as folder:
            for file, content in files.items():
                with open(f"{folder}/{file}", "wb") as stream:
                    stream.write(content if isinstance(content, bytes) else json.dumps(content).encode())
            try:
                tokenizer = reference.open_reference(folder)
            except Exception as error:
                print(f"{name}: the reference fails: {error}")
                continue
            codes = reference.languages_of(tokenizer)
            config = files["tokenizer_config.json"]
            pair = [config["src_lang"], config["tgt_lang"]] if codes else []
            cases, lists = [], []
            for text in TEXTS:
                source, target = reference.encode(tokenizer, text, pair)
                cases.append({"text": text, "languages": pair, "ids": source, "target_ids": target,
                              "decoded": reference.decode(tokenizer, target)})
            size = len(tokenizer.sp_model) if hasattr(tokenizer, "sp_model") else len(tokenizer)
            extra = sorted(tokenizer.get_added_vocab().values()) or [0]
            for i in range(20):
                ids = [rng.randrange(min(size, len(tokenizer))) for _ in range(rng.randint(1, 9))]
                if i % 2:
                    ids[rng.randrange(len(ids))] = rng.choice(extra)
                lists.append(ids)
            hypotheses = [{"ids": ids, "decoded": reference.decode(tokenizer, ids)} for ids in lists]
            out.append({"name": name, "files": {file: base64.b64encode(content).decode() if isinstance(content, bytes) else
                                                json.dumps(content) for file, content in files.items()},
                        "cases": cases, "hypotheses": hypotheses})
    with open("tests/data/recoding/variants.json", "w", encoding="utf-8") as file:
        file.write("[" + ",\n".join(json.dumps(x, separators=(",", ":")) for x in out) + "]\n")
    print(len(out), "variants;", transformers.__version__, sentencepiece.__version__)


if __name__ == "__main__":
    main()
