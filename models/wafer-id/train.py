"""Trains a reader of wafer IDs with PyTorch and writes it as a checkpoint of transformers that attnd opens as it is.

    python3 models/wafer-id/train.py OUT [--pictures N] [--minutes M] [--pool DIR] [--start CHECKPOINT] [--shares ...]

The model has TrOCR's shape (Li et al., "TrOCR", AAAI 2023): a ViT reads 48 x 320 pixels in patches of 16 x 8, 3 x 40 of
them, and a decoder writes the ID character by character, and nothing where there is no mark. It learns pictures of the
set train, drawn into DIR (15 kB each), each time moved by some pixels, inverted or not, and of another contrast; at
first clean ones alone. With --fresh N a step draws N more, which take the place of the oldest in memory. To learn from
few pictures the encoder begins as a convolution does (look_around), Muon turns the matrices, and two outputs that exist
in training alone tell for each column of patches which character's middle lies in it and the place of that character in
the ID, which we know, for we drew the mark.
--start goes on from a checkpoint of this program, or from one in float16, whose two outputs of training are learnt anew.
--processes learn together and take a core each. Needs PyTorch, transformers, numpy and Pillow.
"""
import argparse
import copy
import itertools
import json
import math
import multiprocessing
import pathlib
import time

import numpy as np
import torch
from safetensors.torch import load_model
from torch import nn
from torch.nn import functional
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (PreTrainedTokenizerFast, TrOCRConfig, TrOCRForCausalLM, ViTConfig, ViTImageProcessor,
                          ViTModel, VisionEncoderDecoderConfig, VisionEncoderDecoderModel)

from draw import HEIGHT, WIDTH
from make_wafer_ids import MIX, draw
from semi_check import CHARACTERS

PATCH = (16, 8)
COLUMNS = WIDTH // PATCH[1]
LENGTH = 18                                   # the longest ID
COLUMNS_FILE = "training_columns.pt"          # beside the checkpoint, for --start
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]  # TrOCR's order; a text begins and ends with </s>
PAD, END, FIRST = 1, 2, len(SPECIALS)
NO_CHARACTER = len(CHARACTERS)                # of a column
MOVE, WARM_UP, JUDGEMENTS, STEPS_ALONE, DECAY = 4, 100, 6, 8, 0.02


# Pictures.

def draw_part(part):
    """(pictures, texts, middles [count, LENGTH, 2]) of the set train."""
    seed, first, count, difficulty = part
    drawn = [draw(seed, "train", first + i, difficulty) for i in range(count)]
    middles = np.full((count, LENGTH, 2), -1, np.float32)
    for row, (_, fields) in zip(middles, drawn):
        if fields["target"]:
            row[:len(fields["middles"])] = fields["middles"]
    return np.stack([picture for picture, _ in drawn]), [fields["target"] for _, fields in drawn], middles


def make_pool(path, seed, first, count, difficulty, processes):
    """Draws `count` pictures into path.npy and what stands on them into path.npz, unless they are there."""
    if not path.with_suffix(".npz").exists():
        parts = [(seed, first + i, min(500, count - i), difficulty) for i in range(0, count, 500)]
        pictures = np.lib.format.open_memmap(path.with_suffix(".npy"), "w+", np.uint8, (count, HEIGHT, WIDTH))
        texts, middles = [], []
        with multiprocessing.Pool(processes) as pool:
            for part, drawn in zip(parts, pool.imap(draw_part, parts)):
                at = part[1] - first
                pictures[at:at + part[2]] = drawn[0]
                texts += drawn[1]
                middles.append(drawn[2])
        np.savez(path.with_suffix(".npz"), texts=np.array(texts), mid=np.concatenate(middles))
    told = np.load(path.with_suffix(".npz"))
    return np.load(path.with_suffix(".npy"), mmap_mode="c"), told["texts"].astype(f"<U{LENGTH}"), told["mid"]


class Pictures:
    """Pictures of one difficulty. They are read as they are asked for; renew() changes them in memory alone."""
    def __init__(self, pool, difficulty):
        self.pictures, self.texts, self.middles = pool
        self.difficulty, self.oldest = difficulty, 0

    def __len__(self):
        return len(self.texts)

    def renew(self, seed, number):
        """Picture `number` of the set train takes the place of the oldest."""
        at, self.oldest = self.oldest, (self.oldest + 1) % len(self)
        self.pictures[at], fields = draw(seed, "train", number, self.difficulty)
        self.texts[at], self.middles[at] = fields["target"], -1
        if fields["target"]:
            self.middles[at, :len(fields["middles"])] = fields["middles"]

    def batch(self, chosen):
        """pixels [b, 1, HEIGHT, WIDTH], texts, middles."""
        pixels = torch.from_numpy(self.pictures[chosen]).float().div_(127.5).sub_(1)[:, None]
        return pixels, [str(text) for text in self.texts[chosen]], self.middles[chosen]


