"""Makes checkpoints of images that are no squares in tests/data/golden, seeded, answered by transformers (made with
4.57): vit-4 (48 x 80 in patches of 8 x 16), deit-2 (a centre crop of 32 x 64), beit-1 (relative positions of a grid of
3 x 6), dinov2-2 (positions of 6 x 6 interpolated to 5 x 9) and trocr-2 (a ViT of 32 x 80 in patches of 16 x 8). Run from
the repository's root.

    python3 tests/reference/make_rectangles.py
"""
import json
import os

import torch
from PIL import Image
from transformers import (BeitConfig, BeitForImageClassification, BeitImageProcessor, BitImageProcessor, DeiTConfig,
                          DeiTForImageClassification, DeiTImageProcessor, Dinov2Config, Dinov2ForImageClassification,
                          TrOCRConfig, TrOCRForCausalLM, ViTConfig, ViTForImageClassification, ViTImageProcessor,
                          ViTModel, VisionEncoderDecoderConfig, VisionEncoderDecoderModel)

GOLDEN = "tests/data/golden"
SIZES = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, num_labels=3, attn_implementation="eager")


def size(height, width):
    return {"height": height, "width": width}


def rounded(values):
    return [rounded(v) if isinstance(v, list) else float(f"{v:.7g}") for v in values]


def randomise(model):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def rollout(attentions):
    """The [CLS] row of attention rollout (Abnar and Zuidema 2020)."""
    product = None
    for layer in attentions:
        mean = layer[0].mean(0)
        step = (mean + torch.eye(len(mean))) / 2
        product = step if product is None else step @ product
    return product[0]


def images(processor):
    """(name, pixels, the first fields of its case) of four images."""
    for image in sorted(os.listdir(f"{GOLDEN}/images"))[:4]:
        pixels = processor(Image.open(f"{GOLDEN}/images/{image}").convert("RGB"), return_tensors="pt").pixel_values
        yield pixels, {"image": image, "pixels_sum": pixels.double().sum().item(),
                       "pixels_head": rounded(pixels.flatten()[:16].tolist())}


def write(name, cases):
    with open(f"{GOLDEN}/{name}/cases.json", "w", encoding="utf-8") as file:
        json.dump(cases, file)
        file.write("\n")


def classify(name, model, processor, has_rollout):
    randomise(model).save_pretrained(f"{GOLDEN}/{name}")
    processor.save_pretrained(f"{GOLDEN}/{name}")
    cases = []
    for pixels, case in images(processor):
        with torch.no_grad():
            answer = model(pixels, output_attentions=has_rollout)
        case |= {"logits": rounded(answer.logits[0].tolist()), "probs": rounded(answer.logits[0].softmax(0).tolist())}
        if has_rollout:
            case["rollout"] = rounded(rollout(answer.attentions).tolist())
        cases.append(case)
    write(name, cases)


def norms(states):
    return rounded([state.norm().item() for state in states])


def write_texts(name):
    """A TrOCR; its cases are those of teacher forcing, greedy search and cross attention."""
    encoder = ViTConfig(**SIZES, intermediate_size=40, image_size=[32, 80], patch_size=[16, 8])
    decoder = TrOCRConfig(vocab_size=30, d_model=20, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=32,
                          cross_attention_hidden_size=24, max_position_embeddings=24, is_decoder=True,
                          add_cross_attention=True, tie_word_embeddings=False, attn_implementation="eager")
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        encoder, decoder, decoder_start_token_id=2, eos_token_id=2, pad_token_id=1, tie_word_embeddings=False)
    model = randomise(VisionEncoderDecoderModel(config=config, encoder=ViTModel(encoder, add_pooling_layer=False),
                                                decoder=TrOCRForCausalLM(decoder)))
    told = {"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1, "bos_token_id": 0, "max_length": 20}
    model.generation_config.update(**told)
    model.save_pretrained(f"{GOLDEN}/{name}")
    processor = ViTImageProcessor(size=size(32, 80))
    processor.save_pretrained(f"{GOLDEN}/{name}")
    cases = []
    for number, (pixels, case) in enumerate(images(processor)):
        wanted = torch.tensor([[5 + number, 7, 11, 4, 19]])
        before = torch.cat((torch.tensor([[2]]), wanted[:, :-1]), 1)
        with torch.no_grad():
            seen = model.encoder(pixels, output_hidden_states=True)
            answer = model.decoder(input_ids=before, encoder_hidden_states=seen.last_hidden_state,
                                   output_hidden_states=True)
            greedy = model.generate(pixels, num_beams=1, max_new_tokens=8, do_sample=False)[0]
            looked = model.decoder(input_ids=greedy[None, :-1], encoder_hidden_states=seen.last_hidden_state,
                                   output_attentions=True).cross_attentions
        logits = answer.logits[0]
        chosen = logits.log_softmax(-1).gather(1, wanted[0][:, None])[:, 0]
        case |= {"teacher": {"decoder_input_ids": before[0].tolist(), "target_ids": wanted[0].tolist(),
                             "target_logprobs": rounded(chosen.tolist()),
                             "logits_norms": rounded(logits.norm(dim=-1).tolist()),
                             "encoder_norms": norms(seen.hidden_states), "decoder_norms": norms(answer.hidden_states),
                             "logits": rounded(logits.tolist())},
                 "greedy": {"ids": greedy.tolist()},
                 "cross_attention": [rounded(layer[0].mean(0).tolist()) for layer in looked]}
        cases.append(case)
    write(name, {"task": "image-to-text", "max_new_tokens": 8, "generation_config": told, "cases": cases})


torch.manual_seed(4)
classify("vit-4", ViTForImageClassification(ViTConfig(**SIZES, intermediate_size=40, image_size=[48, 80],
                                                      patch_size=[8, 16])),
         ViTImageProcessor(size=size(48, 80)), True)
classify("deit-2", DeiTForImageClassification(DeiTConfig(**SIZES, intermediate_size=40, image_size=[32, 64],
                                                         patch_size=8)),
         DeiTImageProcessor(size=size(40, 72), crop_size=size(32, 64)), True)
classify("beit-1", BeitForImageClassification(BeitConfig(
    **SIZES, intermediate_size=40, image_size=[48, 96], patch_size=16, use_relative_position_bias=True,
    use_absolute_position_embeddings=False)),
         BeitImageProcessor(size=size(48, 96), do_center_crop=False), False)
classify("dinov2-2", Dinov2ForImageClassification(Dinov2Config(**SIZES, mlp_ratio=2, image_size=42, patch_size=7)),
         BitImageProcessor(size={"shortest_edge": 63}, crop_size=size(35, 63)), True)
write_texts("trocr-2")
