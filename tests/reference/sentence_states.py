"""Makes tests/data/sentences of sentence-transformers directories: their descriptions and Dense weights,
without the encoder, and states.safetensors, by the number n of a case in cases.json:

    n.states [tokens, hidden]    what the package's Transformer gives
    n.first [1]                  tokens that do not count (include_prompt false)
    n.embedding [width]          what encode() answers
    n.cut.K, n.cut_unit.K [K]    encode(truncate_dim=K), and with normalize_embeddings

    VENV/bin/python tests/reference/sentence_states.py GOLDEN_DIR OUT_DIR 0,2,16

VENV has torch, transformers 4.57 and sentence-transformers 5.2. Without the third argument: all cases.
"""
import glob
import json
import os
import shutil
import sys

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer

golden, target = sys.argv[1:3]
DESCRIPTIONS = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json",
                "[0-9]_*/config.json", "[0-9]_*/model.safetensors")


def copy_descriptions(source, to):
    for pattern in DESCRIPTIONS:
        for path in glob.glob(f"{source}/{pattern}"):
            out = f"{to}/{os.path.relpath(path, source)}"
            os.makedirs(os.path.dirname(out), exist_ok=True)
            shutil.copyfile(path, out)


def answer(model, case, n):
    name, prompts = case["prompt_name"] or model.default_prompt_name, model.prompts
    prompt = prompts[name] if name else ""
    features = model.tokenize([prompt + case["text"]])
    assert features["input_ids"][0].tolist() == case["ids"]
    first = 0
    if prompt and not model[1].include_prompt:
        first = model._get_prompt_length(prompt)
    with torch.no_grad():
        states = model[0](features)["token_embeddings"][0]

    def encode(**options):
        return model.encode(case["text"], prompt=prompt, convert_to_tensor=True, **options)

    tensors = {"states": states, "first": torch.tensor([float(first)]), "embedding": encode()}
    width = len(tensors["embedding"])
    for k in (8, width // 2):
        tensors[f"cut.{k}"] = encode(truncate_dim=k)
        tensors[f"cut_unit.{k}"] = encode(truncate_dim=k, normalize_embeddings=True)
    return {f"{n}.{key}": value.clone().contiguous() for key, value in tensors.items()}


for source in sorted(glob.glob(f"{golden}/st-*")):
    to = f"{target}/{os.path.basename(source)}"
    model = SentenceTransformer(source, device="cpu")
    cases = json.load(open(f"{source}/cases.json"))["cases"]
    chosen = [int(n) for n in sys.argv[3].split(",")] if len(sys.argv) > 3 else range(len(cases))
    copy_descriptions(source, to)
    tensors = {}
    for n in chosen:
        tensors |= answer(model, cases[n], n)
    save_file(tensors, f"{to}/states.safetensors")
