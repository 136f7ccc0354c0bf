"""Do the programs answer, and train, the encoders of tests/data/encoders as transformers does?

Each gets a WordPiece vocabulary in place of its tokenizer and a classifier of three labels by
attnd-train, two epochs of a made-up log; attnd-predict answers texts with the written checkpoint,
and transformers opens the same directory and answers the same token ids: logits within 1e-4
(max|difference| / max|logit|). attnd-inspect must name the family. The checkpoints of images of
tests/data/golden that are named in IMAGES learn its images in the same way.

    VENV/bin/python tests/reference/check_encoders.py build

VENV has torch and transformers 4.57; run from the repository's root.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification, AutoModelForSequenceClassification

GOLDEN = "tests/data/golden"
IMAGES = ["swin-0"]
DATA = "tests/data/encoders"
WORDS = ["scan", "chain", "fail", "pass", "leak", "volt", "bin", "site", "pin", "reset", "clock", "memory"]
LABELS = {"scan": ["scan", "chain", "clock"], "leak": ["leak", "volt", "pin"], "memory": ["memory", "bin", "reset"]}


def texts():
    for i in range(90):
        label = list(LABELS)[i % 3]
        words = [WORDS[(i * 7 + k * 5) % len(WORDS)] for k in range(3 + i % 9)] + LABELS[label]
        yield label, " ".join(words[i % 4 :] + words[: i % 4])


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def check(build, name, temp):
    model, out = f"{temp}/{name}", f"{temp}/{name}-out"
    os.mkdir(model)
    for file in ("config.json", "model.safetensors"):
        shutil.copy(f"{DATA}/{name}/{file}", model)
    with open(f"{model}/tokenizer_config.json", "w") as file:
        file.write('{"tokenizer_class": "BertTokenizer"}')
    with open(f"{model}/vocab.txt", "w") as file:
        file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + WORDS) + "\n")
    with open(f"{temp}/data.jsonl", "w") as file:
        for label, text in texts():
            file.write(json.dumps({"text": text, "label": label}) + "\n")
    run(f"{build}/attnd-train", "--model", model, "--data", f"{temp}/data.jsonl", "--out", out, "--epochs", "2",
        "--rate", "0.001")
    inspected = json.loads(run(f"{build}/attnd-inspect", out, "--json"))
    theirs = AutoModelForSequenceClassification.from_pretrained(out).eval()
    assert inspected["family"] == theirs.config.model_type, inspected["family"]
    worst = 0
    for _, text in list(texts())[:12]:
        ours = json.loads(run(f"{build}/attnd-predict", "--model", out, "--text", text, "--json", "--raw-logits"))
        with torch.no_grad():
            logits = theirs(input_ids=torch.tensor([ours["ids"]])).logits[0]
        difference = (torch.tensor(ours["logits"]) - logits).abs().max() / logits.abs().max()
        worst = max(worst, difference.item())
    print(f"{name}: trained, logits differ by {worst:.1e}")
    return worst < 1e-4


def check_images(build, name, temp):
    out, data = f"{temp}/{name}-out", f"{temp}/{name}-data"
    images = sorted(os.listdir(f"{GOLDEN}/images"))
    for i in range(42):
        folder = f"{data}/{'abc'[i % 7 % 3]}"
        os.makedirs(folder, exist_ok=True)
        shutil.copy(f"{GOLDEN}/images/{images[i % 7]}", f"{folder}/{i}.png")
    run(f"{build}/attnd-train", "--model", f"{GOLDEN}/{name}", "--data", data, "--out", out, "--epochs", "2",
        "--rate", "0.001")
    inspected = json.loads(run(f"{build}/attnd-inspect", out, "--json"))
    theirs = AutoModelForImageClassification.from_pretrained(out).eval()
    processor = AutoImageProcessor.from_pretrained(out, use_fast=False)
    assert inspected["family"] == theirs.config.model_type, inspected["family"]
    worst = 0
    for image in images:
        path = f"{GOLDEN}/images/{image}"
        ours = json.loads(run(f"{build}/attnd-predict", "--model", out, "--image", path, "--json", "--raw-logits"))
        with torch.no_grad():
            logits = theirs(**processor(Image.open(path).convert("RGB"), return_tensors="pt")).logits[0]
        difference = (torch.tensor(ours["logits"]) - logits).abs().max() / logits.abs().max()
        worst = max(worst, difference.item())
    print(f"{name}: trained, logits differ by {worst:.1e}")
    return worst < 1e-4


with tempfile.TemporaryDirectory() as temp:
    names = sorted(name for name in os.listdir(DATA) if os.path.isdir(f"{DATA}/{name}"))
    done = [check(sys.argv[1], name, temp) for name in names] + [check_images(sys.argv[1], name, temp) for name in IMAGES]
    if not all(done):
        sys.exit("logits differ")
