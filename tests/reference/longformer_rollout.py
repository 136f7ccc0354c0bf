"""Adds to each case of a cut Longformer (cut_encoders.py) its attention rollout, which golden
checkpoints lack where attention has windows: the first row of the product over layers of
(A + I) / 2, A being the mean over heads of transformers' attentions as a dense matrix. Its first
row is the global attention of the first token, its first column what every token gives that one,
the band along the diagonal what the windows have; all else is zero.

    VENV/bin/python tests/reference/longformer_rollout.py tests/data/encoders/longformer-0

Needs torch and transformers (made with 4.57).
"""
import json
import sys

import torch
from transformers import AutoModelForSequenceClassification


def dense(local, heads_global):
    """[heads, n, n] from [n, heads, 1 + 2 w + 1] and [heads, n]."""
    n, heads, width = local.shape
    reach = (width - 2) // 2
    out = torch.zeros(heads, n, n, dtype=local.dtype)
    for i in range(1, n):
        out[:, i, 0] = local[i, :, 0]
        for j in range(max(1, i - reach), min(n, i + reach + 1)):
            out[:, i, j] = local[i, :, 1 + reach + j - i]
    out[:, 0] = heads_global
    return out


def rollout(model, ids):
    n = len(ids)
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), output_attentions=True)
    row = None
    for local, first in reversed(list(zip(out.attentions, out.global_attentions))):
        mean = dense(local[0, :, :n].transpose(0, 1), first[0, :, :n, 0]).mean(0)
        step = (mean + torch.eye(n, dtype=mean.dtype)) / 2
        assert torch.allclose(step.sum(1), torch.ones(n, dtype=mean.dtype)), step.sum(1)
        row = step[0] if row is None else row @ step
    return row


directory = sys.argv[1]
model = AutoModelForSequenceClassification.from_pretrained(directory, attn_implementation="eager").double().eval()
cases = json.load(open(f"{directory}/cases.json"))
for case in cases:
    case["rollout"] = [float(f"{x:.7g}") for x in rollout(model, case["ids"])]
with open(f"{directory}/cases.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
print(directory, len(cases), "cases")
