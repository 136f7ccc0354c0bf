"""Writes made.json. Usage: python3 make.py   (needs transformers==4.57.6, pillow==12.0.0, numpy)"""
import hashlib, json
import numpy as np
from PIL import Image
from transformers.models.bit.image_processing_bit import BitImageProcessor
from transformers.models.clip.image_processing_clip import CLIPImageProcessor
from transformers.models.deit.image_processing_deit import DeiTImageProcessor
from transformers.models.vit.image_processing_vit import ViTImageProcessor

FAMILIES = {"ViT": ViTImageProcessor, "DeiT": DeiTImageProcessor, "Bit": BitImageProcessor,
            "CLIP": CLIPImageProcessor}
CASES = [  # family, suffix, model's image size, members of the file
    ("ViT", "ImageProcessor", 224, {}),
    ("ViT", "FeatureExtractor", 48, {"size": 48}),
    ("ViT", "ImageProcessorFast", 48, {"size": {"height": 48, "width": 48}, "resample": 3}),
    ("ViT", "ImageProcessor", 48, {"size": 48, "do_center_crop": True, "crop_size": 32}),
    ("ViT", "ImageProcessor", 40, {"size": [40, 40], "do_rescale": False}),
    ("ViT", "ImageProcessor", 40, {"size": 40, "do_normalize": False}),
    ("ViT", "ImageProcessor", 40, {"size": 40, "rescale_factor": 0.00784313725490196}),
    ("ViT", "ImageProcessor", 40, {"size": 40, "image_mean": 0.4, "image_std": 0.3}),
    ("ViT", "ImageProcessor", 40, {"size": 40, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.7, 0.8, 0.9]}),
    *[("ViT", "ImageProcessor", 36, {"size": 36, "resample": r}) for r in range(6)],
    ("DeiT", "ImageProcessor", 224, {}),
    ("DeiT", "FeatureExtractor", 50, {"size": 64, "crop_size": 50}),
    ("DeiT", "ImageProcessor", 51, {"size": {"height": 40, "width": 64}, "crop_size": {"height": 51, "width": 51}}),
    ("DeiT", "ImageProcessor", 51, {"size": 36, "crop_size": 51}),
    ("DeiT", "ImageProcessor", 64, {"size": 64, "do_center_crop": False}),
    ("DeiT", "ImageProcessor", 64, {"do_resize": False, "crop_size": 64}),
    ("Bit", "ImageProcessor", 224, {}),
    ("Bit", "ImageProcessor", 37, {"size": 50, "crop_size": 37}),
    ("Bit", "ImageProcessor", 64, {"size": {"shortest_edge": 40}, "crop_size": {"height": 64, "width": 64}}),
    ("Bit", "ImageProcessor", 30, {"size": {"height": 44, "width": 30}, "crop_size": 30}),
    ("CLIP", "ImageProcessor", 33, {"size": {"shortest_edge": 33}, "crop_size": 33, "resample": 1}),
    ("CLIP", "FeatureExtractor", 224, {}),
]

out = []
for family, suffix, image_size, members in CASES:
    config = dict(members, image_processor_type=family + suffix)
    for name in ("0_center.png", "1_scratch.png", "4_loc.png"):
        image = Image.open("../images/golden/" + name).convert("RGB")
        pixels = FAMILIES[family](**members)(image, return_tensors="np")["pixel_values"][0]
        assert pixels.shape == (3, image_size, image_size), (config, pixels.shape)
        out.append({"config": json.dumps(config), "image_size": image_size, "image": name,
                    "sha256": hashlib.sha256(pixels.astype(np.float32).tobytes()).hexdigest()})
open("made.json", "w").write("[\n" + ",\n".join(map(json.dumps, out)) + "\n]\n")
