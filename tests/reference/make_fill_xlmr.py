"""Makes tests/data/vocabulary/mlm-xlmr-0, a seeded XLMRobertaForMaskedLM with the Unigram tokenizer of
tests/data/tags/ner-xlmr-0; its cases are answered by transformers' fill-mask pipeline.

    VENV/bin/python tests/reference/make_fill_xlmr.py tests/data/vocabulary/mlm-xlmr-0 [CLASS]

VENV has torch and transformers 4.57. CLASS is another model with RobertaLMHead: CamembertForMaskedLM,
Data2VecTextForMaskedLM; it keeps the tokenizer.
"""
import json
import pathlib
import shutil
import sys

import torch
import transformers

TOKENIZER = pathlib.Path("tests/data/tags/ner-xlmr-0")
TEXTS = ["The die failed the <mask> test.", "<mask> is broken", "pin vdd_io <mask> 3.97 V <mask> FAIL",
         "call trace:<mask>", "No trouble found; <mask> passed.",
         "[ 3025.406229]  call_timer_fn+0x18d/0x720 <mask>", "a <mask>b <mask> <mask>",
         "\u00fcber  3 \u00b5A <mask>", "\u6676\u5186<mask>\u30c6\u30b9\u30c8", "\u2581lot\u2581<mask> \u2581A1"]

out = pathlib.Path(sys.argv[1])
name = sys.argv[2] if len(sys.argv) > 2 else "XLMRobertaForMaskedLM"
out.mkdir(parents=True, exist_ok=True)
for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
    shutil.copy(TOKENIZER / file, out)
tokenizer = transformers.AutoTokenizer.from_pretrained(out)
config = getattr(transformers, name).config_class(
    vocab_size=len(tokenizer), hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=72,
    max_position_embeddings=98, type_vocab_size=1, hidden_act="relu", pad_token_id=1, bos_token_id=0, eos_token_id=2)
torch.manual_seed(143)
model = getattr(transformers, name)(config)
for key, weight in model.named_parameters():
    if "orm." not in key or weight.dim() > 1:
        torch.nn.init.normal_(weight, std=0.4 if "embeddings" in key else 0.6 if "layer" in key else 0.25)
model.save_pretrained(out)
model = getattr(transformers, name).from_pretrained(out).eval()
pipe = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer, device="cpu")


def rounded(numbers):
    return [float(f"{number:.7g}") for number in numbers]


cases = []
for text in TEXTS:
    ids = tokenizer(text)["input_ids"]
    masks = [place for place, token in enumerate(ids) if token == tokenizer.mask_token_id]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, masks[0]]
    top = pipe(text)
    top = top if isinstance(top[0], list) else [top]
    for row in top:
        for one in row:
            one["score"] = float(f"{one['score']:.7g}")
    cases.append({"text": text, "ids": ids, "masks": masks, "logits": [rounded(logits.tolist())], "top": top})
(out / "cases.json").write_text(json.dumps({"task": "fill-mask", "cases": cases}, ensure_ascii=False))
print(transformers.__version__, [case["top"][0][0]["token_str"] for case in cases])
