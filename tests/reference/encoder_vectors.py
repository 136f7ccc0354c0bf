"""Writes the vectors that transformers answers for encoders without modules.json, by pooling:
tests/unit/engine/test_encoder_vectors.c compares.

    python3 tests/reference/encoder_vectors.py > tests/data/embedding/encoders.json
"""
import json
import sys

import numpy as np
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

GOLDEN = "tests/data/golden/"
IMAGES = ["0_center.png", "6_texture.png"]
TEXTS = ["TEST 12 FAILED: leakage 3.2 uA", "wafer 7"]
# family: learnt tokens in front of the patches
IMAGE_MODELS = {"vit-0": 1, "deit-1": 2, "dinov2-1": 1, "dinov2-with-registers-0": 5, "beit-0": 1, "swin-0": 0}
TEXT_MODELS = ["bert-5", "mpnet-0", "distilbert-0"]


def rounded(vector):
    return [float("%.8g" % x) for x in vector]


def pooled(states, specials, names):
    ways = {"cls": states[0], "mean": states[specials:].mean(0), "max": states[specials:].max(0),
            "lasttoken": states[-1]}
    return np.concatenate([ways[name] for name in names])


def add(out, name, attnd, kind, value, vector):
    out.append({"dir": name, "attnd": json.dumps(attnd), kind: value, "embedding": rounded(vector)})


def main():
    out = []
    for name, specials in IMAGE_MODELS.items():
        model = AutoModel.from_pretrained(GOLDEN + name).eval().float()
        processor = AutoImageProcessor.from_pretrained(GOLDEN + name, use_fast=False)
        for image in IMAGES:
            with torch.no_grad():
                answer = model(**processor(Image.open(GOLDEN + "images/" + image).convert("RGB"), return_tensors="pt"))
            states = answer.last_hidden_state[0].numpy()
            for pooling in (["cls"], ["mean"], ["max"], ["cls", "mean"]):
                if specials > 0 or "cls" not in pooling:
                    attnd = {"pooling": pooling[0] if len(pooling) == 1 else pooling}
                    add(out, name, attnd, "image", image, pooled(states, specials, pooling))
            if name[:4] in ("dino", "beit", "swin"):
                vector = answer.pooler_output[0].numpy()
                add(out, name, {"task": "embed"}, "image", image, vector)
                add(out, name, {"pooling": "pooler", "normalize": True}, "image", image, vector / np.linalg.norm(vector))
    for name in TEXT_MODELS:
        model = AutoModel.from_pretrained(GOLDEN + name).eval().float()
        tokenizer = AutoTokenizer.from_pretrained(GOLDEN + name)
        for text in TEXTS:
            with torch.no_grad():
                answer = model(torch.tensor([tokenizer(text)["input_ids"]]))
            states = answer.last_hidden_state[0].numpy()
            for pooling in (["mean"], ["lasttoken"], ["cls", "mean"]):
                attnd = {"pooling": pooling[0] if len(pooling) == 1 else pooling}
                add(out, name, attnd, "text", text, pooled(states, 0, pooling))
            if name == "bert-5":
                add(out, name, {"pooling": "pooler"}, "text", text, answer.pooler_output[0].numpy())
    model = AutoModel.from_pretrained(GOLDEN + "clip-0").eval().float()
    tokenizer = AutoTokenizer.from_pretrained(GOLDEN + "clip-0")
    processor = AutoImageProcessor.from_pretrained(GOLDEN + "clip-0", use_fast=False)
    for image, text in zip(IMAGES, TEXTS):
        with torch.no_grad():
            pixels = processor(Image.open(GOLDEN + "images/" + image).convert("RGB"), return_tensors="pt")
            vectors = {("image", image): model.get_image_features(**pixels),
                       ("text", text): model.get_text_features(**tokenizer(text, return_tensors="pt"))}
        for (kind, value), answer in vectors.items():
            vector = (answer.pooler_output if hasattr(answer, "pooler_output") else answer)[0].numpy()
            add(out, "clip-0", {"task": "embed"}, kind, value, vector / np.linalg.norm(vector))
            add(out, "clip-0", {"task": "embed", "normalize": False}, kind, value, vector)
    sys.stdout.write("[" + ",\n".join(json.dumps(one) for one in out) + "]\n")


main()
