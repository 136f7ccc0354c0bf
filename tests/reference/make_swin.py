"""Makes tests/data/golden/swin-1, seeded: a Swin whose last stage has several windows, shifted in its
last layer, an odd number of layers below, no query biases and the tanh GELU; answered by
transformers (made with 4.57). Run from the repository's root, then stage_maps.py and
encoder_gradients.py.

    python3 tests/reference/make_swin.py
"""
import json
import os

import torch
from PIL import Image
from transformers import SwinConfig, SwinForImageClassification, ViTImageProcessor

OUT, SIZE = "tests/data/golden/swin-1", 48
torch.manual_seed(1)
config = SwinConfig(
    image_size=SIZE, num_labels=3, patch_size=4, window_size=3, depths=[3, 2], num_heads=[2, 4],
    embed_dim=8, mlp_ratio=2.5, hidden_act="gelu_new", qkv_bias=False,
)
model = SwinForImageClassification(config).eval()
with torch.no_grad():
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.normal_(0, 0.3)
        else:
            parameter.add_(torch.randn_like(parameter) * 0.2)
model.save_pretrained(OUT)
processor = ViTImageProcessor(size={"height": SIZE, "width": SIZE}, resample=3)
processor.save_pretrained(OUT)


def rounded(values):
    return [float(f"{v:.7g}") for v in values]


cases = []
for image in sorted(os.listdir(f"{OUT}/../images"))[:4]:
    pixels = processor(Image.open(f"{OUT}/../images/{image}").convert("RGB"), return_tensors="pt").pixel_values
    with torch.no_grad():
        logits = model(pixels).logits[0]
    cases.append({
        "image": image,
        "pixels_sum": pixels.double().sum().item(),
        "pixels_head": rounded(pixels.flatten()[:16].tolist()),
        "logits": rounded(logits.tolist()),
        "probs": rounded(logits.softmax(0).tolist()),
    })
with open(f"{OUT}/cases.json", "w") as file:
    json.dump(cases, file)
    file.write("\n")
