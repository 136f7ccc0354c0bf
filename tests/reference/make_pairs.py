"""Makes small checkpoints of models that write, seeded, with tokenizers trained on the lines below and a few seconds of
teacher forcing, answered by transformers (made with 4.57). Run from the repository's root.

    python3 tests/reference/make_pairs.py OUT [NAME...]

OUT/NAME is a whole checkpoint with cases.json: `trocr-3` (BEiT reads, states are projected to the decoder's width),
`mt5-0` (its tokenizer has no <extra_id_0>), `umt5-0` (a relative bias for each layer, tied output), `nllb-0` (language
in front), `nllb-1` (tokenizer.json, legacy_behaviour: language behind), `mbart-1` and `mbart-2` (mBART and mBART-50,
SentencePiece model alone). tests/data/golden has the model's files, tests/data/recoding the tokenizer's
(make_recoding_cases.py). Needs torch, sentencepiece, protobuf, safetensors, Pillow.
"""
import io
import json
import os
import pathlib
import random
import sys
import tempfile

import sentencepiece
import torch
import transformers as T
from PIL import Image
from tokenizers import ByteLevelBPETokenizer

NEW = 12
LINES = """The die failed the scan test at 3.97 V.
Chain 3 is broken after flop 1041.
Der Chip hat den Test nicht bestanden, weil die Spannung zu hoch war.
La puce a échoué au test de balayage.
The leakage of pin vdd_io exceeds its limit by 12.5 %.
No trouble found; retest passed.
Memory BIST reports two stuck cells in bank 7.
Die Kontakte der Nadelkarte sind verschmutzt.
Handler timeout while indexing to site 2.
The wafer shows an edge ring; please check the chuck temperature.
Replace the probe card and clean the contacts.
Bin 8 dominates in lot 2, rows 23 to 31.
Съешь ещё этих мягких булок
中文 混合 文本 測試
µA ±5 % 25 °C Ω ½""".split("\n")
SOURCES = [*LINES[:3], "Bin 8", "É naïve 中文 🙂", '  two  spaces and "quotes", 12,345.67%']
T.logging.set_verbosity_error()
torch.set_num_threads(1)


def rounded(values):
    return [rounded(v) if isinstance(v, list) else float(f"{v:.7g}") for v in values]