def change(pixels, middles, rng):
    """The pictures moved by some pixels, each inverted or not and of another contrast; and the middles in them."""
    dy, dx = (int(step) for step in rng.integers(-MOVE, MOVE + 1, 2))
    pixels = functional.pad(pixels, (MOVE,) * 4, mode="replicate")
    pixels = pixels[:, :, MOVE + dy:MOVE + dy + HEIGHT, MOVE + dx:MOVE + dx + WIDTH]
    count = len(pixels)
    gain = rng.choice((-1, 1), count) * rng.uniform(0.8, 1.1, count)
    pixels = pixels * torch.tensor(gain, dtype=torch.float32)[:, None, None, None]
    pixels = pixels + torch.tensor(rng.normal(0, 0.06, count), dtype=torch.float32)[:, None, None, None]
    return pixels.clamp(-1, 1), np.where(middles >= 0, middles - (dx, dy), -1)


def batch_of(pools, shares, count, rng):
    """Pixels, texts, middles of `count` pictures, of each difficulty its share, each changed at random."""
    parts = []
    for pool, of_pool in zip(pools, rng.multinomial(count, shares)):
        if of_pool > 0:
            pixels, texts, middles = pool.batch(rng.integers(0, len(pool), of_pool))
            pixels, middles = change(pixels, middles, rng)
            parts.append((pixels, texts, middles))
    pixels, texts, middles = zip(*parts)
    return torch.cat(pixels), list(itertools.chain(*texts)), np.concatenate(middles)


