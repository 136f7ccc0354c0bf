"""Writes maps.json beside a Swin checkpoint: for its first cases the maps of engine/explain/stage_map.c
as PyTorch's attention and its gradients give them, by dense matrices over all patches. Needs torch
and transformers (made with 4.57); run from the repository's root.

    python3 tests/reference/stage_maps.py tests/data/golden/swin-0
"""
import json
import sys

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification

directory, LABEL, CASES = sys.argv[1], 1, 2
model = AutoModelForImageClassification.from_pretrained(directory, attn_implementation="eager").double().eval()
config = model.config
processor = AutoImageProcessor.from_pretrained(directory, use_fast=False)
seen = []


def keep(module, inputs, output):
    output[1].retain_grad()
    seen.append(output[1])


for stage in model.swin.encoder.layers:
    for block in stage.blocks:
        block.attention.self.register_forward_hook(keep)


def dense(windows, grid, shift):
    """[windows, n, n] -> [grid^2, grid^2] by rolling and partitioning an image of cell numbers."""
    side = int(windows.shape[-1] ** 0.5)
    cells = torch.roll(torch.arange(grid * grid).view(grid, grid), (-shift, -shift), (0, 1))
    cells = cells.view(grid // side, side, grid // side, side).transpose(1, 2).reshape(-1, side * side)
    out = torch.zeros(grid * grid, grid * grid, dtype=torch.float64)
    for window, own in zip(windows, cells):
        out[own[:, None], own[None, :]] = window
    return out


def unmerge(r, grid):
    return (r.view(grid, grid) / 4).repeat_interleave(2, 0).repeat_interleave(2, 1).flatten()


def maps_of(image):
    seen.clear()
    pixels = processor(image, return_tensors="pt").pixel_values.double()
    model(pixels, output_attentions=True).logits[0, LABEL].backward()
    grid, layers = config.image_size // config.patch_size, []
    for stage, depth in enumerate(config.depths):
        for i in range(depth):
            shift = config.window_size // 2 if i % 2 == 1 and grid > config.window_size else 0
            layers.append((stage, grid, dense(seen[len(layers)].mean(1).detach(), grid, shift)))
        grid //= 2
    last = seen[-1]
    positive = (last * last.grad).clamp(min=0).mean(1).detach()
    shift = config.window_size // 2 if config.depths[-1] % 2 == 0 and layers[-1][1] > config.window_size else 0
    g = dense(positive, layers[-1][1], shift).sum(0)

    def down(r, top, rolls):
        for index in range(top, -1, -1):
            stage, grid, a = layers[index]
            r = (r + r @ a) / 2 if rolls else r
            if index > 0 and layers[index - 1][0] != stage:
                r = unmerge(r, grid)
        return [float(f"{x:.7g}") for x in r]

    def even(index):
        return torch.full((layers[index][1] ** 2,), 1 / layers[index][1] ** 2, dtype=torch.float64)

    top, below = len(layers) - 1, len(layers) - 2
    last_grid = layers[top][1]
    # Below the last layer; its stage may end there.
    r = g / g.sum()
    carried = unmerge(r, last_grid) if layers[below][0] != layers[top][0] else r
    return {
        "rollout": down(even(top), top, True),
        "rollout3": down(even(2), 2, True),
        "attention": down(even(top) @ layers[top][2], top, False),
        "attention2": down(even(1) @ layers[1][2], 1, False),
        "gradient": down(carried, below, True),
        "gradient-last": down(carried, below, False),
    }


cases = json.load(open(f"{directory}/cases.json"))[:CASES]
out = [maps_of(Image.open(f"{directory}/../images/{c['image']}").convert("RGB")) for c in cases]
with open(f"{directory}/maps.json", "w") as file:
    json.dump(out, file)
    file.write("\n")
print(len(out), "cases")