def pieces(size, kind, **more):
    """The path of a SentencePiece model."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES * 4), model_writer=out, model_type=kind, vocab_size=size, num_threads=1,
        minloglevel=2, normalization_rule_name="identity", **more)
    path = tempfile.mktemp(suffix=".model")
    pathlib.Path(path).write_bytes(out.getvalue())
    return path


def randomise(model, words):
    for name, value in model.named_parameters():
        with torch.no_grad():
            if not value.requires_grad:
                continue
            if "norm" in name.lower() and name.endswith("weight"):
                value.normal_(1, 0.1)
            elif "relative" in name:
                value.normal_(0, 0.7)
            else:
                value.normal_(0, words if "embed" in name or "shared" in name else 0.2 if value.ndim > 1 else 0.1)


def fit(model, batch, steps=200):
    """Outputs follow the source and end by themselves; random weights alone repeat one token."""
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        inputs, before, wanted = batch()
        logits = model(**inputs, decoder_input_ids=before).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def padded(rows, start, padding):
    width = max(map(len, rows))
    return (torch.tensor([[start] + row[:-1] + [padding] * (width - len(row)) for row in rows]),
            torch.tensor([row + [-100] * (width - len(row)) for row in rows]))


def cut(ids, end):
    return ids[:ids.index(end, 1) + 1] if end in ids[1:] else ids


def case_of(model, tokenizer, inputs, given, target, number):
    rules, end = model.generation_config, model.generation_config.eos_token_id
    before = [rules.decoder_start_token_id] + target[:-1]
    with torch.no_grad():
        out = model(**inputs, decoder_input_ids=torch.tensor([before]), output_hidden_states=True)
        asked = dict(**inputs, **given, max_new_tokens=NEW, do_sample=False, return_dict_in_generate=True)
        greedy = model.generate(**asked, num_beams=1, output_attentions=True)
        beam = model.generate(**asked, num_beams=4, num_return_sequences=4, output_scores=True)
    chosen = out.logits[0].log_softmax(-1).gather(1, torch.tensor(target)[:, None])[:, 0]
    norms = lambda states: rounded([state[0].norm().item() for state in states])
    teacher = {"decoder_input_ids": before, "target_ids": target, "target_logprobs": rounded(chosen.tolist()),
               "logits_norms": rounded(out.logits[0].norm(dim=-1).tolist()),
               "encoder_norms": norms(out.encoder_hidden_states), "decoder_norms": norms(out.decoder_hidden_states)}
    text = lambda ids: {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True)}
    case = {"teacher": teacher, "greedy": text(cut(greedy.sequences[0].tolist(), end)),
            "beam": [text(cut(ids.tolist(), end)) | {"score": score.item()}
                     for ids, score in zip(beam.sequences, beam.sequences_scores)]}
    if number == 0:
        teacher["logits"] = rounded(out.logits[0].tolist())
    if number < 2:
        layers = range(len(greedy.cross_attentions[0]))
        case["cross_attention"] = [[rounded(step[i][0, :, -1].mean(0).tolist()) for step in greedy.cross_attentions]
                                   for i in layers]
    return case


def save(folder, model, rules, tokenizer, inputs, targets, batch, words):
    """`inputs`: (fields of the case, the encoder's inputs, arguments of generate())."""
    randomise(model, words)
    model.generation_config = T.GenerationConfig(**rules)
    fit(model.eval(), batch)
    model.save_pretrained(folder)
    model = type(model).from_pretrained(folder, attn_implementation="eager").eval()
    cases = [fields | case_of(model, tokenizer, encoded, given, targets[i % len(targets)], i)
             for i, (fields, encoded, given) in enumerate(inputs)]
    told = {"max_new_tokens": NEW, "generation_config": rules, "cases": cases}
    (folder / "cases.json").write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    print(folder.name, [len(case["greedy"]["ids"]) for case in cases], cases[0]["greedy"]["text"])


def texts(folder, tokenizer, kind, config, rules, pairs=(), words=0.3):
    """`pairs`: languages of source and target."""
    inputs = []
    for i, text in enumerate(SOURCES):
        fields, given = {"text": text}, {}
        if pairs:
            tokenizer.src_lang, target = pairs[i % len(pairs)]
            given = {"forced_bos_token_id": tokenizer.convert_tokens_to_ids(target)}
            fields |= {"src_lang": tokenizer.src_lang, "tgt_lang": target, **given}
        encoded = {key: value for key, value in tokenizer(text, return_tensors="pt", truncation=True).items()
                   if key in ("input_ids", "attention_mask")}
        inputs.append((fields | {"ids": encoded["input_ids"][0].tolist()}, encoded, given))
    if pairs:
        tokenizer.src_lang, tokenizer.tgt_lang = pairs[0]
    draw, start, padding = random.Random(5), rules["decoder_start_token_id"], rules["pad_token_id"]

    def batch():
        chosen = [line[:40] for line in draw.sample(LINES, 8)]
        turned = [" ".join(line.split()[:3][::-1]) for line in chosen]
        wanted = [ids[:NEW] for ids in tokenizer(text_target=turned)["input_ids"]]
        encoded = tokenizer(chosen, return_tensors="pt", padding=True)
        return ({key: encoded[key] for key in ("input_ids", "attention_mask")}, *padded(wanted, start, padding))

    targets = [tokenizer(text_target=line)["input_ids"][:4] for line in LINES[3:8]]
    save(folder, kind(config), rules, tokenizer, inputs, targets, batch, words)


def shorten(folder, *others):
    """Removes files, and what tokenizer_config.json says too; and takes out its white space."""
    for name in ("special_tokens_map.json", *others):
        (folder / name).unlink(missing_ok=True)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")) + "\n")


def open_slow(kind, folder, *arguments, **options):
    """Saves a slow tokenizer and opens what was saved."""
    kind(*arguments, model_max_length=48, **options).save_pretrained(folder)
    shorten(folder, "added_tokens.json")
    return kind.from_pretrained(folder)


FAIRSEQ = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "max_length": 48,
           "num_beams": 4}
T5 = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "max_length": 48}
SIZES = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 32, "max_position_embeddings": 64}
MARKS = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "pad_piece": "<pad>"}


def t5(folder, tokenizer, config, kind, tied):
    rows = (len(tokenizer) + 7) // 8 * 8
    texts(folder, tokenizer, kind,
          config(vocab_size=rows, d_model=16, d_kv=6, num_heads=3, d_ff=24, num_layers=3, num_decoder_layers=2,
                 relative_attention_num_buckets=12, relative_attention_max_distance=30, tie_word_embeddings=tied, **T5),
          T5 | {"num_beams": 4}, words=1)


def make_mt5(folder):
    open_slow(T.T5Tokenizer, folder, pieces(160, "unigram", **MARKS), extra_ids=0, legacy=True)
    path = folder / "tokenizer_config.json"  # as mT5 is published
    path.write_text(path.read_text().replace('"additional_special_tokens":[]', '"additional_special_tokens":null'))
    t5(folder, T.T5Tokenizer.from_pretrained(folder), T.MT5Config, T.MT5ForConditionalGeneration, False)