def targets_of(texts, middles):
    """Ids [b, LENGTH + 1] of the decoder, -100 behind the end; characters and places of columns [b, COLUMNS]."""
    ids = torch.full((len(texts), LENGTH + 1), -100)
    characters = torch.full((len(texts), COLUMNS), NO_CHARACTER)
    places = torch.full((len(texts), COLUMNS), -100)
    for row, (text, middle) in enumerate(zip(texts, middles)):
        codes = [CHARACTERS.index(c) for c in text]
        ids[row, :len(codes) + 1] = torch.tensor([FIRST + code for code in codes] + [END])
        for i, code in enumerate(codes):
            column = min(max(int(middle[i, 0]) // PATCH[1], 0), COLUMNS - 1)
            characters[row, column], places[row, column] = code, i
    return ids, characters, places


# The model.

PACES = 0.06 * 1.7 ** torch.arange(8)  # radians a step, of each axis
OFFSETS = (((0, 1), (0, -1), (1, 0), (-1, 0)), ((0, 2), (0, -2), (0, 1), (0, -1)))  # rows and columns, for each head
CHANNELS, PEAK = 4 * len(PACES), 14.0


def angles(rows, columns):
    """Sines and cosines of places, [n, CHANNELS]."""
    parts = [function(place[:, None] * PACES) for place in (rows.float(), columns.float())
             for function in (torch.sin, torch.cos)]
    return torch.cat(parts, 1)


def turn(row, column):
    """The matrix that turns the angles of a place into those of the place at this offset."""
    matrix, count = torch.zeros(CHANNELS, CHANNELS), len(PACES)
    for axis, step in enumerate((row, column)):
        sine, cosine = (torch.arange(count) + (2 * axis + part) * count for part in (0, 1))
        matrix[sine, sine] = matrix[cosine, cosine] = torch.cos(PACES * step)
        matrix[sine, cosine], matrix[cosine, sine] = torch.sin(PACES * step), -torch.sin(PACES * step)
    return matrix


@torch.no_grad()
def look_around(encoder):
    """Begins as a convolution does: each head looks at one neighbour (Zheng et al., "Structured Initialization for
    Attention in Vision Transformers", 2024). The first channels hold the place and nothing else."""
    width, down = encoder.config.hidden_size, HEIGHT // PATCH[0]
    head = width // encoder.config.num_attention_heads
    place = torch.arange(down * COLUMNS)
    embeddings = encoder.embeddings
    embeddings.position_embeddings.zero_()
    embeddings.position_embeddings[0, 1:, :CHANNELS] = angles(place // COLUMNS, place % COLUMNS)
    embeddings.cls_token[..., :CHANNELS] = 0
    projection = embeddings.patch_embeddings.projection
    projection.weight.normal_(0, 0.7 / math.sqrt(projection.weight[0].numel() / 3))
    projection.weight[:CHANNELS] *= 0.1
    for number, layer in enumerate(encoder.encoder.layer):
        attention = layer.attention.attention
        for linear in layer.modules():
            if isinstance(linear, nn.Linear):
                linear.weight.normal_(0, 1 / math.sqrt(width))
        for linear in (layer.attention.output.dense, layer.output.dense):
            linear.weight *= 0.5
            linear.weight[:CHANNELS] = 0
        # The norm makes |place|^2 about CHANNELS, and less in later layers, whose states have grown.
        gain = math.sqrt((1 + number) * PEAK * math.sqrt(head) / CHANNELS)
        attention.query.weight *= 0.2
        attention.key.weight *= 0.2
        for i in range(encoder.config.num_attention_heads):
            rows = slice(i * head, i * head + CHANNELS)
            attention.query.weight[rows, :CHANNELS] += gain * turn(*OFFSETS[number % 2][i % 4])
            attention.key.weight[rows, :CHANNELS] += gain * torch.eye(CHANNELS)


def make_model(options):
    width, heads = options.width, options.heads
    encoder = ViTConfig(hidden_size=width, num_hidden_layers=options.layers, num_attention_heads=heads,
                        intermediate_size=4 * width, image_size=[HEIGHT, WIDTH], patch_size=list(PATCH),
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    decoder = TrOCRConfig(vocab_size=FIRST + len(CHARACTERS), d_model=width, decoder_layers=options.decoder_layers,
                          decoder_attention_heads=heads, decoder_ffn_dim=4 * width, cross_attention_hidden_size=width,
                          activation_function="gelu", max_position_embeddings=32, dropout=0.0, attention_dropout=0.0,
                          activation_dropout=0.0, use_learned_position_embeddings=True, layernorm_embedding=True,
                          tie_word_embeddings=False, bos_token_id=0, pad_token_id=PAD, eos_token_id=END,
                          decoder_start_token_id=END, is_decoder=True, add_cross_attention=True)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        encoder, decoder, decoder_start_token_id=END, pad_token_id=PAD, eos_token_id=END, tie_word_embeddings=False)
    model = VisionEncoderDecoderModel(config=config, encoder=ViTModel(encoder, add_pooling_layer=False),
                                      decoder=TrOCRForCausalLM(decoder))
    look_around(model.encoder)
    return model


class Trained(nn.Module):
    """The model and its two outputs of training."""
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.columns = nn.Linear(model.encoder.config.hidden_size, NO_CHARACTER + 1 + LENGTH)

    def forward(self, pixels, ids):
        """Logits of the decoder [b, LENGTH + 1, vocabulary], of characters and of places [b, COLUMNS, .]."""
        states = self.model.encoder(pixels.expand(-1, 3, -1, -1)).last_hidden_state
        before = torch.cat((torch.full_like(ids[:, :1], END), ids[:, :-1].clamp(min=PAD)), 1)
        logits = self.model.decoder(input_ids=before, encoder_hidden_states=states, use_cache=False).logits
        columns = self.columns(states[:, 1:].unflatten(1, (-1, COLUMNS)).mean(1))
        return logits, columns[..., :NO_CHARACTER + 1], columns[..., NO_CHARACTER + 1:]


def loss_of(outputs, targets, column_share):
    """Sum of three cross entropies, `column_share` of the two of columns; and each of them."""
    parts = [functional.cross_entropy(out.float().flatten(0, 1), wanted.flatten())
             for out, wanted in zip(outputs, targets)]
    return parts[0] + column_share * (parts[1] + 0.5 * parts[2]), [part.item() for part in parts]


# Training.

def judge(trained, pictures, count):
    """Share of pictures all of whose tokens are right under teacher forcing: the exact match of greedy search."""
    right = 0
    trained.eval()
    with torch.inference_mode():
        for first in range(0, count, 100):
            pixels, texts, middles = pictures.batch(slice(first, first + 100))
            ids = targets_of(texts, middles)[0]
            right += int(((trained(pixels, ids)[0].argmax(-1) == ids) | (ids < 0)).all(1).sum())
    trained.train()
    return right / count


def rate_of(spent, step, most):
    return most * min(1, (step + 1) / WARM_UP) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * spent)))


