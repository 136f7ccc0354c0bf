"""A model that writes beside CTranslate2, on the same weights, alternating run by run.

    python3 tests/bench/writing.py make DIR                   opus-mt-base's shape, seeded weights, and
                                                              CTranslate2's own forms of it
    python3 tests/bench/writing.py run DIR --bench build/attnd-bench [--runs 5] [--dtypes f32,bf16,int8]

The shape: 6 + 6 layers of 512, 8 heads, 65 001 words. Some 64 tokens are read, by all as many, and 64 are
written, none fewer; two threads. Each run is timed after one that is not. `make` needs torch, transformers 4.57, sentencepiece and
ctranslate2, and tokenizer files from tests/data/recoding/marian-0. The output is Markdown.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import time

WORDS, SOURCE_WORDS, TOKENS, THREADS = 65001, 32, 64, 2
SHAPES = ((1, 1), (1, 4), (8, 4))  # texts, beams
PEERS = {"f32": "float32", "int8": "int8"}
TOKENIZER = pathlib.Path("tests/data/recoding/marian-0")


def make(folder):
    import ctranslate2
    import torch
    from transformers import MarianConfig, MarianMTModel
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    config = MarianConfig(
        vocab_size=WORDS, decoder_vocab_size=WORDS, d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        activation_function="swish", scale_embedding=True, static_position_embeddings=True,
        pad_token_id=WORDS - 1, decoder_start_token_id=WORDS - 1, eos_token_id=0, bos_token_id=0,
        forced_eos_token_id=0, max_position_embeddings=512)
    MarianMTModel(config).eval().save_pretrained(folder)
    for name in ("source.spm", "target.spm", "special_tokens_map.json"):
        shutil.copy(TOKENIZER / name, folder)
    settings = json.loads((TOKENIZER / "tokenizer_config.json").read_text())
    settings.pop("added_tokens_decoder", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    words = json.loads((TOKENIZER / "vocab.json").read_text())
    words.pop("<pad>")
    words.update({f"word{i}": i for i in range(max(words.values()) + 1, WORDS - 1)})
    (folder / "vocab.json").write_text(json.dumps({**words, "<pad>": WORDS - 1}))
    for dtype in PEERS.values():
        ctranslate2.converters.TransformersConverter(str(folder)).convert(
            str(folder / f"ct2-{dtype}"), quantization=dtype, force=True)


class Own:
    def __init__(self, bench, folder, dtype):
        self.process = subprocess.Popen(
            [bench, "writing", "--models", folder, "--dtype", dtype, "--threads", str(THREADS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, texts, beams):
        self.process.stdin.write(f"{texts} {beams} {SOURCE_WORDS} {TOKENS}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer and answer[0] != "refused", answer
        assert len(answer) == 2 + TOKENS, len(answer)
        self.source = int(answer[1])
        return float(answer[0])


class Peer:
    def __init__(self, folder, dtype, source):
        import ctranslate2
        words = json.loads((folder / f"ct2-{dtype}" / "shared_vocabulary.json").read_text())
        self.source = [words[10 + i % 50] for i in range(source - 1)] + ["</s>"]
        self.model = ctranslate2.Translator(str(folder / f"ct2-{dtype}"), device="cpu", intra_threads=THREADS,
                                            inter_threads=1, compute_type=dtype)

    def __call__(self, texts, beams):
        began = time.monotonic()
        results = self.model.translate_batch([self.source] * texts, beam_size=beams, max_batch_size=64,
                                             min_decoding_length=TOKENS, max_decoding_length=TOKENS)
        milliseconds = 1e3 * (time.monotonic() - began)
        assert all(len(result.hypotheses[0]) == TOKENS for result in results)
        return milliseconds


def run(options):
    ways = {f"attnd {dtype}": Own(options.bench, options.folder, dtype) for dtype in options.dtypes.split(",")}
    first = next(iter(ways.values()))
    first(1, 1)
    ways.update({f"CTranslate2 {name}": Peer(options.folder, dtype, first.source) for name, dtype in PEERS.items()})
    print(f"{first.source} tokens read, {TOKENS} written, medians of {options.runs}\n")
    print("| texts x beams | " + " | ".join(ways) + " | f32 | int8 |")
    print("|---" * (len(ways) + 3) + "|")
    for texts, beams in SHAPES:
        times = {way: [] for way in ways}
        for _ in range(options.runs):
            for way, write in ways.items():
                write(texts, beams)
                times[way].append(write(texts, beams))
        middle = {way: statistics.median(each) for way, each in times.items()}
        cells = [f"{ms:.0f} ms, {ms / TOKENS:.2f} a token" for ms in middle.values()]
        ratios = [f"{middle[f'attnd {d}'] / middle[f'CTranslate2 {d}']:.2f}" if f"attnd {d}" in middle else ""
                  for d in PEERS]
        print(f"| {texts} x {beams} | " + " | ".join(cells + ratios) + " |", flush=True)
    for way in ways.values():
        if isinstance(way, Own):
            way.process.stdin.close()
            way.process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("make", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bench", default="build/attnd-bench")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dtypes", default="f32,bf16,int8")
    options = parser.parse_args()
    make(options.folder) if options.what == "make" else run(options)


if __name__ == "__main__":
    main()
