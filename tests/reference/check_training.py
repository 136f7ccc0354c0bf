"""Is every family trained as PyTorch trains it, and is what attnd-train writes what transformers opens?

    VENV/bin/python tests/reference/check_training.py BUILD DIR...

DIR is a checkpoint of any family but CLIP, with a classifier and its tokenizer or preprocessor. For each:

1. Three steps from its weights (fp32, cross-entropy or binary cross-entropy, clipping at 1, AdamW, no
   dropout) by attnd-bench steps and by PyTorch on the same inputs: losses equal to five digits.
2. attnd-train fine-tunes it for an epoch on made-up texts or pictures; attnd-predict answers with what it
   wrote, and transformers opens the same directory and answers the same input: logits within 1e-4
   (max|difference| / max|logit|).
3. attnd-prune takes a quarter of its heads and half of its MLP columns, or what of the two its family can
   lose; before and behind the fine-tuning transformers opens what is left, and answers alike.

VENV has torch, transformers 4.57 and Pillow; run from the repository's root.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers
from PIL import Image
from transformers import (AutoConfig, AutoImageProcessor, AutoModelForImageClassification,
                          AutoModelForSequenceClassification)

STRIDE, WORDS, FIRST_WORD, ROWS, STEPS = 7919, 20000, 1000, 6, 3  # tests/bench/steps.h
RATE, DECAY = 1e-4, 0.01
OTHER_CLASSES = {"DeiTForImageClassificationWithTeacher"}
transformers.logging.set_verbosity_error()
MADE_WORDS = ["scan", "chain", "fail", "pass", "leak", "volt", "bin", "site", "pin", "reset", "clock", "memory"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def model_of(directory):
    config = AutoConfig.from_pretrained(directory)
    for key in vars(config):
        if ("dropout" in key or key.endswith("_prob") or key == "drop_path_rate") and getattr(config, key):
            setattr(config, key, 0.0)
    name = config.architectures[0]
    if name in OTHER_CLASSES:
        kind = getattr(transformers, name)
    else:
        kind = AutoModelForImageClassification if "Image" in name else AutoModelForSequenceClassification
    return kind.from_pretrained(directory, config=config, dtype=torch.float32, attn_implementation="eager")


def is_image(model):
    return model.main_input_name == "pixel_values"


# ---- steps ----

def formula_inputs(model, directory, tokens, size):
    if is_image(model):
        index = torch.arange(ROWS * 3 * size * size).view(ROWS, 3, size, size)
        return {"pixel_values": (STRIDE * index % 255).float() / 127.5 - 1}
    vocab = model.config.vocab_size
    index = torch.arange(ROWS * tokens).view(ROWS, tokens)
    return {"input_ids": min(vocab // 4, FIRST_WORD) + STRIDE * index % min(vocab // 2, WORDS)}


def loss_of(model, inputs):
    logits = model(**inputs).logits
    labels = torch.arange(ROWS) % logits.shape[1]
    if model.config.problem_type == "multi_label_classification" or logits.shape[1] == 1:
        targets = torch.nn.functional.one_hot(labels, logits.shape[1]).float()
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
    return torch.nn.functional.cross_entropy(logits, labels)


def torch_losses(model, inputs):
    model.train()
    named = list(model.named_parameters())
    groups = [{"params": [p for _, p in named if p.ndim > 1], "weight_decay": DECAY},
              {"params": [p for _, p in named if p.ndim <= 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    for _ in range(STEPS):
        loss = loss_of(model, inputs)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


def our_steps(build, directory):
    """Losses, and the tokens of an input."""
    done = subprocess.run([f"{build}/attnd-bench", "steps", "--threads", "2"], text=True,
                          input=f"f32 {ROWS} {directory}\n" * STEPS, capture_output=True)
    if done.returncode:
        sys.exit(f"{directory}: {done.stderr}")
    steps = [line.split() for line in done.stdout.splitlines()]
    return [float(step[1]) for step in steps], int(steps[0][2])


def check_steps(build, directory):
    model = model_of(directory)
    size = model.config.image_size if is_image(model) else 0  # the positions as they are stored
    ours, tokens = our_steps(build, directory)
    theirs = list(torch_losses(model, formula_inputs(model, directory, tokens, size)))
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    print(f"{directory.name:26} {' '.join(f'{a:.6f}' for a in ours)} | {' '.join(f'{b:.6f}' for b in theirs)}"
          f" | {worst:.1e}", end=" ")
    return worst < 1e-5


# ---- what is written ----

def make_texts(directory, temp, labels):
    rows = [{"text": " ".join(MADE_WORDS[(i * 7 + k * 5) % len(MADE_WORDS)] for k in range(3 + i % 9)),
             "label": labels[i % len(labels)]} for i in range(60)]
    (temp / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return temp / "data.jsonl", [row["text"] for row in rows[:8]]


def make_pictures(directory, temp, labels):
    pictures = []
    for i in range(60):
        folder = temp / "data" / labels[i % len(labels)]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = torch.arange(64 * 64 * 3).view(64, 64, 3) * (i + 3) % 251
        Image.fromarray(pixels.to(torch.uint8).numpy()).save(folder / f"{i}.png")
        pictures.append(folder / f"{i}.png")
    return temp / "data", pictures[:8]


def answers(build, model, out, item):
    """Our logits and those of transformers for one input."""
    flag = "--image" if is_image(model) else "--text"
    ours = json.loads(run(f"{build}/attnd-predict", "--model", out, flag, item, "--json", "--raw-logits"))
    with torch.no_grad():
        if is_image(model):
            processor = AutoImageProcessor.from_pretrained(out, use_fast=False)
            pixels = processor(Image.open(item).convert("RGB"), return_tensors="pt")["pixel_values"]
            logits = model(pixel_values=pixels).logits[0]
        else:
            logits = model(input_ids=torch.tensor([ours["ids"]])).logits[0]
    return torch.tensor(ours["logits"]), logits


def worst_of(build, out, items):
    model = model_of(out).eval()
    pairs = [answers(build, model, out, item) for item in items]
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in pairs)


def check_pruned(build, model, data, items, temp):
    for heads, mlp in ((0.25, 0.5), (0, 0.5), (0.25, 0)):
        out = temp / f"pruned-{heads}-{mlp}"
        done = subprocess.run([f"{build}/attnd-prune", "--model", model, "--data", data, "--out", out, "--epochs", "1",
                               "--heads", str(heads), "--mlp", str(mlp)], capture_output=True, text=True)
        if done.returncode == 2 and ("--heads 0" in done.stderr or "--mlp 0" in done.stderr):
            continue
        if done.returncode:
            sys.exit(f"attnd-prune: {done.returncode}\n{done.stderr}")
        worst = max(worst_of(build, written, items) for written in (out, next(out.glob("cut-*"))))
        print(f"| pruned {heads}, {mlp}: {worst:.1e}", end=" ")
        return worst < 1e-4
    print("| cannot be pruned", end=" ")
    return True


def check_written(build, directory, temp):
    source, out = temp / directory.name, temp / "out"
    shutil.copytree(directory, source)
    config = json.loads((source / "config.json").read_text())
    labels = list(config["id2label"].values())
    if len(labels) == 1:
        print("| one label: attnd-train has nothing to learn", end=" ")
        return True
    made = make_pictures if (source / "preprocessor_config.json").exists() else make_texts
    data, items = made(source, temp, labels)
    run(f"{build}/attnd-train", "--model", source, "--data", data, "--out", out, "--epochs", 1, "--rate", 0.001)
    worst = worst_of(build, out, items)
    print(f"| written: {worst:.1e}", end=" ")
    return worst < 1e-4 and check_pruned(build, out, data, items, temp)


def main():
    build, failed = sys.argv[1], []
    for directory in map(pathlib.Path, sys.argv[2:]):
        with tempfile.TemporaryDirectory() as temp:
            agrees = check_steps(build, directory)
            agrees = check_written(build, directory, pathlib.Path(temp)) and agrees
        print("" if agrees else "| DIFFERS", flush=True)
        if not agrees:
            failed.append(directory.name)
    if failed:
        sys.exit(f"not as PyTorch: {', '.join(failed)}")


if __name__ == "__main__":
    main()