class Sharing:
    """Weights that processes learn together: from time to time each adds its part of what it has learnt since the last
    time to the sum of all, and goes on from there (local SGD; Stich, ICLR 2019). Nobody waits for anybody."""
    def __init__(self, trained, weights, processes):
        self.trained, self.weights, self.processes = trained, weights, processes
        self.take()

    def take(self):
        self.last = self.weights.clone()
        nn.utils.vector_to_parameters(self.last.clone(), self.trained.parameters())

    def give(self):
        learnt = nn.utils.parameters_to_vector(self.trained.parameters()).detach() - self.last
        self.weights += learnt / self.processes
        self.take()


class Muon(torch.optim.Optimizer):
    """Steps of matrices in the direction of their momentum with all singular values made about one, by Newton and
    Schulz's iteration (Jordan et al., "Muon", 2024). From few pictures it learns more than AdamW."""
    def __init__(self, matrices, rate, momentum=0.95):
        super().__init__(matrices, {"lr": rate, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p)).lerp_(p.grad, 1 - group["momentum"])
                x = p.grad.lerp(mean, group["momentum"]).bfloat16()
                x = x / (x.norm() + 1e-7)
                is_tall = x.shape[0] > x.shape[1]
                x = x.T if is_tall else x
                for _ in range(5):
                    square = x @ x.T
                    x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
                x = x.T if is_tall else x
                p.mul_(1 - group["lr"] * DECAY)
                p.add_(x.float(), alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def make_optimizers(trained, options):
    """[(optimizer, its greatest rate)]. The outputs of columns learn faster: they may begin with nothing."""
    matrices = [p for name, p in trained.named_parameters() if p.dim() == 2 and "layer" in name and "embed" not in name]
    columns = list(trained.columns.parameters())
    chosen = {id(p) for p in matrices + columns}
    others = [p for p in trained.parameters() if id(p) not in chosen]
    return [(Muon(matrices, 0), options.matrix_rate),
            (torch.optim.AdamW(columns, weight_decay=0, betas=(0.9, 0.98)), options.column_rate),
            (torch.optim.AdamW(others, weight_decay=0, betas=(0.9, 0.98)), options.rate)]


def train(trained, pools, held, options, rank, sharing):
    """Learns until the minutes are over; clean pictures alone for the first of them."""
    optimizers, shares = make_optimizers(trained, options), np.array(options.shares)
    clean_alone = np.array([level == "clean" for level in MIX], float)
    rng, begin, sums, judged = np.random.default_rng([options.seed, rank]), time.monotonic(), [], 0
    numbers = itertools.count(2 * 10**6 + rank, options.processes)
    for step in itertools.count():
        spent = (time.monotonic() - begin) / (60 * options.minutes)
        if spent >= 1:
            break
        for optimizer, rate in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate_of(spent, step, rate)
        drawn = clean_alone if spent < options.clean_share else shares
        for pool, count in zip(pools, rng.multinomial(options.fresh, drawn)):
            for _ in range(count):
                pool.renew(options.seed, next(numbers))
        pixels, texts, middles = batch_of(pools, drawn, options.batch, rng)
        targets = targets_of(texts, middles)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            outputs = trained(pixels, targets[0])
        loss, parts = loss_of(outputs, targets, options.column_share)
        trained.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
        if options.processes > 1 and step % STEPS_ALONE == STEPS_ALONE - 1:
            sharing.give()
        sums.append(parts)
        if rank == 0 and step % 25 == 24:
            told = " ".join(f"{part:.4f}" for part in np.mean(sums, 0))
            print(f"step {step + 1}, {100 * spent:.1f} %: text, characters, places {told}", flush=True)
            sums = []
        if rank == 0 and int(spent * JUDGEMENTS) > judged:
            judged = int(spent * JUDGEMENTS)
            print(f"  {time.monotonic() - begin:.0f} s, exact " + ", ".join(
                f"{name} {judge(trained, one, len(one)):.4f}" for name, one in held.items()), flush=True)
            save(trained, options.out)
    if rank == 0:
        sharing.take()
        save(trained, options.out)
        save(trained, options.out / "float16", is_half=True)
        print(f"{step * options.batch * options.processes} pictures in {options.minutes:g} minutes, "
              f"{options.processes} times {time.process_time() / 60:.1f} of the processor", flush=True)


def run(rank, options, trained, weights, paths, held):
    """One of the processes that learn together."""
    torch.manual_seed(options.seed + rank)
    torch.set_num_threads(1)
    pools = [Pictures(make_pool(*path), path[4]) for path in paths]
    held = {name: Pictures(make_pool(*path), name) for name, path in held.items()}
    train(trained.train(), pools, held, options, rank, Sharing(trained, weights, options.processes))


# The checkpoint.

def save_tokenizer(out):
    """Byte-level BPE, as TrOCR's, with no merges: a character is a token. A target has no <s>, as in targets_of, so that
    attnd-train goes on from the checkpoint."""
    vocabulary = {token: i for i, token in enumerate(SPECIALS + list(CHARACTERS))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", END)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                            pad_token="<pad>", model_max_length=LENGTH + 2).save_pretrained(out)


def save(trained, out, is_half=False):
    """The checkpoint; in float16 it has half the size, and nothing to go on from."""
    out.mkdir(parents=True, exist_ok=True)
    model = copy.deepcopy(trained.model).half() if is_half else trained.model
    model.generation_config.update(decoder_start_token_id=END, eos_token_id=END, pad_token_id=PAD, bos_token_id=0,
                                   max_new_tokens=LENGTH + 1, max_length=None, num_beams=8, early_stopping=True,
                                   length_penalty=0.0)
    model.save_pretrained(out)
    ViTImageProcessor(size={"height": HEIGHT, "width": WIDTH}).save_pretrained(out)
    save_tokenizer(out)
    if is_half:
        return
    torch.save({name: value.clone() for name, value in trained.columns.state_dict().items()}, out / COLUMNS_FILE)


def shares_of(text):
    shares = [float(share) for share in text.split(",")]
    if len(shares) != len(MIX) or abs(sum(shares) - 1) > 1e-6:
        raise argparse.ArgumentTypeError(f"{len(MIX)} shares whose sum is 1: {', '.join(MIX)}")
    return shares


def start_from(trained, start):
    """The weights of a checkpoint; one in float16 has none for the two outputs of training, which begin with zeros."""
    load_model(trained.model, start / "model.safetensors")
    if (start / COLUMNS_FILE).exists():
        trained.columns.load_state_dict(torch.load(start / COLUMNS_FILE, weights_only=True))
    else:
        nn.init.zeros_(trained.columns.weight)
        nn.init.zeros_(trained.columns.bias)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pool", type=pathlib.Path, default=pathlib.Path("wafer-id-pool"))
    parser.add_argument("--pictures", type=int, default=200000)
    parser.add_argument("--clean-pictures", type=int, default=40000, help="least number of clean ones in the pool")
    parser.add_argument("--clean-share", type=float, default=0.2, help="of the time, in which clean marks are learnt")
    parser.add_argument("--shares", type=shares_of, default=list(MIX.values()),
                        help="of clean, medium and hard marks and of pictures without one: 0.08,0.2,0.6,0.12")
    parser.add_argument("--fresh", type=int, default=0, help="pictures that are drawn in each step")
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--start", type=pathlib.Path, help="a checkpoint of this program to go on from")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32, help="of each process")
    parser.add_argument("--rate", type=float, default=1e-3, help="of vectors and embeddings, by AdamW")
    parser.add_argument("--matrix-rate", type=float, default=0.01, help="of matrices, by Muon")
    parser.add_argument("--column-rate", type=float, default=1e-3, help="of the two outputs of training, by AdamW")
    parser.add_argument("--column-share", type=float, default=1, help="weight of their loss")
    parser.add_argument("--bf16", action="store_true", help="multiply in bfloat16")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=36)
    options = parser.parse_args()
    options.pool.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, (level, share) in enumerate(zip(MIX, options.shares)):
        count = max(1, round(share * options.pictures), options.clean_pictures if level == "clean" else 0)
        paths.append((options.pool / f"{level}-{options.seed}-{count}", options.seed, i * 10**6 // 2, count, level,
                      options.processes))
    held = {level: (options.pool / f"held-{level}", options.seed + 1, 0, 50, level, options.processes)
            for level in MIX}
    for path in (*paths, *held.values()):
        make_pool(*path)
    torch.manual_seed(options.seed)
    trained = Trained(make_model(options))
    if options.start:
        start_from(trained, options.start)
    trained.model.encoder.set_attn_implementation("eager")  # the backward pass of "sdpa" takes three times as long here
    print(f"{sum(p.numel() for p in trained.model.parameters())} weights", flush=True)
    weights = nn.utils.parameters_to_vector(trained.parameters()).detach().share_memory_()
    torch.multiprocessing.spawn(run, (options, trained, weights, paths, held), options.processes)


if __name__ == "__main__":
    main()
