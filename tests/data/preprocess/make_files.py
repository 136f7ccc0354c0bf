"""Writes files.json: what transformers makes of the files that say how images are prepared, each in a
directory of its own. Usage: python3 make_files.py   (needs transformers==4.57.6, torch, torchvision,
pillow==12.0.0)"""
import json, pathlib, tempfile
import numpy as np
from PIL import Image
from transformers import AutoImageProcessor

MODELS = {"ViT": {"model_type": "vit"}, "DeiT": {"model_type": "deit"}, "Beit": {"model_type": "beit"},
          "Bit": {"model_type": "dinov2"}, "CLIP": {"model_type": "clip"}}
HW = {"height": 48, "width": 48}


def vit(**members):
    return {"image_processor_type": "ViTImageProcessor", "size": HW, **members}


def fast(**members):
    return {"image_processor_type": "ViTImageProcessorFast", "size": HW, **members}


def clip(suffix="", **members):
    return {"image_processor_type": "CLIPImageProcessor" + suffix, "size": {"shortest_edge": 48},
            "crop_size": HW, **members}


P, Q = "preprocessor_config.json", "processor_config.json"
CASES = [  # family, files
    *[("ViT", {P: vit(**{key: None})}) for key in ("do_resize", "do_rescale", "do_normalize", "do_center_crop",
      "do_convert_rgb", "do_pad", "size", "resample", "rescale_factor", "image_mean", "image_std", "crop_size",
      "default_to_square", "data_format", "input_data_format", "pad_size", "size_divisor")],
    *[("ViT", {P: fast(**{key: None})}) for key in ("do_resize", "do_rescale", "do_normalize", "do_center_crop",
      "do_convert_rgb", "do_pad", "size", "resample", "rescale_factor", "image_mean", "image_std", "crop_size",
      "default_to_square", "data_format", "input_data_format", "pad_size", "size_divisor")],
    *[("CLIP", {P: clip(**{key: None})}) for key in ("do_resize", "do_rescale", "do_normalize", "do_center_crop",
      "do_convert_rgb", "size", "resample", "rescale_factor", "image_mean", "image_std", "crop_size")],
    *[("CLIP", {P: clip("Fast", **{key: None})}) for key in ("do_resize", "do_center_crop", "size", "crop_size",
      "image_mean")],
    *[("ViT", {P: vit(resample=r)}) for r in range(6)],
    *[("ViT", {P: fast(resample=r)}) for r in range(6)],
    # sizes
    *[("ViT", {P: vit(size=s)}) for s in (48, [48, 48], {"shortest_edge": 48}, {"longest_edge": 48},
      {"shortest_edge": 48, "longest_edge": 48}, {"height": 48, "width": 96}, {"max_height": 48, "max_width": 48},
      {"height": 48})],
    *[("ViT", {P: fast(size=s)}) for s in (48, [48, 48], {"shortest_edge": 48}, {"longest_edge": 48},
      {"shortest_edge": 48, "longest_edge": 48}, {"height": 48, "width": 96}, {"max_height": 48, "max_width": 48})],
    ("ViT", {P: vit(size=48, default_to_square=False, max_size=48)}),
    ("ViT", {P: fast(size=48, default_to_square=False)}),
    ("ViT", {P: fast(size=60, default_to_square=False, do_center_crop=True, crop_size=48)}),
    ("ViT", {P: fast(size={"shortest_edge": 60}, do_center_crop=True, crop_size=48)}),
    *[("CLIP", {P: clip(suffix, size=s)}) for suffix in ("", "Fast") for s in (
      48, 60, [52, 57], {"height": 60, "width": 51}, {"shortest_edge": 47}, {"shortest_edge": 48, "longest_edge": 60},
      {"longest_edge": 48})],
    ("CLIP", {P: clip("Fast", size=48, default_to_square=True)}),
    # crops
    ("ViT", {P: vit(do_center_crop=True, crop_size=32)}),
    ("ViT", {P: fast(do_center_crop=True, crop_size=32)}),
    ("ViT", {P: fast(do_center_crop=True)}),
    *[("ViT", {P: fast(size=s, do_center_crop=True, crop_size=48)}) for s in (47, 49, 64, [40, 61], 33)],
    *[("CLIP", {P: clip(suffix, crop_size=c)}) for suffix in ("", "Fast") for c in (
      48, [48, 48], {"shortest_edge": 48}, {"height": 48, "width": 40}, 40)],
    ("DeiT", {P: {"image_processor_type": "DeiTImageProcessor", "size": {"shortest_edge": 64}, "crop_size": 48}}),
    ("DeiT", {P: {"image_processor_type": "DeiTImageProcessorFast", "size": {"shortest_edge": 64}, "crop_size": 48}}),
    ("Beit", {P: {"image_processor_type": "BeitImageProcessor", "crop_size": 48}}),
    ("Beit", {P: {"image_processor_type": "BeitImageProcessor", "size": 48, "do_center_crop": False}}),
    ("Beit", {P: {"image_processor_type": "BeitImageProcessorFast", "size": 48}}),
    ("Beit", {P: {"image_processor_type": "BeitImageProcessorFast", "size": 60, "do_center_crop": True, "crop_size": 48}}),
    ("Beit", {P: {"image_processor_type": "BeitImageProcessorFast", "size": 48, "do_pad": True, "pad_size": 60}}),
    # padding
    ("ViT", {P: vit(do_pad=True, pad_size={"height": 60, "width": 60})}),
    ("ViT", {P: fast(do_pad=True)}),
    ("ViT", {P: fast(do_pad=True, pad_size=HW)}),
    ("ViT", {P: fast(do_pad=False, pad_size=60)}),
    ("ViT", {P: fast(size=40, do_pad=True, pad_size=HW)}),
    ("ViT", {P: fast(do_pad=True, pad_size=60)}),
    # pixels
    ("ViT", {P: vit(do_rescale=False, image_mean=127.5, image_std=127.5)}),
    ("ViT", {P: fast(do_rescale=False, image_mean=127.5, image_std=127.5)}),
    ("ViT", {P: fast(do_normalize=False)}),
    ("ViT", {P: fast(do_normalize=False, do_rescale=False)}),
    ("ViT", {P: fast(image_mean=0.4, image_std=0.3, rescale_factor=0.01)}),
    ("ViT", {P: vit(image_mean=[0.5, 0.4], image_std=[0.5, 0.5])}),
    # classes
    ("ViT", {P: {"size": 48}}),
    ("ViT", {P: {"size": 60, "crop_size": 48}}),
    ("DeiT", {P: {"size": 60, "crop_size": 48}}),
    ("DeiT", {P: {"size": 48, "do_center_crop": False}}),
    ("Beit", {P: {"size": 60, "crop_size": 48, "feature_extractor_type": "BeitFeatureExtractor"}}),
    ("Bit", {P: {"size": 60, "crop_size": 48}}),
    ("CLIP", {P: {"size": 60, "crop_size": 48, "image_processor_type": None}}),
    ("ViT", {P: {"image_processor_type": "SiglipImageProcessor", "size": HW}}),
    ("ViT", {P: {"image_processor_type": "SiglipImageProcessor", "size": 48}}),
    ("ViT", {P: {"image_processor_type": "SiglipImageProcessorFast", "size": HW}}),
    ("ViT", {P: vit(image_processor_type="ViTImageProcessorPil")}),
    ("CLIP", {P: vit(image_processor_type="BitImageProcessorFast", crop_size=48)}),
    ("ViT", {P: {"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 48}}}),
    ("ViT", {P: {"image_processor_type": "DonutImageProcessor", "size": HW}}),
    ("ViT", {P: vit(do_grayscale=True, do_flip_channel_order=True, offset=True, crop_pct=0.9)}),
    # files
    ("ViT", {}),
    ("ViT", {P: vit(), Q: {"image_processor": fast(resample=3)}}),
    ("ViT", {Q: {"image_processor": fast(resample=3), "processor_class": "ViTProcessor"}}),
    ("ViT", {P: {"image_processor": vit(resample=3), "size": 60}}),
    ("ViT", {Q: vit(resample=3)}),
    ("ViT", {Q: {"processor_class": "ViTProcessor", "size": 48}}),
    ("ViT", {Q: {"image_processor": None, **vit()}}),
    ("CLIP", {Q: {"image_processor": {"size": 60, "crop_size": 48}}}),
]


def verdict(family, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, members in {"config.json": MODELS[family], **files}.items():
            (pathlib.Path(folder) / name).write_text(json.dumps(members))
        pixels = []
        try:
            processor = AutoImageProcessor.from_pretrained(folder)
            for name in ("0_center.png", "4_loc.png"):
                image = Image.open("../images/golden/" + name).convert("RGB")
                pixels.append(np.asarray(processor(image, return_tensors="pt")["pixel_values"][0], np.float32))
                if pixels[-1].shape != (3, 48, 48):
                    return {"refused": f"pixels of shape {list(pixels[-1].shape)}"}
        except Exception as error:
            return {"refused": f"{type(error).__name__}: {str(error).split(folder)[0][:70]}"}
    return {"rows": [[round(float(v), 4) for v in p[:, 5::19, 3::13].ravel()] for p in pixels]}


out = [{"family": family, "files": {n: json.dumps(m) for n, m in files.items()}, **verdict(family, files)}
       for family, files in CASES]
open("files.json", "w").write("[\n" + ",\n".join(map(json.dumps, out)) + "\n]\n")
print(len(out), sum("refused" in o for o in out))
