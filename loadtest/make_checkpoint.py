"""A BERT checkpoint of any size with seeded random weights, for load tests: speed does not depend on
what the weights are. Needs only Python's standard library.

    python3 loadtest/make_checkpoint.py OUT VOCAB.txt [--layers 12] [--hidden 768] [--heads 12]
"""
import argparse
import array
import json
import os
import random
import shutil
import struct

BLOCK = 1 << 20


def tensors(layers, hidden, intermediate, vocab, positions, labels):
    """Names and shapes of a BERT classifier."""
    yield "bert.embeddings.word_embeddings.weight", [vocab, hidden]
    yield "bert.embeddings.position_embeddings.weight", [positions, hidden]
    yield "bert.embeddings.token_type_embeddings.weight", [2, hidden]
    yield from pair("bert.embeddings.LayerNorm", [hidden])
    for i in range(layers):
        layer = f"bert.encoder.layer.{i}."
        for part in ("query", "key", "value"):
            yield from pair(layer + "attention.self." + part, [hidden, hidden])
        yield from pair(layer + "attention.output.dense", [hidden, hidden])
        yield from pair(layer + "attention.output.LayerNorm", [hidden])
        yield from pair(layer + "intermediate.dense", [intermediate, hidden])
        yield from pair(layer + "output.dense", [hidden, intermediate])
        yield from pair(layer + "output.LayerNorm", [hidden])
    yield from pair("bert.pooler.dense", [hidden, hidden])
    yield from pair("classifier", [labels, hidden])


def pair(base, shape):
    yield base + ".weight", shape
    yield base + ".bias", shape[:1]


def write_numbers(file, name, count, noise):
    """Norms near one; everything else small noise, drawn once and repeated."""
    if "LayerNorm.weight" in name:
        file.write(array.array("f", [1.0] * count).tobytes())
        return
    while count > 0:
        take = min(count, BLOCK)
        file.write(noise[: 4 * take])
        count -= take


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("vocab")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    shutil.copy(options.vocab, os.path.join(options.out, "vocab.txt"))
    with open(options.vocab, encoding="utf-8") as file:
        vocab = sum(1 for _ in file)
    intermediate, positions, labels = 4 * options.hidden, 512, 10
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"],
              "hidden_size": options.hidden, "num_hidden_layers": options.layers,
              "num_attention_heads": options.heads, "intermediate_size": intermediate,
              "vocab_size": vocab, "max_position_embeddings": positions, "num_labels": labels}
    with open(os.path.join(options.out, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    header, offset = {}, 0
    named = list(tensors(options.layers, options.hidden, intermediate, vocab, positions, labels))
    for name, shape in named:
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    rng = random.Random(7)
    noise = array.array("f", (rng.gauss(0, 0.02) for _ in range(BLOCK))).tobytes()
    with open(os.path.join(options.out, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for name, shape in named:
            write_numbers(file, name, header[name]["data_offsets"][1] // 4
                          - header[name]["data_offsets"][0] // 4, noise)
    print(f"{options.out}: {offset / 1e6:.0f} MB, {vocab} words")


if __name__ == "__main__":
    main()
