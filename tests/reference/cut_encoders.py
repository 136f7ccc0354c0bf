"""Cuts golden checkpoints of text encoders to what tests/unit/engine/model/test_encoders.c reads: a
few cases of each, the word embeddings of the tokens in them, and no tokenizer. Token ids are
renumbered (the first ten stay), and so are the configuration's; logits, hidden norms and rollout are transformers' of the whole
checkpoint, and stay what they were.

    python3 tests/reference/cut_encoders.py GOLDEN_DIR tests/data/encoders
"""
import json
import os
import shutil
import struct
import sys

NAMES = ["roberta-1", "xlm-roberta-1", "electra-0", "albert-0", "mpnet-0", "bert-5", "deberta-v2-0", "longformer-0",
         "modernbert-1"]
WORDS = ("word_embeddings.weight", "tok_embeddings.weight")
FIRST = 10
SHORT = 24


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    meta = header.pop("__metadata__", None)
    return meta, {name: (info, data[info["data_offsets"][0] : info["data_offsets"][1]]) for name, info in header.items()}


def write(path, meta, tensors):
    header, at = {"__metadata__": meta} if meta else {}, 0
    for name, (info, data) in tensors.items():
        header[name] = {"dtype": info["dtype"], "shape": info["shape"], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            file.write(data)


def choose(cases, pad):
    """The longest, one with a literal pad token, pairs, and some short ones."""
    cases = [c for c in cases if len(c["ids"]) > 2]
    chosen = [max(cases, key=lambda c: len(c["ids"]))]
    chosen += [c for c in cases if pad in c["ids"] and len(c["ids"]) <= 3 * SHORT][:1]
    chosen += sorted((c for c in cases if 2 * SHORT > len(c["ids"]) > SHORT), key=lambda c: -len(c["ids"]))[:1]
    chosen += [c for c in cases if c.get("text_pair") and len(c["ids"]) <= 2 * SHORT][:3]
    chosen += [c for c in cases if len(c["ids"]) <= SHORT][:3]
    return [c for i, c in enumerate(chosen) if c not in chosen[:i]]


def rounded(numbers):
    return [float(f"{x:.7g}") for x in numbers]


def cut(source, target):
    os.makedirs(target, exist_ok=True)
    config = json.load(open(f"{source}/config.json"))
    cases = choose(json.load(open(f"{source}/cases.json")), config["pad_token_id"])
    special = [key for key in config if key.endswith("_token_id") and config[key] is not None]
    ids = sorted(set(range(FIRST)) | {config[key] for key in special} | {i for c in cases for i in c["ids"]})
    new = {old: i for i, old in enumerate(ids)}
    out = []
    for c in cases:
        one = {"ids": [new[i] for i in c["ids"]]}
        if "token_type_ids" in c:
            one["types"] = c["token_type_ids"]
        for key in ("logits", "probs", "rollout", "hidden_norms"):
            if key in c:
                one[key] = rounded(c[key])
        out.append(one)
    meta, tensors = read(f"{source}/model.safetensors")
    for name, (info, data) in tensors.items():
        if name.endswith(WORDS):
            step = len(data) // info["shape"][0]
            tensors[name] = (
                dict(info, shape=[len(ids), info["shape"][1]]),
                b"".join(data[i * step : (i + 1) * step] for i in ids),
            )
    config["vocab_size"] = len(ids)
    config.update({key: new[config[key]] for key in special})
    write(f"{target}/model.safetensors", meta, tensors)
    json.dump(config, open(f"{target}/config.json", "w"), indent=1)
    with open(f"{target}/cases.json", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in out) + "\n]\n")
    pads = [config["pad_token_id"] in c["ids"] for c in out]
    print(target, len(out), "cases", len(ids), "words", [len(c["ids"]) for c in out], pads)


for name in NAMES:
    cut(f"{sys.argv[1]}/{name}", f"{sys.argv[2]}/{name}")
