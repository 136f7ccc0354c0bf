"""Embeddings of texts of mixed lengths beside sentence-transformers (PyTorch) and fastembed (ONNX
Runtime): the same weights, the same texts, two threads each, alternating run by run.

    python3 tests/bench/embeddings.py --attnd build/attnd --model DIR --texts FILE.jsonl
                                      [--texts-max 512] [--runs 5] [--dtypes f32,int8]

DIR is a directory of sentence-transformers whose poolings are one mean and Normalize, of which an ONNX
form is made beside it in a temporary folder. FILE has a member `text` a line; each text is cut at a
drawn number of tokens from 6 to 254, so that lengths are mixed. The peers encode in their own process;
attnd is asked over HTTP, by /v1/embeddings in lists of 64, base64, two requests at once. Tokens are
counted without padding, as the tokenizer of the directory does. Needs torch, transformers,
sentence-transformers and fastembed. The output is Markdown.

Last two columns: the largest difference of a number from sentence-transformers, and how many of the
ten nearest other texts are those of fp32 (of attnd's first dtype for its others).
"""
import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

THREADS = 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402  after the number of threads
import torch  # noqa: E402

LIST, AT_ONCE, BATCH, NEIGHBOURS = 64, 2, 32, 10


def mixed_texts(path, most, tokenizer):
    """Texts cut at a drawn number of tokens, and the tokens of all of them, special ones included."""
    draw = random.Random(7)
    rows = [json.loads(line)["text"] for line in open(path, encoding="utf-8")]
    draw.shuffle(rows)
    texts, tokens = [], 0
    for text in rows:
        ends = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if len(ends) < 8 or len(texts) == most:
            continue
        text = text[:ends[min(draw.randint(6, 254), len(ends)) - 1][1]]
        texts.append(text)
        tokens += len(tokenizer(text)["input_ids"])
    return texts, tokens


def export(model, tokenizer, source, folder):
    """The encoder as ONNX, and the files that fastembed reads beside it."""

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.encoder(input_ids=input_ids, attention_mask=attention_mask,
                                token_type_ids=token_type_ids).last_hidden_state

    names = ["input_ids", "attention_mask", "token_type_ids"]
    sample = tokenizer(["a sample", "another one"], return_tensors="pt", padding=True)
    axes = {name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(Encoder(), tuple(sample[name] for name in names), str(folder / "model.onnx"),
                      input_names=names, output_names=["last_hidden_state"], dynamic_axes=axes,
                      opset_version=17, dynamo=False)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"):
        if (source / name).exists():
            (folder / name).write_bytes((source / name).read_bytes())


class Attnd:
    """A server of the model on a free port of this machine."""

    def __init__(self, program, model, dtype):
        self.process = subprocess.Popen(
            [program, "--model", f"x={model},dtype={dtype}", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.address = None
        for line in self.process.stdout:
            found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", line)
            if found:
                self.address = found[1]
                break
        if self.address is None:
            raise SystemExit(f"{program} does not listen")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def encode(self, texts):
        def ask(first):
            body = {"model": "x", "input": texts[first:first + LIST], "encoding_format": "base64"}
            request = urllib.request.Request(self.address + "/v1/embeddings", json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as reply:
                rows = json.load(reply)["data"]
            return [np.frombuffer(base64.b64decode(row["embedding"]), np.float32) for row in rows]

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return np.array([row for rows in pool.map(ask, range(0, len(texts), LIST)) for row in rows])


def nearest(vectors):
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -np.inf)
    return [set(row[:NEIGHBOURS]) for row in np.argsort(-likeness, axis=1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attnd", required=True)
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--texts-max", type=int, default=512)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dtypes", default="f32,int8")
    options = parser.parse_args()

    import fastembed
    import sentence_transformers
    import transformers
    from fastembed.common.model_description import ModelSource, PoolingType
    torch.set_num_threads(THREADS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    texts, tokens = mixed_texts(options.texts, options.texts_max, tokenizer)
    dtypes = options.dtypes.split(",")
    servers = {dtype: Attnd(options.attnd, options.model, dtype) for dtype in dtypes}
    with tempfile.TemporaryDirectory() as folder:
        encoder = transformers.AutoModel.from_pretrained(options.model, attn_implementation="eager")
        export(encoder.eval(), tokenizer, options.model, pathlib.Path(folder))
        ours = sentence_transformers.SentenceTransformer(str(options.model), device="cpu")
        fastembed.TextEmbedding.add_custom_model(
            model="x/x", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf="x/x"),
            dim=ours.get_sentence_embedding_dimension(), model_file="model.onnx")
        other = fastembed.TextEmbedding("x/x", specific_model_path=folder, threads=THREADS)
        ways = {
            f"sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}":
                lambda: ours.encode(texts, batch_size=BATCH, show_progress_bar=False),
            f"fastembed {fastembed.__version__}": lambda: np.array(list(other.embed(texts, BATCH))),
            **{f"attnd {dtype}": lambda server=servers[dtype]: server.encode(texts) for dtype in dtypes},
        }
        seconds, vectors = {way: [] for way in ways}, {}
        try:
            for run in range(options.runs):
                for way, encode in ways.items():
                    began = time.monotonic()
                    vectors[way] = encode()
                    seconds[way].append(time.monotonic() - began)
                    print(f"run {run + 1}: {way}: {seconds[way][-1]:.2f} s", file=sys.stderr)
        finally:
            for server in servers.values():
                server.process.terminate()
    first, second, own = list(ways)[:3]
    print(f"{len(texts)} texts, {tokens} tokens, {THREADS} threads, medians of {options.runs}\n")
    print("| | tokens/s | x sentence-transformers | x fastembed | largest difference | same ten nearest |")
    print("|---|---|---|---|---|---|")
    for way in ways:
        took = statistics.median(seconds[way])
        near = nearest(vectors[own if way.startswith("attnd") and way != own else first])
        same = np.mean([len(a & b) / NEIGHBOURS for a, b in zip(near, nearest(vectors[way]))])
        print(f"| {way} | {tokens / took:.0f} | {statistics.median(seconds[first]) / took:.2f} "
              f"| {statistics.median(seconds[second]) / took:.2f} "
              f"| {np.abs(vectors[way] - vectors[first]).max():.2g} | {same:.3f} |")


if __name__ == "__main__":
    main()
