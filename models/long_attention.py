#!/usr/bin/env python3
"""A BERT encoder in Longformer's shape: the same weights, a local window, and room for more tokens.

    python3 models/long_attention.py ENCODER OUT [--tokens 2048] [--window 128]

As Beltagy, Peters and Cohan (2020, section 5) make theirs from RoBERTa: the table of positions is
repeated until it is long enough, each query sees half a window to both sides, [CLS] is global, and the
projections of the global token begin as copies of the others. A classifier keeps its head and labels.
ENCODER holds config.json, model.safetensors and vocab.txt; OUT can be fine-tuned by attnd-train.
Standard library only.
"""
import argparse
import json
import pathlib
import shutil
import struct

COPIED = ("vocab.txt", "special_tokens_map.json")
KEPT_KEYS = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "hidden_size",
             "initializer_range", "intermediate_size", "layer_norm_eps", "num_attention_heads",
             "num_hidden_layers", "vocab_size", "type_vocab_size", "id2label", "label2id",
             "problem_type")
BYTES = {"F32": 4, "F16": 2, "BF16": 2}
HEAD = {"pooler.dense.": "classifier.dense.",  # BERT's names: Longformer's
        "classifier.": "classifier.out_proj."}


def read_tensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (info["dtype"], info["shape"],
                   data[8 + size + info["data_offsets"][0]:8 + size + info["data_offsets"][1]])
            for name, info in header.items()}


def write_tensors(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in sorted(tensors.items()):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, (_, _, data) in sorted(tensors.items()):
            file.write(data)


def repeat_positions(tensor, rows, unused):
    """`rows` rows for tokens, from the first again and again, behind `unused` rows of zeros."""
    dtype, (old, width), data = tensor
    row = width * BYTES[dtype]
    whole = b"".join(data[t % old * row:(t % old + 1) * row] for t in range(rows))
    return dtype, [unused + rows, width], bytes(unused * row) + whole


def head_of(tensors):
    """BERT's pooler and classifier are Longformer's head by other names; {} without a classifier."""
    if "classifier.weight" not in tensors:
        return {}
    return {new + part: tensors[name] for old, new in HEAD.items() for part in ("weight", "bias")
            for name in (old + part, f"bert.{old}{part}") if name in tensors}


def convert(tensors, rows, unused):
    out = head_of(tensors)
    for name, tensor in tensors.items():
        name = name.removeprefix("bert.")
        if name.startswith("embeddings.position_embeddings"):
            tensor = repeat_positions(tensor, rows, unused)
        elif not name.startswith(("embeddings.", "encoder.")):
            continue  # a head: see head_of
        out[f"longformer.{name}"] = tensor
        for part in ("query", "key", "value"):
            if f".attention.self.{part}." in name:
                out["longformer." + name.replace(f".{part}.", f".{part}_global.")] = tensor
    out.pop("longformer.embeddings.position_ids", None)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("encoder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--window", type=int, default=128)
    args = parser.parse_args()
    config = json.loads((args.encoder / "config.json").read_text())
    pad = config.get("pad_token_id", 0)
    made = {key: config[key] for key in KEPT_KEYS if key in config}
    kind = "ForSequenceClassification" if "id2label" in config else "Model"
    made.update(model_type="longformer", architectures=["Longformer" + kind], pad_token_id=pad,
                attention_window=[args.window] * config["num_hidden_layers"],
                max_position_embeddings=pad + 1 + args.tokens)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "config.json").write_text(json.dumps(made, indent=1) + "\n")
    write_tensors(args.out / "model.safetensors",
                  convert(read_tensors(args.encoder / "model.safetensors"), args.tokens, pad + 1))
    tokenizer = json.loads((args.encoder / "tokenizer_config.json").read_text())
    tokenizer.update(tokenizer_class="BertTokenizer", model_max_length=args.tokens)
    (args.out / "tokenizer_config.json").write_text(json.dumps(tokenizer, indent=1) + "\n")
    for name in COPIED:
        if (args.encoder / name).exists():
            shutil.copy(args.encoder / name, args.out / name)
    print(f"{args.out}: {args.tokens} tokens, windows of {args.window}")


if __name__ == "__main__":
    main()
