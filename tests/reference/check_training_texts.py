"""Are models that write trained as PyTorch trains them, and is what attnd-train writes what transformers opens?

    VENV/bin/python tests/reference/check_training_texts.py BUILD CHECKPOINT...

CHECKPOINT is a whole directory of a model that writes, with the cases.json of the golden checkpoints beside it
(languages and pictures are taken from it). For each, with and without label smoothing:

1. Three steps from its weights over one batch of texts to write (fp32, clipping at 1, AdamW, no dropout), by
   attnd-train and by PyTorch with the labels and the loss of transformers: losses equal to five digits, and how
   far the weights are apart after them, in learning rates.
2. transformers opens what was written: every tensor has a place, the loss of the same batch is attnd-train's
   validation loss to five digits, and its greedy texts are those of attnd-predict.

Ends with 1 if one of these is not so. VENV has torch, transformers 4.57, sentencepiece and Pillow.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForSeq2SeqLM, AutoTokenizer, VisionEncoderDecoderModel

STEPS, RATE, DECAY, ROWS = 3, 1e-3, 0.01, 6
UNUSED = ("encoder.pooler.", "_float_tensor")  # in the class, and never read: attnd does not write them
WORDS = ["scan", "chain", "fail", "pass", "leak", "volt", "bin", "site", "pin", "reset", "clock", "memory"]
transformers.logging.set_verbosity_error()


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def words_of(i, count):
    return " ".join(WORDS[(i * 7 + k * 5) % len(WORDS)] for k in range(count))


class Texts:
    """A checkpoint that reads texts; the batch's rows have unequal lengths on both sides."""
    kind, opens = "text", AutoModelForSeq2SeqLM

    def __init__(self, checkpoint, cases, _images):
        case = cases["cases"][0]
        is_slow = not (checkpoint / "tokenizer.json").exists()
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint, use_fast=not is_slow)
        self.arguments, self.given = [], {}
        if case.get("src_lang"):
            self.tokenizer.src_lang, self.tokenizer.tgt_lang = case["src_lang"], case["tgt_lang"]
            self.arguments = ["--source-language", case["src_lang"], "--target-language", case["tgt_lang"]]
            self.given = {"forced_bos_token_id": case["forced_bos_token_id"]}
        self.inputs = [words_of(i, 2 + i % 5) for i in range(ROWS)]
        self.targets = [words_of(i + 3, 1 + (i * 3) % 5) for i in range(ROWS)]
        self.encoded = self.tokenizer(self.inputs, return_tensors="pt", padding=True)
        self.encoded.pop("token_type_ids", None)
        self.labels = self.tokenizer(text_target=self.targets).input_ids


class Images:
    """One that reads pictures, of the golden directory."""
    kind, opens = "image", VisionEncoderDecoderModel

    def __init__(self, checkpoint, cases, images):
        self.processor = AutoImageProcessor.from_pretrained(checkpoint, use_fast=False)
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.arguments, self.given = [], {}
        self.inputs = [str(images / case["image"]) for case in cases["cases"]][:ROWS]
        self.targets = [words_of(i + 3, 1 + (i * 3) % 4) for i in range(len(self.inputs))]
        pictures = [Image.open(path).convert("RGB") for path in self.inputs]
        self.encoded = {"pixel_values": torch.cat(
            [self.processor(picture, return_tensors="pt")["pixel_values"] for picture in pictures])}
        self.labels = self.tokenizer(self.targets).input_ids


def without_dropout(model):
    for module in model.modules():
        for name in ("p", "drop_prob", "dropout", "attention_dropout", "activation_dropout", "dropout_rate", "layerdrop"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def open_model(kind, directory):
    model, told = kind.opens.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager",
                                             output_loading_info=True)
    return without_dropout(model), told


def padded(labels):
    width = max(map(len, labels))
    return torch.tensor([row + [-100] * (width - len(row)) for row in labels])


def loss_of(model, kind, smoothing):
    """The class's own loss, but for pictures: VisionEncoderDecoderModel of 4.57 shifts labels once more."""
    labels = padded(kind.labels)
    out = model(**kind.encoded, labels=labels)
    if smoothing == 0 and kind.kind == "text":
        return out.loss
    return torch.nn.functional.cross_entropy(out.logits.view(-1, out.logits.shape[-1]), labels.view(-1),
                                             label_smoothing=smoothing)


