"""Makes tests/data/golden/clip-0 of the whole checkpoint: the same weights rounded to f16, which
halves the file, answered again by transformers in fp32, with attention rollout of the images and
without what no test reads. `rollout` is the [CLS] row (Abnar and Zuidema 2020).

    VENV/bin/python tests/reference/cut_clip.py GOLDEN_DIR/clip-0 GOLDEN_DIR/images OUT_DIR

VENV has torch and transformers 4.57.
"""
import json
import os
import shutil
import sys

import torch
from PIL import Image
from transformers import AutoTokenizer, CLIPImageProcessor, CLIPModel

source, images, target = sys.argv[1:4]
os.makedirs(target, exist_ok=True)
model = CLIPModel.from_pretrained(source, torch_dtype=torch.float32, attn_implementation="eager").eval()
model.half().save_pretrained(target)
model = CLIPModel.from_pretrained(target, torch_dtype=torch.float32, attn_implementation="eager").eval()
for name in ("config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json"):
    shutil.copy(f"{source}/{name}", target)
    os.chmod(f"{target}/{name}", 0o644)
os.path.exists(f"{target}/generation_config.json") and os.remove(f"{target}/generation_config.json")
tokenizer = AutoTokenizer.from_pretrained(source)
processor = CLIPImageProcessor.from_pretrained(source)


def rounded(tensor):
    return [float(f"{x:.7g}") for x in tensor.flatten().tolist()]


def rollout(attentions):
    joint = torch.eye(attentions[0].shape[-1], dtype=torch.float64)
    for attention in attentions:
        mean = attention[0].double().mean(0)
        mean = mean / 2 + torch.eye(len(mean), dtype=torch.float64) / 2
        joint = mean / mean.sum(-1, keepdim=True) @ joint
    return joint[0]


def answer(case):
    pixels = processor(Image.open(f"{images}/{case['image']}").convert("RGB"), return_tensors="pt").pixel_values
    texts = [case["hypothesis_template"].replace("{}", label) for label in case["candidate_labels"]]
    encoded = tokenizer(texts, padding=True, truncation=True, max_length=77, return_tensors="pt")
    with torch.no_grad():
        out = model(pixel_values=pixels, output_attentions=True, **encoded)
    logits = out.logits_per_image[0]
    return {
        "image": case["image"],
        "candidate_labels": case["candidate_labels"],
        "hypothesis_template": case["hypothesis_template"],
        "text_ids": case["text_ids"],
        "text_embeds": [rounded(row) for row in out.text_embeds],
        "image_embeds": rounded(out.image_embeds),
        "logits_per_image": rounded(logits),
        "probs": rounded(logits.softmax(-1)),
        "rollout": rounded(rollout(out.vision_model_output.attentions)),
    }


cases = [answer(case) for case in json.load(open(f"{source}/cases.json"))]
with open(f"{target}/cases.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
