#!/usr/bin/env python3
"""Writes what transformers makes of small tokenizer directories: each class of tokenizer, each set
of files, each member that changes ids. make_tokenizer_classes.py OUT.json   (transformers 4.57)

The result has texts and pairs, contents of files and cases. A case is "j3 c7 =5": each file by its
letter and the number of its content, and the number of what comes out; "=-" where transformers
reads no fast tokenizer. What comes out are numbers of encodings, of the texts and then of the
pairs. In a content "@n@" stands for fragment n. test_tokenizer_classes.c compares them.
"""
import copy
import itertools
import json
import os
import re
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
import tokenizers  # noqa: E402
import transformers  # noqa: E402
from tokenizers import pre_tokenizers  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

TEXTS = ["SCAN Chain caf\u00e9 \u4e2d\u56fd Fail", "a <lot> b<LOT> ND_fail xND_FAILy [TOOL]z [MASK] <mask> <mask>.",
         "leakage  leakage\tvdd[SEP]</s> [UNK]<unk> <MASK>  [mask]", "", "<|STARTOFTEXT|>it's,<|endoftext|>\n\na\tb\u00a0c\u2003\n"]
PAIRS = [["scan chain fail vdd short bin", "Leakage <lot>open"], ["fail", "scan chain fail vdd short bin"]]

WORDS = ["scan", "chain", "fail", "leakage", "vdd", "short", "open", "bin", "cafe", "caf\u00e9", "\u4e2d", "SCAN", "Chain", "Fail", "##fail",
         "##age", "leak", "nd", "_", "[", "]", "<", ">", "/", ".", "tool", "TOOL", "lot", "LOT"]
LETTERS = [c for c in "abcdefghijklmnopqrstuvwxyzCDFNT"] + ["##" + c for c in "abcdefghijklmnopqrstuvwxyz"]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = SPECIALS + WORDS + LETTERS
MPNET = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"] + WORDS + LETTERS + ["[CLS]", "[SEP]"]


def added(number, content, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}


def flags_of(content, **flags):
    token = added(0, content, **flags)
    del token["id"]
    return token


def template(cls, sep, cls_id, sep_id, middle=1, types=(0, 1)):
    def special(name, kind=0):
        return {"SpecialToken": {"id": name, "type_id": kind}}
    first = [special(cls), {"Sequence": {"id": "A", "type_id": 0}}, special(sep)]
    return {"type": "TemplateProcessing", "single": first,
            "pair": first + [special(sep)] * (middle - 1) + [{"Sequence": {"id": "B", "type_id": types[1]}}, special(sep, types[1])],
            "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in ((cls, cls_id), (sep, sep_id))}}


def wordpiece(pieces=PIECES, specials=SPECIALS, lower=True, strip=None, chinese=True, post=None, **members):
    ids = {p: i for i, p in enumerate(pieces)}
    cls, sep = ("[CLS]", "[SEP]") if pieces[0] != "<s>" else ("<s>", "</s>")
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [added(ids[s], s) for s in specials],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": chinese, "strip_accents": strip, "lowercase": lower},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": post or template(cls, sep, ids[cls], ids[sep]),
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
            **members}


ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = [("f", "a"), ("i", "l"), ("fa", "il"), ("\u0120", "fail"), ("s", "c"), ("a", "n"), ("sc", "an"), ("\u0120", "scan")]
BYTES = ["<s>", "<pad>", "</s>", "<unk>"] + ALPHABET + ["".join(m) for m in MERGES] + ["<mask>"]


def byte_level(prefix=False, trims=True, **members):
    ids = {p: i for i, p in enumerate(BYTES)}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added(ids[s], s, lstrip=s == "<mask>") for s in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True},
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": trims, "add_prefix_space": prefix},
            "decoder": None, "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                                       "fuse_unk": False, "byte_fallback": False, "vocab": ids, "merges": [list(m) for m in MERGES]}, **members}