def torch_losses(model, kind, smoothing):
    model.train()
    named = list(model.named_parameters())
    groups = [{"params": [p for _, p in named if p.ndim > 1], "weight_decay": DECAY},
              {"params": [p for _, p in named if p.ndim <= 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    for _ in range(STEPS):
        loss = loss_of(model, kind, smoothing)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


def train(build, checkpoint, kind, smoothing, temp):
    data, out = temp / "data.jsonl", temp / "out"
    data.write_text("".join(json.dumps({kind.kind: given, "target": target}) + "\n"
                            for given, target in zip(kind.inputs, kind.targets)), encoding="utf-8")
    run(f"{build}/attnd-train", "--task", "seq2seq", "--model", checkpoint, "--data", data, "--validation", data,
        "--out", out, "--epochs", STEPS, "--batch", ROWS, "--micro-tokens", 64, "--rate", RATE, "--warmup", 0,
        "--rate-floor", 1, "--weight-decay", DECAY, "--clip", 1, "--precision", "f32", "--keep", "last", "--threads", 2, "--store", "f32",
        "--label-smoothing", smoothing, *kind.arguments)
    return out, json.loads((out / "report.json").read_text(encoding="utf-8"))["epochs"]


def worst_of(ours, theirs):
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


def weights_apart(ours, theirs):
    """Largest and mean difference of the learnt weights, in learning rates."""
    mine, sums, count, worst = dict(ours.named_parameters()), 0.0, 0, 0.0
    for name, their in theirs.named_parameters():
        if name.startswith(UNUSED[0]):
            continue
        apart = (mine[name] - their).abs().detach() / RATE
        sums, count, worst = sums + apart.sum().item(), count + apart.numel(), max(worst, apart.max().item())
    return worst, sums / count


def texts_are_equal(build, out, model, kind):
    """Greedy texts of attnd-predict and of generate(), as ids without start and padding."""
    flag = "--image" if kind.kind == "image" else "--text"
    told = run(f"{build}/attnd-predict", "--model", out, "--json", "--raw-logits", "--num-beams", 1,
               "--max-new-tokens", 12, *kind.arguments, *(word for text in kind.inputs for word in (flag, text)))
    ours = [json.loads(line)["output_ids"] for line in told.splitlines()]
    with torch.no_grad():
        theirs = model.generate(**kind.encoded, **kind.given, num_beams=1, max_new_tokens=12, do_sample=False)
    return sum(row.tolist()[1:][:len(ids)] == ids for row, ids in zip(theirs, ours, strict=True)), len(ours)


def check(build, checkpoint, smoothing):
    cases = json.loads((checkpoint / "cases.json").read_text(encoding="utf-8"))
    kind = (Images if "image" in cases["cases"][0] else Texts)(checkpoint, cases, checkpoint.parent / "images")
    with tempfile.TemporaryDirectory() as folder:
        out, epochs = train(build, checkpoint, kind, smoothing, pathlib.Path(folder))
        theirs_model, _ = open_model(kind, checkpoint)
        theirs = list(torch_losses(theirs_model, kind, smoothing))
        ours = [epoch["train_loss"] for epoch in epochs]
        written, told = open_model(kind, out)
        written.eval()
        with torch.no_grad():
            again = loss_of(written, kind, smoothing).item()
        same, count = texts_are_equal(build, out, written, kind)
    losses, read = worst_of(ours, theirs), worst_of([epochs[-1]["validation_loss"]], [again])
    worst, mean = weights_apart(written, theirs_model)
    lost = [name for name in told["missing_keys"] + told["unexpected_keys"] if not any(word in name for word in UNUSED)]
    print(f"{checkpoint.name:12} {smoothing:.1f} {' '.join(f'{a:.6f}' for a in ours)} | "
          f"{' '.join(f'{b:.6f}' for b in theirs)} | {losses:.1e} weights {worst:.2g} {mean:.1e} "
          f"| read back {read:.1e} texts {same}/{count} {lost or ''}", flush=True)
    return losses < 1e-5 and read < 1e-5 and mean < 0.02 and same == count and not lost


def main():
    build, checkpoints = sys.argv[1], [pathlib.Path(path).resolve() for path in sys.argv[2:]]
    passed = [check(build, checkpoint, smoothing) for checkpoint in checkpoints for smoothing in (0.0, 0.1)]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
