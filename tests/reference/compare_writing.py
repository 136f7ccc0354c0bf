"""Texts that attnd-predict writes beside generate() of transformers, for random inputs, greedy and four beams.

    python3 tests/reference/compare_writing.py --predict build/attnd-predict [--count 500] [--seed 5]
                                               [--lines FILE.jsonl] CHECKPOINT...

CHECKPOINT is a whole directory of a model that writes, with the cases.json of the golden checkpoints beside
it (languages and the number of new tokens are taken from it). Inputs are, for texts: lines of FILE's member
`text`, words of them mixed, random characters of several scripts, lines as testers print them; for images:
noise, blocks and gradients of random sizes. A checkpoint with a SentencePiece model alone is compared with
the slow tokenizer. Prints how many ids of the input and how many outputs are equal, and the first that
differs; ends with 1 if one does. Needs torch, transformers 4.57, sentencepiece, protobuf, numpy, and Pillow up
to 12 (13 resizes in another way).
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForSeq2SeqLM, AutoTokenizer, VisionEncoderDecoderModel

RANGES = ((0x21, 0x7E), (0x21, 0x7E), (0xA1, 0x17F), (0x400, 0x44F), (0x4E00, 0x4E40))


def random_text(draw, lines):
    kind = draw.random()
    if lines and kind < 0.5:
        return draw.choice(lines)[:draw.randint(1, 120)].strip() or "a"
    if lines and kind < 0.7:
        return " ".join(draw.choice(draw.choice(lines).split()) for _ in range(draw.randint(1, 12)))
    if kind < 0.85:
        characters = (chr(draw.randint(*draw.choice(RANGES))) if draw.random() < 0.8 else " "
                      for _ in range(draw.randint(1, 40)))
        return "".join(characters).strip() or "b"
    return f"PASS {draw.randint(0, 9999)} {draw.random() * 10:.3f} V site {draw.randint(0, 7)}"


def random_image(draw):
    width, height, kind = draw.integers(8, 120), draw.integers(8, 120), draw.integers(0, 3)
    if kind == 0:
        return draw.integers(0, 256, (height, width, 3), dtype=np.uint8)
    if kind == 1:
        blocks = draw.integers(0, 256, ((height + 7) // 8, (width + 7) // 8, 3))
        return np.kron(blocks, np.ones((8, 8, 1)))[:height, :width].astype(np.uint8)
    grey = 128 + 40 * draw.standard_normal((height, width)) + np.linspace(-60, 60, width)
    return np.clip(grey, 0, 255).astype(np.uint8)[..., None].repeat(3, 2)


class Texts:
    """The inputs of a checkpoint that reads texts, as its tokenizer makes them."""

    def __init__(self, checkpoint, case, options, folder):
        is_slow = not (checkpoint / "tokenizer.json").exists()
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint, use_fast=not is_slow)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint, attn_implementation="eager")
        self.given, self.arguments = {}, []
        if case.get("src_lang"):
            self.tokenizer.src_lang = case["src_lang"]
            self.given["forced_bos_token_id"] = case["forced_bos_token_id"]
            self.arguments = ["--source-language", case["src_lang"], "--target-language", case["tgt_lang"]]
        draw = random.Random(options.seed)
        lines = [line.strip() for row in (open(options.lines, encoding="utf-8") if options.lines else [])
                 for line in json.loads(row)["text"].split("\n") if line.strip()]
        self.texts = [random_text(draw, lines) for _ in range(options.count)]
        path = pathlib.Path(folder) / "texts"
        path.write_text("\n".join(self.texts) + "\n", encoding="utf-8")
        self.arguments += ["--lines", str(path)]

    def __getitem__(self, i):
        encoded = self.tokenizer(self.texts[i], return_tensors="pt", truncation=True)
        encoded.pop("token_type_ids", None)
        return {**encoded, **self.given}


class Images:
    def __init__(self, checkpoint, _case, options, folder):
        self.processor = AutoImageProcessor.from_pretrained(checkpoint, use_fast=False)
        self.model = VisionEncoderDecoderModel.from_pretrained(checkpoint, attn_implementation="eager")
        draw = np.random.default_rng(options.seed)
        self.arguments = [f"{folder}/{i:05d}.png" for i in range(options.count)]
        for path in self.arguments:
            Image.fromarray(random_image(draw)).save(path)

    def __getitem__(self, i):
        return dict(self.processor(Image.open(self.arguments[i]).convert("RGB"), return_tensors="pt"))


def compare(checkpoint, options):
    cases = json.loads((checkpoint / "cases.json").read_text(encoding="utf-8"))
    new_tokens, differing = cases["max_new_tokens"], 0
    with tempfile.TemporaryDirectory() as folder:
        inputs = (Images if "image" in cases["cases"][0] else Texts)(checkpoint, cases["cases"][0], options, folder)
        padding = inputs.model.eval().float().generation_config.pad_token_id
        for beams in (1, 4):
            done = subprocess.run(
                [options.predict, "--model", str(checkpoint), "--raw-logits", "--num-beams", str(beams),
                 "--max-new-tokens", str(new_tokens), *inputs.arguments], capture_output=True, text=True, check=True)
            answers = [json.loads(line) for line in done.stdout.splitlines()]
            ids = same = 0
            for i, answer in enumerate(answers):
                given = inputs[i]
                ids += "ids" not in answer or given["input_ids"][0].tolist() == answer["ids"]
                with torch.no_grad():
                    theirs = inputs.model.generate(**given, num_beams=beams, max_new_tokens=new_tokens,
                                                   do_sample=False)[0].tolist()[1:]
                ours = answer["output_ids"]
                is_same = theirs[:len(ours)] == ours and set(theirs[len(ours):]) <= {padding}
                if not is_same and same == i:
                    print(f"  input {i}: {ours}, and transformers {theirs}")
                same += is_same
            print(f"{checkpoint.name}, {beams} beams: ids {ids} of {len(answers)}, outputs {same} of {len(answers)}",
                  flush=True)
            differing += 2 * options.count - ids - same
    return differing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--predict", default="build/attnd-predict")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--lines")
    parser.add_argument("checkpoints", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    sys.exit(1 if sum(compare(checkpoint, options) for checkpoint in options.checkpoints) else 0)


if __name__ == "__main__":
    main()