def unigram(names, post, **members):
    pieces = names + ["\u2581", "\u2581fail", "\u2581scan", "\u2581s", "fail", "leak", "age"] + list("abcdefghijklmnopqrstuvwxyzSCANFILEDTMOU<>[]/._")
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added(i, n, lstrip=n in ("<mask>", "[MASK]")) for i, n in enumerate(names) if n != "<mask>" or i == 0], "normalizer": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}, "post_processor": post,
            "decoder": None, "model": {"type": "Unigram", "unk_id": names.index("<unk>" if "<unk>" in names else "[UNK]"),
                                       "vocab": [[p, -float(i % 7) - 1 / len(p)] for i, p in enumerate(pieces)]}, **members}


VOCAB = "\n".join(PIECES) + "\n"
VOCAB_OTHER = "\n".join(SPECIALS + WORDS[::-1] + LETTERS) + "\n"
VOCAB_MPNET = "\n".join(MPNET) + "\n"
BPE = {"vocab.json": {p: i for i, p in enumerate(BYTES)}, "merges.txt": "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES)}

BERTS = ["BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizerFast", "MobileBertTokenizer", "SqueezeBertTokenizer",
         "ConvBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer", "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"]
OTHERS = ["MPNetTokenizer", "RobertaTokenizer", "LongformerTokenizerFast", "XLMRobertaTokenizer", "CamembertTokenizer", "AlbertTokenizer",
          "DebertaV2Tokenizer", "CLIPTokenizer", "PreTrainedTokenizerFast", "PreTrainedTokenizer", "TokenizersBackend"]
REFUSED = ["BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer", "RoFormerTokenizer", "CanineTokenizer", "TapasTokenizer", "FunnelTokenizer",
           "HerbertTokenizer", "SplinterTokenizer", "RealmTokenizer", "ProphetNetTokenizer", "GPT2Tokenizer", "BartTokenizer", "T5Tokenizer",
           "XLNetTokenizer", "LlamaTokenizer", "BasicTokenizer", "NoSuchTokenizer", "DPRReaderTokenizer", "ByT5Tokenizer", "BertGenerationTokenizer"]


def cases():
    def config(**members):
        return {"tokenizer_config.json": members}

    def model(kind, **members):
        return {"config.json": {"model_type": kind, **members}}

    # whose defaults count: class, files, members
    files = {"vocab": {"vocab.txt": VOCAB}, "cased": {"tokenizer.json": wordpiece(lower=False)}, "lower": {"tokenizer.json": wordpiece()},
             "strip": {"tokenizer.json": wordpiece(lower=False, strip=True, chinese=False)},
             "clash": {"vocab.txt": VOCAB_OTHER, "tokenizer.json": wordpiece(lower=False)},
             "bare": {"tokenizer.json": wordpiece(normalizer=None, added_tokens=[])},
             "sequence": {"tokenizer.json": wordpiece(normalizer={"type": "Sequence", "normalizers": [wordpiece(lower=False)["normalizer"]]})}}
    members = [{}, {"do_lower_case": True}, {"do_lower_case": False}, {"do_lower_case": False, "strip_accents": True},
               {"strip_accents": False}, {"strip_accents": None}, {"tokenize_chinese_chars": False}, {"do_basic_tokenize": False, "never_split": ["fail"]}]
    few = members[:3] + members[6:]
    for name, have in files.items():
        for cls in BERTS + OTHERS:
            for given in (members if cls in ("BertTokenizer", "MPNetTokenizer", "PreTrainedTokenizerFast") else few if name in ("vocab", "cased") else few[:1]):
                yield {**have, **config(tokenizer_class=cls, **given)}
        for kind in ("bert", "distilbert", "electra", "mobilebert", "squeezebert", "convbert", "layoutlm", "ernie", "megatron-bert", "nezha", "mpnet",
                     "roberta", "longformer", "xlm-roberta", "camembert", "albert", "deberta-v2", "modernbert", "clip"):
            for given in few if kind in ("bert", "mpnet", "modernbert") else few[:1]:
                yield {**have, **config(**given), **model(kind)}
            yield {**have, **model(kind)}
        for cls in REFUSED:
            yield {**have, **config(tokenizer_class=cls)}
        yield {**have, **model("bert", tokenizer_class="PreTrainedTokenizerFast")}
        yield {**have, **model("bert", tokenizer_class="RobertaTokenizer"), **config(do_lower_case=False)}
        yield {**have, **model("bert", tokenizer_class="BertJapaneseTokenizer")}
    mpnet = {"json": {"tokenizer.json": wordpiece(MPNET, ["<s>", "<pad>", "</s>", "[UNK]"], post=template("<s>", "</s>", 0, 2, middle=2))},
             "vocab": {"vocab.txt": VOCAB_MPNET}}
    for have, cls, given in itertools.product(mpnet.values(), ("MPNetTokenizer", "MPNetTokenizerFast", "PreTrainedTokenizerFast", "BertTokenizer"), members):
        yield {**have, **config(tokenizer_class=cls, **given)}

    # RoBERTa's files and what wins
    roberta = {"older": BPE, "json": {"tokenizer.json": byte_level()}, "prefix": {"tokenizer.json": byte_level(prefix=True, trims=False)},
               "both": {**BPE, "tokenizer.json": byte_level(prefix=True)}}
    given_all = [{}, {"add_prefix_space": True}, {"add_prefix_space": False}, {"trim_offsets": False}, {"add_prefix_space": True, "trim_offsets": False}]
    for have, cls, given in itertools.product(roberta.values(), ("RobertaTokenizer", "LongformerTokenizerFast", "PreTrainedTokenizerFast", "XLMRobertaTokenizer",
                                                                 "CLIPTokenizer", "BertTokenizer", "GPT2Tokenizer", "BartTokenizer"), given_all):
        yield {**have, **config(tokenizer_class=cls, **given)}
    for have, kind in itertools.product(roberta.values(), ("roberta", "longformer", "data2vec-text", "roberta-prelayernorm", "ibert", "modernbert", "bert", "camembert")):
        yield {**have, **model(kind)}
    yield {"vocab.json": BPE["vocab.json"], "merges.txt": BPE["merges.txt"][:-1], **config(tokenizer_class="RobertaTokenizer")}
    yield {"vocab.json": BPE["vocab.json"], "merges.txt": BPE["merges.txt"].split("\n", 1)[1], **config(tokenizer_class="RobertaTokenizer")}
    yield {"vocab.json": BPE["vocab.json"], "merges.txt": BPE["merges.txt"].replace("\n", "\r\n"), **config(tokenizer_class="RobertaTokenizer")}

    # sentencepiece's kinds
    roberta_names, bert_names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    pieces = {"xlmr": unigram(roberta_names, template("<s>", "</s>", 0, 2, middle=2, types=(0, 0))),
              "camembert": unigram(["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>"], template("<s>", "</s>", 5, 6, middle=2, types=(0, 0))),
              "albert": unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], template("[CLS]", "[SEP]", 2, 3)),
              "deberta": unigram(bert_names, template("[CLS]", "[SEP]", 0, 2))}
    for have, cls in itertools.product(pieces.values(), OTHERS + ["BertTokenizer", "T5Tokenizer", "XLNetTokenizer"]):
        yield {"tokenizer.json": have, **config(tokenizer_class=cls)}
        yield {"tokenizer.json": have, **config(tokenizer_class=cls, do_lower_case=True, split_by_punct=True, keep_accents=True, add_prefix_space=True,
                                                legacy=True, sp_model_kwargs={}, vocab_type="spm")}

    # added tokens and special tokens by every way
    bases = {"bert-vocab": ({"vocab.txt": VOCAB}, "BertTokenizer", len(PIECES)), "bert-json": ({"tokenizer.json": wordpiece()}, "BertTokenizer", len(PIECES)),
             "bert-both": ({"vocab.txt": VOCAB, "tokenizer.json": wordpiece(lower=False)}, "BertTokenizer", len(PIECES)),
             "fast-json": ({"tokenizer.json": wordpiece(lower=False)}, "PreTrainedTokenizerFast", len(PIECES)),
             "mpnet-vocab": ({"vocab.txt": VOCAB_MPNET}, "MPNetTokenizer", len(MPNET)),
             "roberta-older": (BPE, "RobertaTokenizer", len(BYTES)), "roberta-json": ({"tokenizer.json": byte_level()}, "RobertaTokenizer", len(BYTES)),
             "xlmr-json": ({"tokenizer.json": pieces["xlmr"]}, "XLMRobertaTokenizer", len(pieces["xlmr"]["model"]["vocab"])),
             "camembert-json": ({"tokenizer.json": pieces["camembert"]}, "CamembertTokenizer", len(pieces["camembert"]["model"]["vocab"])),
             "albert-json": ({"tokenizer.json": pieces["albert"]}, "AlbertTokenizer", len(pieces["albert"]["model"]["vocab"]))}
    each = [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}, {"special": False}, {"special": False, "normalized": True},
            {"special": False, "normalized": True, "lstrip": True, "rstrip": True}, {"lstrip": True, "rstrip": True, "single_word": True}]
    for name, (have, cls, count) in bases.items():
        known = have.get("tokenizer.json", {}).get("added_tokens")

        def make(more=None, json_added=(), **members):
            out = {**copy.deepcopy(have), **(more or {}), **config(tokenizer_class=cls, **members)}
            if known is not None:
                out["tokenizer.json"]["added_tokens"] += json_added
            return out
        small = "ND_fail" if "bert" in name or "mpnet" in name else "<lot>"
        for flags in each:
            yield make(added_tokens_decoder={str(count): flags_of("<lot>", **flags), str(count + 1): flags_of("ND_fail", **flags)})
            if known is not None:
                yield make(json_added=[added(count, "<lot>", **flags), added(count + 1, "ND_fail", **flags)])
                yield make(json_added=[added(count, "<lot>", **flags)], more={"added_tokens.json": {"<lot>": count, "ND_fail": count + 1}})
                yield make(json_added=[added(count, "<lot>", **flags)], added_tokens_decoder={str(count): flags_of("<lot>"), str(count + 1): flags_of("ND_fail")})
        yield make(more={"added_tokens.json": {"<lot>": count, "ND_fail": count + 1}})
        yield make(more={"added_tokens.json": {"ND_fail": count + 1, "<lot>": count}, "special_tokens_map.json": {"additional_special_tokens": ["ND_fail"]}})
        yield make(more={"added_tokens.json": {"<lot>": count + 5}})
        yield make(more={"added_tokens.json": {small: count}}, additional_special_tokens=[small])
        yield make(more={"added_tokens.json": {"<lot>": count}}, added_tokens_decoder={str(count): flags_of("[TOOL]")})
        yield make(additional_special_tokens=["<lot>", "[TOOL]"])
        yield make(additional_special_tokens=["<lot>"], more={"special_tokens_map.json": {"additional_special_tokens": ["ND_fail", {"content": "[TOOL]", "lstrip": True, "rstrip": True, "normalized": False, "single_word": False}]}})
        yield make(more={"special_tokens_map.json": {"additional_special_tokens": ["<lot>", "fail"]}})
        yield make(more={"special_tokens_map.json": {"additional_special_tokens": ["<lot>"]}}, added_tokens_decoder={})
        yield make(additional_special_tokens=[])
        yield make(additional_special_tokens=None)
        yield make(extra_special_tokens={"lot_token": "<lot>", "tool_token": "[TOOL]"})
        yield make(extra_special_tokens={})
        yield make(extra_special_tokens=["<lot>", "[TOOL]"])
        for key in ("mask_token", "unk_token", "pad_token", "bos_token", "sep_token", "cls_token"):
            usual = {"cls_token": "fail" if "bert-" in name or name == "fast-json" else "<lot>"}.get(key, "ND_fail")
            for value in (usual, {"__type": "AddedToken", **flags_of(usual, lstrip=True)}, {"__type": "AddedToken", "content": usual, "rstrip": True}):
                yield make(**{key: value})
                stripped = {k: v for k, v in value.items() if k != "__type"} if isinstance(value, dict) else value
                yield make(more={"special_tokens_map.json": {key: stripped}})
                yield make(more={"special_tokens_map.json": {key: stripped}, "added_tokens.json": {usual: count}} if usual != "fail" else {"special_tokens_map.json": {key: stripped}}, **{key: "[UNK]"})
                yield make(more={"special_tokens_map.json": {key: stripped}}, added_tokens_decoder={str(count): flags_of("<lot>")})
            yield make(**{key: None})
        twice = {"cls_token": {"__type": "AddedToken", **flags_of("fail", lstrip=True)}, "bos_token": "fail"}
        yield make(**twice)
        yield make(**{**twice, "mask_token": {"__type": "AddedToken", **flags_of("fail", rstrip=True)}})
        yield make(**{**twice, "bos_token": None}, additional_special_tokens=["fail"])
        mask = "[MASK]" if "[MASK]" in str(have) else "<mask>"
        ids = {t["content"]: t["id"] for t in known or []} or {p: i for i, p in enumerate(MPNET if "mpnet" in name else BYTES if "roberta" in name else PIECES)}
        for flags, named in itertools.product(({}, {"lstrip": True}, {"rstrip": True, "normalized": True}, {"special": False}), ({}, {"mask_token": mask})):
            if mask in ids:
                yield make(added_tokens_decoder={str(ids[mask]): flags_of(mask, **flags)}, **named)
            yield make(more={"special_tokens_map.json": {"mask_token": {**flags_of(mask, **flags)}}})
        if known is not None:
            out = make()
            out["tokenizer.json"]["added_tokens"] = []
            yield out
            yield {**out, **config(tokenizer_class="PreTrainedTokenizerFast")}
            yield {**out, **config(tokenizer_class="PreTrainedTokenizerFast", mask_token="<mask>", cls_token="[CLS]")}

    # members that change ids, and members that do not
    for name, (have, cls, _) in bases.items():
        for given in ({"truncation_side": "left"}, {"truncation_side": "right"}, {"truncation_side": "middle"}, {"padding_side": "left"}, {}):
            for length in (4, 5, 7, 9, 10, 11):
                yield {**have, **config(tokenizer_class=cls, model_max_length=length, **given)}
        for given in ({"max_len": 6}, {"max_len": 6, "model_max_length": 8}, {"max_len": 6, "model_max_length": None}, {"clean_up_tokenization_spaces": False},
                      {"model_input_names": ["input_ids", "attention_mask"]}, {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
                      {"split_special_tokens": True}, {"split_special_tokens": False}, {"from_slow": True}, {"tokenizer_file": None}, {"tokenizer_file": "/nowhere/tokenizer.json"},
                      {"vocab_file": "/nowhere/vocab.txt"}, {"init_inputs": []}, {"max_length": 5, "stride": 2, "truncation_strategy": "longest_first", "pad_to_multiple_of": 8},
                      {"add_bos_token": True, "add_eos_token": True}, {"errors": "strict", "name_or_path": "x", "special_tokens_map_file": None, "processor_class": "X"},
                      {"do_lower_case": None}, {"tokenize_chinese_chars": None}, {"add_prefix_space": True}):
            yield {**have, **config(tokenizer_class=cls, **given)}
        if "tokenizer.json" in have:
            for direction, given in itertools.product(("Left", "Right"), ({}, {"truncation_side": "right"}, {"truncation_side": "left"})):
                cut = {"direction": direction, "max_length": 5, "strategy": "LongestFirst", "stride": 0}
                yield {"tokenizer.json": {**have["tokenizer.json"], "truncation": cut}, **config(tokenizer_class=cls, model_max_length=8, **given)}
    # tokenizer.json pads
    for token, cls in itertools.product(("fail", "[PAD]"), ("BertTokenizer", "PreTrainedTokenizerFast")):
        padding = {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": token}
        yield {"tokenizer.json": wordpiece(padding=padding), **config(tokenizer_class=cls)}
        yield {"tokenizer.json": wordpiece(padding=padding), **config(tokenizer_class=cls, pad_token=None)}

    # what transformers 5 writes of CLIP and DeBERTa-v2
    words = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"
    for expression in (words, "<\\|startoftext\\|>|<\\|endoftext\\|>|" + words):
        steps = [{"type": "Split", "pattern": {"Regex": expression}, "behavior": "Removed", "invert": True},
                 {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]
        lowered = [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]
        yield {"tokenizer.json": byte_level(pre_tokenizer={"type": "Sequence", "pretokenizers": steps}, normalizer={"type": "Sequence", "normalizers": lowered}),
               **config(tokenizer_class="CLIPTokenizer", unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")}
    breaks = [{"type": "Replace", "pattern": {"Regex": "\\s{2,}|[\\n\\r\\t]"}, "content": " "}, {"type": "NFC"}, {"type": "Strip", "strip_left": False, "strip_right": True}]
    yield {"tokenizer.json": {**pieces["deberta"], "normalizer": {"type": "Sequence", "normalizers": breaks}}, **config(tokenizer_class="DebertaV2Tokenizer")}

    # lines
    for text in (VOCAB + "\n", VOCAB[:-1], VOCAB.replace("\n", "\r\n"), VOCAB.replace("vdd\n", "\n"), VOCAB + "scan\n", VOCAB + "\n\n\n"):
        yield {"vocab.txt": text, **config(tokenizer_class="BertTokenizer")}
        yield {"vocab.txt": text, **config(tokenizer_class="BertTokenizer", additional_special_tokens=["<lot>"])}
    yield {"vocab.txt": VOCAB.replace("[CLS]\n", "<s>\n").replace("[SEP]\n", "</s>\n"), **config(tokenizer_class="BertTokenizer", cls_token="<s>", sep_token="</s>")}
    yield {"vocab.txt": VOCAB.replace("[UNK]\n", "<unk>\n"), **config(tokenizer_class="BertTokenizer", unk_token="<unk>")}
    yield {"vocab.txt": VOCAB.replace("[UNK]\n", "<unk>\n"), **config(tokenizer_class="BertTokenizer"), "special_tokens_map.json": {"unk_token": "<unk>"}}
    yield {"vocab.txt": VOCAB.replace("[CLS]\n", "x1\n"), **config(tokenizer_class="BertTokenizer")}


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def show(encoding):
    ids, offsets = encoding["input_ids"], encoding["offset_mapping"]
    types = encoding.get("token_type_ids")
    out = " ".join(f"{i}[{s},{e})" for i, (s, e) in zip(ids, offsets))
    return out + (" types " + "".join(map(str, types)) if types and any(types) else "")


def main():
    contents, encodings, outs, rows, seen, fragments = {}, {}, {}, [], set(), {}
    letters = {"tokenizer.json": "j", "tokenizer_config.json": "c", "config.json": "m", "special_tokens_map.json": "s", "added_tokens.json": "a",
               "vocab.txt": "w", "vocab.json": "v", "merges.txt": "b"}

    def number(table, item):
        return table.setdefault(item, len(table))

    def shorten(name, content):
        if name != "tokenizer.json":
            return content
        members = (f"{dump(k)}:{dump(v)}" for k, v in json.loads(content).items())
        return "{" + ",".join(f"@{number(fragments, m)}@" for m in members) + "}"
    for case in cases():
        texts = {name: c if isinstance(c, str) else dump(c) for name, c in case.items()}
        key = tuple(sorted(texts.items()))
        if key in seen:
            continue
        seen.add(key)
        with tempfile.TemporaryDirectory() as directory:
            for name, text in texts.items():
                with open(os.path.join(directory, name), "w", newline="", encoding="utf-8") as file:
                    file.write(text)
            try:
                tok = AutoTokenizer.from_pretrained(directory)
                if not tok.is_fast:
                    raise ValueError("slow")
                found = [show(tok(t, truncation=True, return_offsets_mapping=True)) for t in TEXTS]
                found += [show(tok(*p, truncation=True, return_offsets_mapping=True)) for p in PAIRS]
            except BaseException as e:  # a panic of tokenizers is no Exception
                if os.environ.get("WHY"):
                    print(type(e).__name__, str(e)[:100], texts.get("tokenizer_config.json"), list(texts))
                found = None
        files = " ".join(f"{letters[n]}{number(contents, shorten(n, t))}" for n, t in texts.items())
        rows.append(f"{files} ={number(outs, tuple(number(encodings, e) for e in found)) if found else '-'}")
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"reference": f"transformers {transformers.__version__}, tokenizers {tokenizers.__version__}", "texts": TEXTS, "pairs": PAIRS,
                   "fragments": list(fragments), "contents": list(contents), "encodings": list(encodings), "outs": [" ".join(map(str, o)) for o in outs],
                   "cases": rows}, file, ensure_ascii=False, indent=0)
        file.write("\n")
    print(len(rows), "cases,", sum(r.endswith("-") for r in rows), "refused,", len(contents), "contents,", len(encodings), "encodings")


main()
