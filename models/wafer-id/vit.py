"""A rival: a ViT with one head a position. It writes all characters at once, so it has no decoder that steps.

    python3 models/wafer-id/vit.py OUT.pt LEARN/train.jsonl ... [--start models/wafer-id] [--minutes 20]
    chances = Reader("OUT.pt").chances(pictures)
    texts = [checked_text_of(of_picture) for of_picture in chances]

The encoder is that of the checkpoint --start, with its weights. Eighteen queries and one for the end look at its
patches through one layer of a decoder without a mask, and each has a head of its own: 38 characters and the end (as
ViTSTR has its first outputs; Atienza, ICDAR 2021). For the first tenth of the minutes the encoder stands still.
Minutes are of the processor. The check is obeyed by dynamic programming over the sum modulo 59 (matcher.py), which
leaves out no text of the three likeliest lengths. Needs PyTorch, transformers, numpy and Pillow.
"""
import argparse
import json
import math
import pathlib
import time

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional
from transformers import ViTConfig, ViTModel

from matcher import most_likely
from semi_check import CHARACTERS

LENGTH, SHORTEST, END = 18, 7, len(CHARACTERS)
BATCH, WARM_UP, STILL, LENGTHS_TRIED = 64, 100, 0.1, 3
ENCODER_RATE, RATE = 3e-4, 1e-3


class Vit(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["hidden_size"]
        self.config = config
        self.encoder = ViTModel(ViTConfig.from_dict(config), add_pooling_layer=False)
        self.queries = nn.Parameter(torch.randn(LENGTH + 1, width))
        self.look = nn.TransformerDecoderLayer(width, config["num_attention_heads"], 4 * width, dropout=0.0,
                                               activation="gelu", batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(width)
        self.heads = nn.Parameter(torch.randn(LENGTH + 1, width, END + 1) * 0.02)
        self.biases = nn.Parameter(torch.zeros(LENGTH + 1, END + 1))

    def forward(self, pictures):
        """Logits [b, LENGTH + 1, END + 1] of pictures [b, height, width] of bytes."""
        pixels = torch.from_numpy(pictures).float().div_(127.5).sub_(1)[:, None].expand(-1, 3, -1, -1)
        states = self.encoder(pixels).last_hidden_state
        seen = self.look(self.queries.expand(len(pictures), -1, -1), states)
        return torch.einsum("bpw,pwc->bpc", self.norm(seen), self.heads) + self.biases


def targets_of(texts):
    """Characters [b, LENGTH + 1], the end behind them, -100 from there on."""
    targets = torch.full((len(texts), LENGTH + 1), -100)
    for row, text in zip(targets, texts):
        row[:len(text) + 1] = torch.tensor([CHARACTERS.index(c) for c in text] + [END])
    return targets


def learn(vit, rows, minutes, seed):
    """rows: (path, text). Returns the number of pictures learnt."""
    rng, order, losses, learnt = np.random.default_rng(seed), [], [], 0
    groups = [{"params": list(vit.encoder.parameters()), "most": ENCODER_RATE},
              {"params": [p for name, p in vit.named_parameters() if not name.startswith("encoder.")], "most": RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.02, betas=(0.9, 0.99))
    begin, step = time.process_time(), 0
    while (spent := (time.process_time() - begin) / (60 * minutes)) < 1:
        if len(order) < BATCH:
            order = list(rng.permutation(len(rows)))
        chosen, order = [rows[i] for i in order[:BATCH]], order[BATCH:]
        vit.encoder.requires_grad_(spent > STILL)
        share = min(1, (step + 1) / WARM_UP) * 0.5 * (1 + math.cos(math.pi * spent))
        for group in optimizer.param_groups:
            group["lr"] = share * group["most"]
        logits = vit(np.stack([np.asarray(Image.open(path)) for path, _ in chosen]))
        loss = functional.cross_entropy(logits.flatten(0, 1), targets_of([text for _, text in chosen]).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(vit.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        step, learnt = step + 1, learnt + BATCH
        if step % 50 == 0:
            print(f"{learnt} pictures, {100 * spent:.1f} %: loss {np.mean(losses):.4f}", flush=True)
            losses = []
    return learnt


def text_of(chances):
    """The likeliest character of each position [LENGTH + 1, END + 1] until the end."""
    best = list(chances.argmax(1))
    count = best.index(END) if END in best else LENGTH
    return "".join(CHARACTERS[i] for i in best[:count])


def checked_text_of(chances):
    """The likeliest text whose check characters hold, of logarithms [LENGTH + 1, END + 1]; "" for no mark."""
    if chances[0].argmax() == END:
        return ""
    totals = np.concatenate(([0], np.cumsum(chances[:, :END].max(1))[:LENGTH])) + chances[:, END]
    found = []
    for count in sorted(range(SHORTEST, LENGTH + 1), key=lambda n: -totals[n])[:LENGTHS_TRIED]:
        text = most_likely(chances[:count, :END])
        found.append((sum(chances[i, CHARACTERS.index(c)] for i, c in enumerate(text)) + chances[count, END], text))
    return max(found)[1]


class Reader:
    def __init__(self, path):
        kept = torch.load(path, weights_only=True)
        self.vit = Vit(kept["config"]).eval()
        self.vit.load_state_dict(kept["weights"])

    @torch.inference_mode()
    def chances(self, pictures):
        """Logarithms of probabilities [b, LENGTH + 1, END + 1]."""
        return np.concatenate([self.vit(np.stack(pictures[i:i + BATCH])).log_softmax(-1).numpy()
                               for i in range(0, len(pictures), BATCH)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("lists", nargs="+", type=pathlib.Path)
    parser.add_argument("--start", type=pathlib.Path, default=pathlib.Path("models/wafer-id"))
    parser.add_argument("--minutes", type=float, default=20, help="of the processor")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    rows = [(path.parent / row["image"], row["target"]) for path in options.lists
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())]
    vit = Vit(json.loads((options.start / "config.json").read_text(encoding="utf-8"))["encoder"])
    vit.encoder.load_state_dict({name.removeprefix("encoder."): weight for name, weight
                                 in load_file(options.start / "model.safetensors").items()
                                 if name.startswith("encoder.")})
    learnt = learn(vit.train(), rows, options.minutes, options.seed)
    torch.save({"config": vit.config, "weights": vit.state_dict()}, options.out)
    print(f"{learnt} pictures in {options.minutes:g} minutes of the processor")


if __name__ == "__main__":
    main()
