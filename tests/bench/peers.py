"""The peers of tests/bench/peer.py on the same weights, each in its best form for a CPU: ONNX Runtime,
OpenVINO and, for BERT and ViT, PyTorch.

    peers.py make DIR [KIND ...]    a seeded checkpoint of base size for each kind, as transformers writes
                                    it (DIR/KIND-base: what attnd opens), and the peers' own forms of it
    peers.py serve DIR              a co-process: "PEER KIND BATCH TOKENS" runs one batch and answers
                                    "MILLISECONDS LOGIT0 LOGIT1 ..." or "refused REASON"

Kinds are those of KINDS below; TOKENS is ignored for images. Peers are ort-f32, ort-int8 (dynamic
quantisation, per channel), ov-f32, ov-bf16, ov-int8 (post-training quantisation, static, calibrated),
ov-w8 (int8 weights, dynamic activations: the kind that attnd does) and torch-f32. Inputs are those of
tests/bench/inputs.h. All vocabularies are BERT's in size: what is looked up costs nothing by its number.
BERT and ViT are exported for any batch, the others for the shapes that SHAPES names, which lets the
peers fold constants. Needs torch, transformers 4.57, onnxruntime, openvino and nncf.
"""
import json
import os
import pathlib
import sys
import time

THREADS = int(os.environ.get("THREADS", "2"))
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))

import numpy as np  # noqa: E402  after the number of threads

LABELS, VOCAB, OPSET = 10, 30522, 17
TYPED = ("bert", "electra", "albert")  # whose exported form takes token types
LONG = 4096

