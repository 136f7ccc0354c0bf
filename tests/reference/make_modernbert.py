"""Makes tests/data/encoders/modernbert-2, a seeded ModernBERT that differs from modernbert-1 in all that
config.json can switch: every bias there is, [CLS] pooling, other activations, one base for all layers, heads of
32 numbers (which bf16 attention needs), and a layer more often local. Its cases are random token ids, answered by
transformers.

    VENV/bin/python tests/reference/make_modernbert.py tests/data/encoders/modernbert-2

VENV has torch and transformers 4.57.
"""
import json
import random
import sys

import torch
from transformers import ModernBertConfig, ModernBertForSequenceClassification

LENGTHS = [90, 11, 46, 3, 17, 33, 5]
PAD = 1

config = ModernBertConfig(
    vocab_size=60,
    hidden_size=64,
    num_hidden_layers=4,
    num_attention_heads=2,
    intermediate_size=40,
    hidden_activation="gelu_new",
    max_position_embeddings=128,
    norm_eps=1e-3,
    norm_bias=True,
    attention_bias=True,
    mlp_bias=True,
    classifier_bias=True,
    classifier_activation="relu",
    global_attn_every_n_layers=4,
    global_rope_theta=500.0,
    local_rope_theta=None,
    local_attention=9,
    pad_token_id=PAD,
    bos_token_id=2,
    cls_token_id=2,
    eos_token_id=3,
    sep_token_id=3,
    id2label={0: "A", 1: "B", 2: "C"},
    label2id={"A": 0, "B": 1, "C": 2},
    attn_implementation="eager",
)
torch.manual_seed(7)
model = ModernBertForSequenceClassification(config).eval()
with torch.no_grad():
    for name, parameter in model.named_parameters():
        if "norm" in name and name.endswith("weight"):
            parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
        elif name.endswith("bias"):
            parameter.copy_(0.3 * torch.randn_like(parameter))
        else:
            parameter.copy_(torch.randn_like(parameter) * (1.5 / parameter.shape[-1] ** 0.5))
model.half().save_pretrained(sys.argv[1])
model = ModernBertForSequenceClassification.from_pretrained(
    sys.argv[1], attn_implementation="eager", dtype=torch.float32
).eval()


def rounded(numbers):
    return [float(f"{x:.7g}") for x in numbers]


def rollout(attentions):
    carried = torch.eye(attentions[0].shape[-1])
    for attention in attentions:
        mixed = attention[0].mean(0) + torch.eye(len(carried))
        carried = (mixed / mixed.sum(-1, keepdim=True)) @ carried
    return carried[0].tolist()


random.seed(7)
cases = []
for length in LENGTHS:
    ids = [2] + [random.randrange(4, config.vocab_size) for _ in range(length - 2)] + [3]
    if length == 11:
        ids[5] = PAD
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    cases.append(
        {
            "ids": ids,
            "logits": rounded(out.logits[0].tolist()),
            "probs": rounded(out.logits[0].softmax(-1).tolist()),
            "rollout": rounded(rollout(out.attentions)),
            "hidden_norms": rounded(h.norm().item() for h in out.hidden_states),
        }
    )
with open(f"{sys.argv[1]}/cases.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