def make_umt5(folder):
    T.T5TokenizerFast(vocab_file=pieces(160, "unigram", **MARKS), extra_ids=4,
                      model_max_length=48).save_pretrained(folder)
    shorten(folder, "spiece.model")
    t5(folder, T.AutoTokenizer.from_pretrained(folder), T.UMT5Config, T.UMT5ForConditionalGeneration, True)


def m2m100(folder, tokenizer):
    texts(folder, tokenizer, T.M2M100ForConditionalGeneration,
          T.M2M100Config(vocab_size=len(tokenizer) + 2, activation_function="relu", scale_embedding=True, **SIZES),
          FAIRSEQ, (("eng_Latn", "deu_Latn"), ("deu_Latn", "eng_Latn"), ("fra_Latn", "zho_Hans")))


def make_nllb(folder):
    m2m100(folder, open_slow(T.NllbTokenizer, folder, pieces(170, "bpe")))


def make_nllb_legacy(folder):
    T.NllbTokenizerFast(vocab_file=pieces(170, "bpe"), legacy_behaviour=True, src_lang="fra_Latn",
                        model_max_length=48).save_pretrained(folder)
    shorten(folder, "sentencepiece.bpe.model", "added_tokens.json")
    m2m100(folder, T.AutoTokenizer.from_pretrained(folder))


def mbart(folder, kind):
    tokenizer = open_slow(kind, folder, pieces(160, "unigram"), src_lang="en_XX", tgt_lang="de_DE")
    texts(folder, tokenizer, T.MBartForConditionalGeneration, T.MBartConfig(vocab_size=len(tokenizer), **SIZES),
          FAIRSEQ, (("en_XX", "de_DE"), ("de_DE", "en_XX"), ("fr_XX", "en_XX")))


def make_mbart(folder):
    mbart(folder, T.MBartTokenizer)


def make_mbart50(folder):
    mbart(folder, T.MBart50Tokenizer)


def make_trocr(folder):
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(LINES, vocab_size=290, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                            show_progress=False)
    with tempfile.TemporaryDirectory() as kept:
        bpe.save_model(kept)
        tokenizer = T.RobertaTokenizerFast(f"{kept}/vocab.json", f"{kept}/merges.txt", model_max_length=40)
    tokenizer.save_pretrained(folder)
    shorten(folder, "vocab.json", "merges.txt")
    processor = T.BeitImageProcessor(size={"height": 16, "width": 24}, do_center_crop=False)
    processor.save_pretrained(folder)
    processor = T.AutoImageProcessor.from_pretrained(folder, use_fast=False)
    encoder = T.BeitConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
                           image_size=[16, 24], patch_size=8, use_relative_position_bias=True)
    decoder = T.TrOCRConfig(vocab_size=len(tokenizer), d_model=24, decoder_layers=2, decoder_attention_heads=4,
                            decoder_ffn_dim=32, max_position_embeddings=40)
    config = T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        encoder, decoder, decoder_start_token_id=2, eos_token_id=2, pad_token_id=1)
    names = sorted(os.listdir("tests/data/golden/images"))[:8]
    pixels = [processor(Image.open(f"tests/data/golden/images/{name}").convert("RGB"), return_tensors="pt").pixel_values
              for name in names]
    wanted = [ids[1:8] for ids in tokenizer([line.split()[0] for line in LINES[:len(names)]])["input_ids"]]

    def batch():
        both = torch.cat(pixels)
        return {"pixel_values": both + 0.3 * torch.randn_like(both)}, *padded(wanted, 2, 1)

    inputs = [({"image": name, "pixels_sum": one.double().sum().item(), "pixels_head": rounded(one.flatten()[:16].tolist())},
               {"pixel_values": one}, {}) for name, one in zip(names, pixels)]
    targets = [tokenizer(line)["input_ids"][1:5] for line in LINES[:4]]
    save(folder, T.VisionEncoderDecoderModel(config), FAIRSEQ | {"max_length": 40}, tokenizer, inputs, targets, batch, 0.3)


MAKERS = {"trocr-3": make_trocr, "mt5-0": make_mt5, "umt5-0": make_umt5, "nllb-0": make_nllb,
          "nllb-1": make_nllb_legacy, "mbart-1": make_mbart, "mbart-2": make_mbart50}


def main():
    for name in sys.argv[2:] or MAKERS:
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(7)
        MAKERS[name](folder)


if __name__ == "__main__":
    main()