# kind: (configuration and model of transformers, what differs from the configuration's defaults)
KINDS = {
    "bert": ("BertConfig", "BertForSequenceClassification", {}),
    "roberta": ("RobertaConfig", "RobertaForSequenceClassification",
                {"max_position_embeddings": 514, "type_vocab_size": 1}),
    "electra": ("ElectraConfig", "ElectraForSequenceClassification",
                {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12,
                 "intermediate_size": 3072}),
    "albert": ("AlbertConfig", "AlbertForSequenceClassification",
               {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "mpnet": ("MPNetConfig", "MPNetForSequenceClassification", {"max_position_embeddings": 514}),
    "deberta-v2": ("DebertaV2Config", "DebertaV2ForSequenceClassification",
                   {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                    "intermediate_size": 3072, "relative_attention": True, "position_buckets": 256,
                    "pos_att_type": ["p2c", "c2p"], "share_att_key": True, "type_vocab_size": 0,
                    "norm_rel_ebd": "layer_norm", "position_biased_input": False}),
    "modernbert": ("ModernBertConfig", "ModernBertForSequenceClassification",
                   {"reference_compile": False, "pad_token_id": 0, "cls_token_id": 2,
                    "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3}),
    "longformer": ("LongformerConfig", "LongformerForSequenceClassification",
                   {"max_position_embeddings": LONG + 2, "pad_token_id": 1, "type_vocab_size": 1,
                    "attention_window": [512] * 12, "onnx_export": True}),
    "vit": ("ViTConfig", "ViTForImageClassification", {}),
    "deit": ("DeiTConfig", "DeiTForImageClassification", {}),
    "dinov2": ("Dinov2Config", "Dinov2ForImageClassification", {"image_size": 518}),
    "beit": ("BeitConfig", "BeitForImageClassification",
             {"use_relative_position_bias": True, "use_absolute_position_embeddings": False}),
    "swin": ("SwinConfig", "SwinForImageClassification", {}),  # its base size is Swin-T
    "swin-b": ("SwinConfig", "SwinForImageClassification",
               {"embed_dim": 128, "depths": [2, 2, 18, 2], "num_heads": [4, 8, 16, 32]}),
}
IMAGES = ("vit", "deit", "dinov2", "beit", "swin", "swin-b")
SHAPES = {kind: [(1, 128)] for kind in KINDS}  # of texts
SHAPES["modernbert"].append((1, LONG))
SHAPES["longformer"] = [(1, LONG)]
ANY_BATCH = ("bert", "vit")


def inputs(kind, batch, tokens):
    if kind in IMAGES:
        i = np.arange(3 * 224 * 224, dtype=np.float64)
        rows = [np.sin(0.37 * i + r) for r in range(batch)]
        return {"pixel_values": np.stack(rows).astype(np.float32).reshape(batch, 3, 224, 224)}
    ids = np.array([[1000 + (t * 7919 + r * 104729) % 29000 for t in range(tokens)]
                    for r in range(batch)], np.int64)
    made = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    if kind in TYPED:
        made["token_type_ids"] = np.zeros_like(ids)
    return made


# ---- making ----

def write_tokenizer(directory):
    """Any vocabulary of the right size: nothing is tokenized here."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = {word: i for i, word in enumerate(specials + [f"w{i}" for i in range(VOCAB - 5)])}
    def template(*texts):
        ends = {"SpecialToken": {"id": "[SEP]", "type_id": 0}}
        sequences = [[{"Sequence": {"id": text, "type_id": 0}}, ends] for text in texts]
        return [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, *sum(sequences, [])]

    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": word, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}
                         for i, word in enumerate(specials)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing", "single": template("A"), "pair": template("A", "B"),
            "special_tokens": {word: {"id": word, "ids": [specials.index(word)], "tokens": [word]}
                               for word in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab}}
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))
    (directory / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 100000,
         "do_lower_case": True}))


def make_checkpoint(kind, directory):
    import torch
    import transformers
    config_class, model_class, differing = KINDS[kind]
    torch.manual_seed(7)
    labels = {i: f"CLASS_{i}" for i in range(LABELS)}
    common = {"id2label": labels, "label2id": {name: i for i, name in labels.items()},
              "attn_implementation": "eager"}
    if kind not in IMAGES:
        common["vocab_size"] = VOCAB
    config = getattr(transformers, config_class)(**{**common, **differing})
    model = getattr(transformers, model_class)(config).eval()
    model.save_pretrained(directory)
    if kind in IMAGES:
        transformers.ViTImageProcessor().save_pretrained(directory)
    else:
        write_tokenizer(directory)
    return model


def export(model, kind, shape, path):
    import torch
    example = inputs(kind, *shape)
    names = list(example)

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *tensors):
            return self.model(**dict(zip(names, tensors))).logits

    axes = None
    if kind in ANY_BATCH:
        axes = {name: {0: "batch"} if kind in IMAGES else {0: "batch", 1: "tokens"} for name in names}
    with torch.inference_mode():
        torch.onnx.export(Logits(), tuple(torch.from_numpy(x) for x in example.values()), str(path),
                          input_names=names, output_names=["logits"], dynamic_axes=axes,
                          opset_version=OPSET, dynamo=False)


def quantize(kind, shape, path):
    import nncf
    import openvino
    from onnxruntime.quantization import QuantType, quantize_dynamic
    stem = str(path.with_suffix(""))
    quantize_dynamic(str(path), f"{stem}.int8.onnx", per_channel=True, weight_type=QuantType.QInt8)
    openvino.save_model(openvino.convert_model(path), f"{stem}.xml", compress_to_fp16=False)
    rng = np.random.default_rng(0)

    def calibration(example):
        for name, x in example.items():
            if name == "input_ids":
                yield name, rng.integers(1000, 30000, x.shape)
            elif name == "pixel_values":
                yield name, rng.standard_normal(x.shape, np.float32)
            else:
                yield name, x

    count = 20 if shape[1] < LONG else 2
    data = [dict(calibration(inputs(kind, *shape))) for _ in range(count)]
    openvino.save_model(nncf.quantize(openvino.convert_model(path), nncf.Dataset(data),
                                      model_type=nncf.ModelType.TRANSFORMER, subset_size=count),
                        f"{stem}.int8.xml")
    openvino.save_model(nncf.compress_weights(openvino.convert_model(path),
                                              mode=nncf.CompressWeightsMode.INT8_SYM),
                        f"{stem}.w8.xml")


def graph_path(directory, kind, shape):
    if kind in ANY_BATCH:
        return directory / f"{kind}-base" / "any.onnx"
    name = "1" if kind in IMAGES else f"{shape[0]}x{shape[1]}"
    return directory / f"{kind}-base" / f"{name}.onnx"


def make(directory, kinds):
    for kind in kinds or KINDS:
        target = directory / f"{kind}-base"
        target.mkdir(parents=True, exist_ok=True)
        model = make_checkpoint(kind, target)
        for shape in SHAPES[kind]:
            path = graph_path(directory, kind, shape)
            try:
                export(model, kind, shape, path)
                quantize(kind, shape, path)
            except Exception as reason:  # what a peer cannot do is a line of the table
                print(f"{path}: {type(reason).__name__}: {reason}", file=sys.stderr, flush=True)
        print(target, "made", flush=True)


# ---- serving ----

def open_ort(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, x)[0]


def open_openvino(path, form):
    import openvino
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": 1,
                "INFERENCE_PRECISION_HINT": "bf16" if form == "bf16" else "f32"}
    if form == "w8":
        settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 768
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()
    return lambda x: list(request.infer(x).values())[0]


def open_torch(directory, kind):
    import torch
    import transformers
    torch.set_num_threads(THREADS)
    model = getattr(transformers, KINDS[kind][1]).from_pretrained(
        directory / f"{kind}-base", attn_implementation="sdpa").eval()

    def run(x):
        with torch.inference_mode():
            return model(**{name: torch.from_numpy(a) for name, a in x.items()}).logits.numpy()
    return run


def open_peer(directory, peer, kind, shape):
    library, form = peer.split("-")
    path = graph_path(directory, kind, shape)
    if library == "torch":
        return open_torch(directory, kind)
    if library == "ort":
        path = path if form == "f32" else path.with_suffix(".int8.onnx")
    else:
        path = path.with_suffix({"int8": ".int8.xml", "w8": ".w8.xml"}.get(form, ".xml"))
    if not path.exists():
        raise FileNotFoundError(f"{path.name} was not made: {kind} cannot be exported in this form")
    return open_ort(path) if library == "ort" else open_openvino(path, form)


class Peers:
    """The peers of one kind and shape at a time: those of all kinds would not fit into memory."""

    def __init__(self, directory):
        self.directory, self.of, self.open = directory, None, {}

    def run(self, peer, kind, batch, tokens):
        graph = graph_path(self.directory, kind, (batch, tokens))
        if graph != self.of:
            self.of, self.open = graph, {}
        x = inputs(kind, batch, tokens)
        if peer not in self.open:
            self.open[peer] = open_peer(self.directory, peer, kind, (batch, tokens))
            self.open[peer](x)
        begin = time.perf_counter()
        logits = self.open[peer](x)
        return (time.perf_counter() - begin) * 1e3, logits[0]


def serve(directory):
    peers = Peers(directory)
    for line in sys.stdin:
        peer, kind, batch, tokens = line.split()[:4]
        try:
            ms, logits = peers.run(peer, kind, int(batch), int(tokens))
            print(f"{ms:.3f}", *(f"{x:.6f}" for x in logits), flush=True)
        except Exception as reason:
            print("refused", " ".join(str(reason).split()), flush=True)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("make", "serve"):
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[2])
    unknown = [kind for kind in sys.argv[3:] if kind not in KINDS]
    if unknown:
        sys.exit(f"peers.py: no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    if sys.argv[1] == "make":
        make(directory, sys.argv[3:])
    else:
        serve(directory)


if __name__ == "__main__":
    main()
