"""Writes gradients.json beside each checkpoint of tests/data/encoders: the loss of its cases as
PyTorch computes it, and of the gradient of every tensor its norm and its scalar product with
cos(0), cos(1), ... Needs torch and transformers (made with 4.57); run from the repository's root.

    python3 tests/reference/encoder_gradients.py tests/data/encoders

The loss is the mean over the cases without a literal pad token of the cross-entropy of label
(row mod labels), or with one label of its logit. (A pad token's embeddings do not learn in PyTorch.)
"""
import json
import os
import sys

import torch
from transformers import AutoModelForSequenceClassification


def loss_of(model, cases):
    losses = []
    for row, case in enumerate(cases):
        types = {"token_type_ids": torch.tensor([case["types"]])} if "types" in case else {}
        logits = model(input_ids=torch.tensor([case["ids"]]), **types).logits[0]
        if len(logits) == 1:
            losses.append(logits[0])
        else:
            losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(row % len(logits))))
    return torch.stack(losses).mean()


for name in sorted(os.listdir(sys.argv[1])):
    directory = f"{sys.argv[1]}/{name}"
    if not os.path.isdir(directory):
        continue
    model = AutoModelForSequenceClassification.from_pretrained(directory).double().eval()
    pad = model.config.pad_token_id
    cases = [c for c in json.load(open(f"{directory}/cases.json")) if pad not in c["ids"]]
    loss = loss_of(model, cases)
    loss.backward()
    tensors = {}
    for tensor, parameter in model.named_parameters():
        if parameter.grad is None:
            continue
        flat = parameter.grad.flatten()
        pattern = torch.cos(torch.arange(len(flat), dtype=torch.float64))
        tensors[tensor] = [float(f"{x:.7g}") for x in (flat.norm().item(), (flat @ pattern).item())]
    out = {"loss": float(f"{loss.item():.9g}"), "tensors": tensors}
    with open(f"{directory}/gradients.json", "w") as file:
        json.dump(out, file, indent=0)
        file.write("\n")
    print(name, len(cases), "cases, loss", loss.item(), len(tensors), "tensors")
