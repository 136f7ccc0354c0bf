"""Writes gradients.json beside each checkpoint of tests/data/encoders: the loss of its cases as
PyTorch computes it, and of the gradient of every tensor its norm and its scalar product with
cos(0), cos(1), ... Needs torch and transformers (made with 4.57); run from the repository's root.

    python3 tests/reference/encoder_gradients.py tests/data/encoders
    python3 tests/reference/encoder_gradients.py tests/data/golden swin-0      (images, by name)

The loss is the mean over the cases without a literal pad token of the cross-entropy of label
(row mod labels), or with one label of its logit. (A pad token's embeddings do not learn in PyTorch.)
"""
import json
import os
import sys

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification, AutoModelForSequenceClassification


def logits_of(model, directory, case):
    if "image" in case:
        processor = AutoImageProcessor.from_pretrained(directory, use_fast=False)
        image = Image.open(f"{directory}/../images/{case['image']}").convert("RGB")
        return model(processor(image, return_tensors="pt").pixel_values.double()).logits[0]
    types = {"token_type_ids": torch.tensor([case["types"]])} if "types" in case else {}
    return model(input_ids=torch.tensor([case["ids"]]), **types).logits[0]


def loss_of(model, directory, cases):
    losses = []
    for row, case in enumerate(cases):
        logits = logits_of(model, directory, case)
        if len(logits) == 1:
            losses.append(logits[0])
        else:
            losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(row % len(logits))))
    return torch.stack(losses).mean()


for name in sys.argv[2:] or sorted(os.listdir(sys.argv[1])):
    directory = f"{sys.argv[1]}/{name}"
    if not os.path.isdir(directory):
        continue
    cases = json.load(open(f"{directory}/cases.json"))
    auto = AutoModelForImageClassification if "image" in cases[0] else AutoModelForSequenceClassification
    model = auto.from_pretrained(directory).double().eval()
    cases = [c for c in cases if "image" in c or model.config.pad_token_id not in c["ids"]]
    loss = loss_of(model, directory, cases)
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
