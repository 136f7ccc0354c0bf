"""Training steps side by side with PyTorch, alternating step by step: the same two models from the same
weights, the same inputs, fp32, as many threads; forward, loss, backward, clipping and AdamW. Needs torch
and transformers.

    python3 tests/bench/train_peer.py [--runs 11] [--threads 2] [--bench build/attnd-bench]

The models: ViT of 192 x 6 with patches of 8 at 96 pixels (wafer-vit's shape), batches of 64; BERT of
384 x 6 (MiniLM's shape) at 256 tokens, batches of 16. Both sides take one untimed step each before every
timed one. The losses of the first five steps are printed side by side: that they agree shows that both do
the same work. The output is Markdown, ready for loadtest/RESULTS.md.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--runs", type=int, default=11)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--bench", default="build/attnd-bench")
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402  (after OMP_NUM_THREADS)
import transformers  # noqa: E402

TARGET = 1.5  # our samples a second over PyTorch's
STRIDE, WORDS, FIRST_WORD, TOKENS = 7919, 20000, 1000, 256  # tests/bench/steps.h
ROWS = {"vit": 64, "bert": 16}
LABELS = 10


def make_models(folder):
    torch.manual_seed(0)
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "num_labels": LABELS}
    vit = transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=192, num_hidden_layers=6, num_attention_heads=3, intermediate_size=768, image_size=96,
        patch_size=8, **none))
    bert = transformers.BertForSequenceClassification(transformers.BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, **none))
    for name, model in (("vit", vit), ("bert", bert)):
        model.save_pretrained(f"{folder}/{name}")
    return {"vit": vit, "bert": bert}


def inputs(kind):
    rows = ROWS[kind]
    if kind == "bert":
        index = torch.arange(rows * TOKENS).view(rows, TOKENS)
        return {"input_ids": FIRST_WORD + STRIDE * index % WORDS}
    index = torch.arange(rows * 3 * 96 * 96).view(rows, 3, 96, 96)
    return {"pixel_values": (STRIDE * index % 255).float() / 127.5 - 1}


class Torch:
    def __init__(self, kind, model):
        self.model = model.train()
        decayed = [p for n, p in model.named_parameters() if p.ndim > 1]
        others = [p for n, p in model.named_parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01},
                                            {"params": others, "weight_decay": 0.0}], lr=1e-4)
        self.inputs = inputs(kind)
        self.labels = torch.arange(ROWS[kind]) % LABELS

    def step(self):
        start = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(self.model(**self.inputs).logits, self.labels)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return (time.perf_counter() - start) * 1e3, loss.item()


class Ours:
    def __init__(self, folder, kind, dtype):
        self.line = f"{dtype} {ROWS[kind]} {folder}/{kind}\n"
        self.process = subprocess.Popen(
            [options.bench, "steps", "--threads", str(options.threads)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)

    def step(self):
        self.process.stdin.write(self.line)
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            sys.exit(f"train_peer.py: {options.bench} ended")
        return float(answer[0]), float(answer[1])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(folder, kind, model):
    sides = {"PyTorch f32": Torch(kind, model), "attnd f32": Ours(folder, kind, "f32"),
             "attnd bf16": Ours(folder, kind, "bf16")}
    losses = {name: [side.step()[1] for _ in range(5)] for name, side in sides.items()}
    times = {name: [] for name in sides}
    for _ in range(options.runs):
        for name, side in sides.items():
            side.step()
            times[name].append(side.step()[0])
    for name, side in sides.items():
        if isinstance(side, Ours):
            side.close()
        print(f"{kind}: losses of {name}: {' '.join(f'{loss:.5f}' for loss in losses[name])}", file=sys.stderr)
    base = statistics.median(times["PyTorch f32"])
    for name in sides:
        median = statistics.median(times[name])
        ratio = base / median
        verdict = f">= {TARGET} **{'met' if ratio >= TARGET else 'missed'}**" if name == "attnd f32" else "-"
        print(f"| {kind} x {ROWS[kind]} | {name} | {median:.1f} ({min(times[name]):.1f}) "
              f"| {ROWS[kind] / median * 1e3:.1f} | {ratio:.2f} | {verdict} |", flush=True)


def main():
    torch.set_num_threads(options.threads)
    print("| step | by | ms, median (minimum) | samples/s | x PyTorch | target |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        models = make_models(folder)
        for kind, model in models.items():
            compare(folder, kind, model)
    print(f"\ntorch {torch.__version__}, transformers {transformers.__version__}, {options.threads} threads")


if __name__ == "__main__":
    main()
