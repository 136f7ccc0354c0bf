#!/usr/bin/env python3
"""Makes tests/data/train/mlm: a tiny BertForMaskedLM with random weights, the logits of some of its
tokens, and the gradients of their mean cross-entropy. Needs torch and transformers (made with
2.15 and 4.57.6); run from the repository's root.

    python3 tests/data/train/make.py
"""
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForMaskedLM

DIR = "tests/data/train/mlm"
LENGTHS = [5, 9]
KEPT = [(0, 1), (0, 4), (1, 2), (1, 3), (1, 8)]  # sequence, token

torch.manual_seed(1)
config = BertConfig(vocab_size=40, max_position_embeddings=10, hidden_size=16, num_hidden_layers=1,
                    num_attention_heads=2, intermediate_size=24, hidden_dropout_prob=0.0,
                    attention_probs_dropout_prob=0.0, initializer_range=0.25)
model = BertForMaskedLM(config)
with torch.no_grad():  # transformers starts biases and norms at 0 and 1
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter += 0.2 * torch.randn_like(parameter)
ids = torch.randint(1, 40, (2, max(LENGTHS)))
mask = torch.tensor([[int(t < n) for t in range(max(LENGTHS))] for n in LENGTHS])
labels = torch.randint(0, 40, (len(KEPT),))
rows, tokens = (torch.tensor(part) for part in zip(*KEPT))
logits = model(input_ids=ids, attention_mask=mask).logits[rows, tokens]
torch.nn.functional.cross_entropy(logits, labels).backward()

model.save_pretrained(DIR)
case = {"case.ids": torch.cat([ids[r, :n] for r, n in enumerate(LENGTHS)]).float(),
        "case.labels": labels.float(), "case.logits": logits.detach().contiguous()}
for name, parameter in model.named_parameters():
    case["gradient." + name] = parameter.grad.contiguous()
save_file(case, DIR + "/expected.safetensors")
