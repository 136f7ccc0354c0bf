"""Clients of other servers, as they are published, against attnd: each answer beside the native one.

    make test-clients            prints client, version, calls and differences; ends with 1 if there are any

requirements.txt and package-lock.json name the clients' versions. Not part of CI: it needs the network.
"""
import base64
import importlib.metadata
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
BUILD = os.environ.get("BUILD", "build")
PICTURE = ROOT / "tests/data/examples/wafer_map.png"
TEXTS = ["SCAN chain 3 FAIL", "leakage at pin 7", "a b", "VDD short, bin 4", "über 3 µA"]
LABELS = ["leakage", "scan", "timing"]
TOLERANCE = 1e-6
PARTS = {"ner-bert-0": "tags/ner-bert-0", "ner-xlmr-0": "tags/ner-xlmr-0", "qa-bert-0": "answers/qa-bert-0",
         "mlm-bert-0": "vocabulary/mlm-bert-0", "mlm-roberta-0": "vocabulary/mlm-roberta-0",
         "mlm-xlmr-0": "vocabulary/mlm-xlmr-0"}
RECORDED = 1e-4  # of numbers that transformers' pipelines gave
STRATEGIES = ["none", "simple", "first", "max", "average"]
MODELS = {"classes": "golden/bert-5", "ranks": "rerank/rerank-bert-0", "vectors": "embedding/st-bert-0",
          "wafers": "golden/vit-0", "any": "golden/clip-0", **PARTS, "weights": "vocabulary/splade-bert-0"}
TASKS = {"marian-0": "translation", "m2m100-0": "translation", "pegasus-0": "summarization", "t5-0": "text2text",
         "trocr-0": "image-to-text"}
GREEDY = {f"greedy-{name}": name for name in ("marian-0", "t5-0", "pegasus-0")}  # with one beam, for streams
NAMES = [*MODELS, "entails", *TASKS, *GREEDY]


def entailing_model(into):
    """bert-5 with the labels of an entailment model."""
    source = ROOT / "tests/data/golden/bert-5"
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (into / name).symlink_to(source / name)
    config = json.loads((source / "config.json").read_text())
    config["id2label"] = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    config["label2id"] = {label: int(i) for i, label in config["id2label"].items()}
    (into / "config.json").write_text(json.dumps(config))


def writing_model(into, name, is_greedy):
    """A checkpoint that writes texts, whose files lie in two folders."""
    for folder in ("golden", "recoding"):
        for file in (ROOT / "tests/data" / folder / name).iterdir():
            if file.name == "generation_config.json" and is_greedy:
                (into / file.name).write_text(json.dumps({**json.loads(file.read_text()), "num_beams": 1}))
            elif file.name != "cases.json":
                (into / file.name).symlink_to(file)


class Server:
    def __init__(self, names, *options):
        models = [word for name in names for word in ("--model", f"{name}={ROOT}/tests/data/{MODELS[name]}")]
        self.process = subprocess.Popen([ROOT / BUILD / "attnd", "--listen", "127.0.0.1:0", *models, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline())[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def predict(self, **body):
        return self.ask("/predict", body)


class Tally:
    """Counts calls and differences of one client."""

    def __init__(self, name, version):
        self.name, self.version, self.calls, self.differences = name, version, 0, 0

    def expect(self, found, right, what, tolerance=TOLERANCE):
        self.calls += 1
        if not same(found, right, tolerance):
            self.differences += 1
            print(f"  {self.name}: {what}: {str(found)[:150]} instead of {str(right)[:150]}")

    def refuses(self, call, what):
        self.calls += 1
        try:
            call()
        except Exception:
            return
        self.differences += 1
        print(f"  {self.name}: {what}: it was answered")


def same(found, right, tolerance=TOLERANCE):
    if isinstance(right, float):
        return abs(float(found) - right) <= tolerance * max(1, abs(right))
    if isinstance(right, (list, tuple)):
        return len(found) == len(right) and all(same(a, b, tolerance) for a, b in zip(found, right))
    if isinstance(right, dict):
        return {key for key, value in found.items() if value is not None} == set(right) and all(
            same(found[key], right[key], tolerance) for key in right)
    return found == right


def recorded(name):
    return json.loads((ROOT / "tests/data" / PARTS[name] / "cases.json").read_text())["cases"]


def written(name):
    """Recorded cases of transformers' generate(), but the empty text, which is refused."""
    cases = json.loads((ROOT / "tests/data/golden" / name / "cases.json").read_text())["cases"]
    return [case for case in cases if case.get("text") != ""]


def of_masks(rows):
    """The pipeline's answer: of one mask without a list around it."""
    return rows[0] if len(rows) == 1 else rows


class Native:
    """Native answers in the forms of others."""

    def __init__(self, server):
        self.server = server

    def labels(self, model, **item):
        answer = self.server.predict(model=model, top_k="all", **item)
        return [[one["label"], one["score"]] for one in answer["predictions"]]

    def vector(self, text):
        return self.server.predict(model="vectors", text=text)["embedding"]

    def states(self, text, **options):
        answer = self.server.predict(model="vectors", text=text, chunks="tokens", **options)
        return [chunk["embedding"] for chunk in answer["chunks"]]

    def weights(self, text):
        return [{"index": one["index"], "value": one["value"]}
                for one in self.server.predict(model="weights", text=text)["sparse"]]

    def image(self):
        return base64.b64encode(PICTURE.read_bytes()).decode()

    def rank(self, query, texts):
        scores = [self.server.predict(model="ranks", text=query, text_pair=text)["predictions"][0]["score"]
                  for text in texts]
        return sorted([[i, score] for i, score in enumerate(scores)], key=lambda pair: -pair[1])

    def cosine(self, a, b):
        x, y = self.vector(a), self.vector(b)
        return sum(p * q for p, q in zip(x, y)) / math.hypot(*x) / math.hypot(*y)

    def entailment(self, text, labels):
        """Softmax over the labels' entailment, by the native scores' ratios of each pair to itself."""
        body = {"model": "entails", "raw_scores": True,
                "inputs": [[text, f"This example is {label}."] for label in labels]}
        logits = [next(one["score"] for one in row if one["label"] == "entailment")
                  for row in self.server.predict(**body)]
        total = sum(math.exp(value) for value in logits)
        pairs = [[label, math.exp(value) / total] for label, value in zip(labels, logits)]
        return sorted(pairs, key=lambda pair: -pair[1])


def pairs_of(found):
    return [[one.label, one.score] for one in found]


def run_huggingface_hub(native, url):
    import huggingface_hub
    tally = Tally("huggingface_hub", huggingface_hub.__version__)
    at = {name: huggingface_hub.InferenceClient(f"{url}/models/{name}")
          for name in ("classes", "vectors", "wafers", "any", "entails")}
    for text in TEXTS:
        right = native.labels("classes", text=text)
        tally.expect(pairs_of(at["classes"].text_classification(text)), right, "text_classification")
        tally.expect(pairs_of(at["classes"].text_classification(text, top_k=1)), right[:1], "top_k")
        tally.expect(at["vectors"].feature_extraction(text).tolist(), native.vector(text), "feature_extraction")
        tally.expect(pairs_of(at["entails"].zero_shot_classification(text, LABELS)),
                     native.entailment(text, LABELS), "zero_shot_classification")
    tally.expect(at["vectors"].feature_extraction(TEXTS, normalize=True).tolist(),
                 [native.vector(text) for text in TEXTS], "feature_extraction of a list")
    tally.expect(at["vectors"].sentence_similarity(TEXTS[0], other_sentences=TEXTS[1:]),
                 [native.cosine(TEXTS[0], text) for text in TEXTS[1:]], "sentence_similarity")
    right = native.labels("wafers", image=native.image())
    tally.expect(pairs_of(at["wafers"].image_classification(PICTURE)), right, "image_classification")
    tally.expect(pairs_of(at["wafers"].image_classification(PICTURE.read_bytes(), top_k=2)), right[:2], "top_k")
    tally.expect(pairs_of(at["any"].zero_shot_image_classification(PICTURE, candidate_labels=LABELS)),
                 native.labels("any", image=native.image(), candidate_labels=LABELS),
                 "zero_shot_image_classification")
    tally.expect(pairs_of(huggingface_hub.InferenceClient(url).text_classification(TEXTS[0])),
                 native.labels("classes", text=TEXTS[0]), "text_classification at /")
    tally.refuses(lambda: at["classes"].text_classification("a", function_to_apply="sigmoid"), "another function")
    return tally


def run_pipelines(native, url):
    """Parts of texts beside what transformers' pipelines gave for the checkpoints."""
    import huggingface_hub
    tally = Tally("huggingface_hub, parts of texts", huggingface_hub.__version__)
    at = {name: huggingface_hub.InferenceClient(f"{url}/models/{name}") for name in PARTS}
    for name in ("ner-bert-0", "ner-xlmr-0"):
        for case in recorded(name):
            for strategy in STRATEGIES:
                right = [{key: value for key, value in span.items() if key != "index"} for span in case[strategy]]
                found = [dict(one) for one in at[name].token_classification(
                    case["text"], aggregation_strategy=strategy, ignore_labels=["O"], stride=0)]
                for one in found:
                    one.pop("index", None)
                tally.expect(found, right, f"token_classification, {strategy}", RECORDED)
            found = [dict(one) for one in at[name].token_classification(case["text"])]
            tally.expect(found, case["simple"], "token_classification", RECORDED)
    for case in recorded("qa-bert-0"):
        found = at["qa-bert-0"].question_answering(case["question"], case["context"], **case["parameters"])
        found = [dict(one) for one in (found if isinstance(found, list) else [found])]
        tally.expect(found, case["answers"], "question_answering", RECORDED)
        best = at["qa-bert-0"].question_answering(case["question"], case["context"])
        right = native.server.predict(model="qa-bert-0", text=case["context"], question=case["question"])["answer"]
        tally.expect(best.answer, right["text"], "question_answering, the best")
        tally.expect([best.score, best.start, best.end], [right["score"], right["start"], right["end"]],
                     "question_answering, the best")
    for name in ("mlm-bert-0", "mlm-roberta-0", "mlm-xlmr-0"):
        for case in recorded(name):
            if len(case["masks"]) == 1:  # the client has no form for several
                found = [dict(one) for one in at[name].fill_mask(case["text"])]
                tally.expect(found, case["top"][0], "fill_mask", RECORDED)
                found = [dict(one) for one in at[name].fill_mask(case["text"], top_k=2)]
                tally.expect(found, case["top"][0][:2], "fill_mask, top_k 2", RECORDED)
    case = recorded("mlm-bert-0")[0]
    words = [one["token_str"] for one in case["top"][0]]
    found = [dict(one) for one in at["mlm-bert-0"].fill_mask(case["text"], targets=words[3:1:-1])]
    tally.expect(found, case["top"][0][2:4], "fill_mask, targets", RECORDED)
    tally.refuses(lambda: at["ner-bert-0"].question_answering("a", "b"), "a question to a model of tags")
    tally.refuses(lambda: at["qa-bert-0"].fill_mask("[MASK]"), "a mask for a model of answers")
    return tally


def run_written(native, url):
    """Texts that models write beside what transformers' generate() gave."""
    import huggingface_hub
    tally = Tally("huggingface_hub, texts that are written", huggingface_hub.__version__)
    at = {name: huggingface_hub.InferenceClient(f"{url}/models/{name}") for name in TASKS}
    searches = [({"num_beams": 1, "max_new_tokens": 16}, lambda case: case["greedy"]["text"]),
                ({"num_beams": 4, "max_length": 17}, lambda case: case["beam"][0]["text"])]
    for name, task in TASKS.items():
        for case in written(name):
            for options, right in searches if task in ("translation", "summarization") else []:
                if task == "translation":
                    found = at[name].translation(case["text"], src_lang=case.get("src_lang"),
                                                 tgt_lang=case.get("tgt_lang"), generate_parameters=options)
                    tally.expect(found.translation_text, right(case), f"translation by {name}")
                else:
                    found = at[name].summarization(case["text"], generate_parameters=options)
                    tally.expect(found.summary_text, right(case), f"summarization by {name}")
            if task == "image-to-text":
                picture = ROOT / "tests/data/golden/images" / case["image"]
                image = base64.b64encode(picture.read_bytes()).decode()
                output = native.server.predict(model=name, image=image)["output"]
                tally.expect(at[name].image_to_text(picture).generated_text, output, "image_to_text")
            if task == "text2text":
                answer = native.server.predict(model=name, text=case["text"], max_new_tokens=16)
                tally.expect(at[name].text_generation(case["text"], max_new_tokens=16), answer["output"], "text_generation")
                found = at[name].text_generation(case["text"], max_new_tokens=16, details=True, temperature=1.0, seed=3)
                tally.expect(found.generated_text, answer["output"], "text_generation with details")
                tally.expect("".join(token.text for token in found.details.tokens if not token.special),
                             answer["output"], "text_generation, tokens")
                other = huggingface_hub.InferenceClient(f"{url}/models/{name}/pipeline/summarization")
                tally.expect(other.summarization(case["text"], generate_parameters={"max_new_tokens": 16}).summary_text,
                             answer["output"], "summarization at the task's path")
    tally.refuses(lambda: at["t5-0"].text_generation("a", do_sample=True), "sampling")
    tally.refuses(lambda: at["t5-0"].text_generation("a", stop=["b"]), "a stop")
    tally.refuses(lambda: at["m2m100-0"].translation("a", src_lang="en", tgt_lang="xx"), "a language that is not there")
    return tally


def run_text_generation(native, url):
    """text-generation-inference's client, given an address."""
    import text_generation
    from text_generation.errors import ValidationError
    tally = Tally("text-generation", importlib.metadata.version("text-generation"))
    for name in ("marian-0", "t5-0", "pegasus-0"):
        client = text_generation.Client(f"{url}/models/{name}")
        for case in written(name):
            found = client.generate(case["text"], max_new_tokens=16)
            output = native.server.predict(model=name, text=case["text"], max_new_tokens=16)["output"]
            tally.expect(found.generated_text, output, f"generate by {name}")
            tokens = found.details.tokens
            tally.expect([found.details.generated_tokens, "".join(token.text for token in tokens if not token.special)],
                         [len(tokens), output], f"tokens by {name}")
        for options in ({"temperature": 0.5}, {"do_sample": True}, {"stop_sequences": ["a"]}):
            tally.calls += 1
            try:
                client.generate("a", **options)
                tally.differences += 1
            except ValidationError:
                pass
    return tally


async def gathered(stream):
    return [one async for one in stream]


def check_stream(tally, native, model, text, events, what):
    """Events of a stream beside the native answer and its tokens."""
    answer = native.server.ask("/generate", {"inputs": text, "model": model,
                                             "parameters": {"max_new_tokens": 16, "details": True}})
    tally.expect([[one.token.id, one.token.text, one.token.logprob, one.token.special] for one in events],
                 [[one["id"], one["text"], one["logprob"], one["special"]] for one in answer["details"]["tokens"]],
                 f"tokens of {what} by {model}")
    tally.expect([one.generated_text for one in events], [None] * (len(events) - 1) + [answer["generated_text"]],
                 f"texts of {what} by {model}")
    details = events[-1].details
    tally.expect([getattr(details.finish_reason, "value", details.finish_reason), details.generated_tokens],
                 [answer["details"]["finish_reason"], len(events)], f"details of {what} by {model}")


def run_text_generation_streams(native, url):
    import asyncio
    import text_generation
    from text_generation.errors import ValidationError
    tally = Tally("text-generation, streams", importlib.metadata.version("text-generation"))
    for model, name in GREEDY.items():
        clients = [text_generation.Client(f"{url}/models/{model}"), text_generation.AsyncClient(f"{url}/models/{model}")]
        for case in written(name):
            check_stream(tally, native, model, case["text"], list(clients[0].generate_stream(case["text"], max_new_tokens=16)),
                         "generate_stream")
            events = asyncio.run(gathered(clients[1].generate_stream(case["text"], max_new_tokens=16)))
            check_stream(tally, native, model, case["text"], events, "AsyncClient.generate_stream")
        whole = clients[0].generate("scan", max_new_tokens=16, return_full_text=True).generated_text
        last = list(clients[0].generate_stream("scan", max_new_tokens=16, return_full_text=True))[-1]
        tally.expect(last.generated_text, whole, "generate_stream with the input")
    for model, options in (("greedy-t5-0", {"temperature": 0.5}), ("greedy-t5-0", {"stop_sequences": ["a"]}),
                           ("greedy-t5-0", {"truncate": 3}), ("t5-0", {})):
        tally.calls += 1
        try:
            list(text_generation.Client(f"{url}/models/{model}").generate_stream("a", **options))
            tally.differences += 1
            print(f"  text-generation: a stream with {options} by {model} was answered")
        except ValidationError:
            pass
    return tally


def run_huggingface_hub_streams(native, url):
    import asyncio
    import huggingface_hub
    tally = Tally("huggingface_hub, streams", huggingface_hub.__version__)
    for model, name in GREEDY.items():
        client = huggingface_hub.InferenceClient(f"{url}/models/{model}")

        async def ask(text):
            other = huggingface_hub.AsyncInferenceClient(f"{url}/models/{model}")
            return await gathered(await other.text_generation(text, max_new_tokens=16, stream=True, details=True))

        for case in written(name):
            options = {"max_new_tokens": 16, "stream": True}
            events = list(client.text_generation(case["text"], details=True, **options))
            check_stream(tally, native, model, case["text"], events, "text_generation")
            check_stream(tally, native, model, case["text"], asyncio.run(ask(case["text"])),
                         "AsyncInferenceClient.text_generation")
            tally.expect(list(client.text_generation(case["text"], **options)), [one.token.text for one in events],
                         "text_generation without details")
    tally.refuses(lambda: list(client.text_generation("a", stream=True, do_sample=True)), "sampling")
    tally.refuses(lambda: list(client.text_generation("a", stream=True, details=True, decoder_input_details=True)),
                  "details of the input")
    return tally


def run_openai(native, url):
    import openai
    tally = Tally("openai", openai.__version__)
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    for encoding in ("float", "base64"):
        found = client.embeddings.create(model="vectors", input=TEXTS, encoding_format=encoding)
        for one, text in zip(found.data, TEXTS):
            vector = one.embedding
            if isinstance(vector, str):
                import numpy
                vector = numpy.frombuffer(base64.b64decode(vector), dtype="<f4").tolist()
            tally.expect(vector, native.vector(text), f"embeddings as {encoding}")
    tally.expect([model.id for model in client.models.list()],
                 NAMES, "models.list")
    tally.expect(client.models.retrieve("ranks").id, "ranks", "models.retrieve")
    tally.refuses(lambda: client.models.retrieve("none"), "a model that is not there")
    return tally


def run_cohere(native, url):
    import cohere
    tally = Tally("cohere", importlib.metadata.version("cohere"))
    for client in cohere.Client("none", base_url=url), cohere.ClientV2("none", base_url=url):
        for query in TEXTS[:3]:
            found = client.rerank(model="ranks", query=query, documents=TEXTS)
            tally.expect([[one.index, one.relevance_score] for one in found.results], native.rank(query, TEXTS), "rerank")
    return tally


def run_tritonclient(native, url):
    import numpy
    import tritonclient.http as http
    tally = Tally("tritonclient", importlib.metadata.version("tritonclient"))
    client = http.InferenceServerClient(url.removeprefix("http://"))
    tally.expect([client.is_server_live(), client.is_server_ready(), client.is_model_ready("classes"),
                  client.is_model_ready("classes", "1"), client.is_model_ready("none")],
                 [True, True, True, True, False], "ready")
    tally.expect(client.get_server_metadata()["name"], "attnd", "server metadata")
    tally.expect([one["name"] for one in client.get_model_metadata("classes")["outputs"]],
                 ["label", "score", "scores", "logits"], "model metadata")

    def infer(model, tensors, outputs, as_binary, **options):
        inputs = []
        for name, values in tensors.items():
            tensor = http.InferInput(name, [len(values)], "BYTES")
            tensor.set_data_from_numpy(numpy.array(values, dtype=object), binary_data=as_binary)
            inputs.append(tensor)
        asked = [http.InferRequestedOutput(name, binary_data=as_binary, **more) for name, more in outputs.items()]
        return client.infer(model, inputs, outputs=asked or None, **options)

    order = sorted(label for label, _ in native.labels("classes", text=TEXTS[0]))
    for as_binary in (True, False):
        for compression in (None, "gzip"):
            options = {"request_compression_algorithm": compression} if compression else {}
            found = infer("classes", {"text": [t.encode() for t in TEXTS]} if as_binary else {"text": TEXTS},
                          {"label": {}, "score": {}}, as_binary, **options)
            for i, text in enumerate(TEXTS):
                right = native.labels("classes", text=text)[0]
                label = found.as_numpy("label")[i]
                tally.expect([label.decode() if isinstance(label, bytes) else label,
                              float(found.as_numpy("score")[i])], right, f"infer, binary {as_binary}")
        found = infer("vectors", {"text": [t.encode() for t in TEXTS]} if as_binary else {"text": TEXTS},
                      {"embedding": {}}, as_binary)
        for i, text in enumerate(TEXTS):
            tally.expect(found.as_numpy("embedding")[i].tolist(), native.vector(text), f"embedding, {as_binary}")
        picture = PICTURE.read_bytes() if as_binary else native.image()
        found = infer("wafers", {"image": [picture, picture]}, {"scores": {"class_count": 2}}, as_binary)
        for row in found.as_numpy("scores"):
            texts = [one.decode() if isinstance(one, bytes) else one for one in row]
            tally.expect([[text.split(":", 2)[2], float(text.split(":")[0])] for text in texts],
                         native.labels("wafers", image=native.image())[:2], "classification")
        found = infer("classes", {"text": [b"scan"], "text_pair": [b"pin"]} if as_binary
                      else {"text": ["scan"], "text_pair": ["pin"]}, {}, as_binary)
        tally.expect(sorted(found.as_numpy("scores")[0].tolist()),
                     sorted(score for _, score in native.labels("classes", text="scan", text_pair="pin")), "a pair")
    tally.expect(len(order), 3, "labels")
    tally.expect(sorted(one["name"] for one in client.get_model_repository_index()),
                 sorted(NAMES), "repository index")
    tally.expect(client.get_inference_statistics("classes")["model_stats"][0]["name"], "classes", "statistics")
    tally.refuses(lambda: infer("classes", {"txt": [b"a"]}, {}, True), "an unknown tensor")
    tally.refuses(lambda: client.load_model("none"), "a model that is not there")
    client.unload_model("entails")
    tally.expect(client.is_model_ready("entails"), False, "unload")
    client.close()
    return tally


def run_kserve(native, url):
    import asyncio
    import kserve
    tally = Tally("kserve", importlib.metadata.version("kserve"))

    async def calls():
        client = kserve.InferenceRESTClient(kserve.inference_client.RESTConfig(protocol="v2"))
        for as_binary in (False, True):
            tensor = kserve.InferInput("text", [len(TEXTS)], "BYTES")
            import numpy
            tensor.set_data_from_numpy(numpy.array([t.encode() for t in TEXTS], dtype=object), binary_data=as_binary)
            outputs = [kserve.protocol.infer_type.RequestedOutput("score", {"binary_data": as_binary}),
                       kserve.protocol.infer_type.RequestedOutput("label", {"binary_data": as_binary})]
            request = kserve.InferRequest("classes", [tensor], request_outputs=outputs)
            found = await client.infer(url, request, model_name="classes")
            scores = {one.name: one.as_numpy().tolist() for one in found.outputs}
            for i, text in enumerate(TEXTS):
                label = scores["label"][i]
                tally.expect([label.decode() if isinstance(label, bytes) else label, scores["score"][i]],
                             native.labels("classes", text=text)[0], f"infer, binary {as_binary}")
        tally.expect([await client.is_server_ready(url), await client.is_server_live(url),
                      await client.is_model_ready(url, "classes")], [True, True, True], "ready")

    asyncio.run(calls())
    return tally


def run_langchain(native, url):
    """The class takes names of models alone, so its client is replaced by one with an address."""
    from huggingface_hub import InferenceClient
    from langchain_huggingface import HuggingFaceEndpointEmbeddings
    tally = Tally("langchain-huggingface", importlib.metadata.version("langchain-huggingface"))
    for address in (f"{url}/models/vectors", f"{url}/embed"):
        embeddings = HuggingFaceEndpointEmbeddings(model="vectors")
        embeddings.client = InferenceClient(address)
        tally.expect(embeddings.embed_documents(TEXTS), [native.vector(text) for text in TEXTS], address)
        tally.expect(embeddings.embed_query(TEXTS[0]), native.vector(TEXTS[0]), "embed_query")
    return tally


def tokens_of(tokenizer, text, has_specials=True):
    """What text-embeddings-inference tells of tokens, by the tokenizers package."""
    encoding = tokenizer.encode(text)
    tokens = []
    for id_, (start, stop), string, is_special in zip(encoding.ids, encoding.offsets, encoding.tokens,
                                                      encoding.special_tokens_mask):
        if is_special and has_specials:
            tokens.append({"id": id_, "text": string, "special": True})
        elif not is_special:
            tokens.append({"id": id_, "text": text[start:stop], "special": False,
                           "start": len(text[:start].encode()), "stop": len(text[:stop].encode())})
    return tokens


def run_tei_client(_, url):
    """A server for each model, as the client knows them: by what /info says of the only one."""
    from tei_client import HttpClient
    from tokenizers import Tokenizer
    tally = Tally("tei-client", importlib.metadata.version("tei-client"))
    with Server(["vectors"]) as server:
        native, client = Native(server), HttpClient(server.url)
        tokenizer = Tokenizer.from_file(str(ROOT / "tests/data" / MODELS["vectors"] / "tokenizer.json"))
        tokenizer.no_truncation()
        info = client.info()
        tally.expect([client.health(), info.server_model_id, client.model_type.value, info.server_model_metadata.pooling],
                     [True, "vectors", "embedding", "mean"], "info")
        tally.expect(sorted(client.prompt_names()), ["document", "query"], "prompt_names")
        tally.expect(client.embed(TEXTS), [native.vector(text) for text in TEXTS], "embed")
        tally.expect(client.embed_all(TEXTS), [native.states(text) for text in TEXTS], "embed_all")
        for text in TEXTS:
            tally.expect(client.embed(text), [native.vector(text)], "embed of a text")
            query = native.server.predict(text=text, prompt_name="query")["embedding"]
            tally.expect(client.embed(text, prompt_name="query", truncate=True), [query], "embed with a prompt")
            tally.expect(client.embed_all(text, prompt_name="query"), [native.states(text, prompt_name="query")],
                         "embed_all with a prompt")
            for has_specials in (True, False):
                found = client.tokenize(text, add_special_tokens=has_specials)[0]
                tally.expect([token.model_dump() for token in found.tokens], tokens_of(tokenizer, text, has_specials),
                             "tokenize")
            ids = tokenizer.encode(text).ids
            tally.expect(client.decode(ids), [tokenizer.decode(ids)], "decode")
            tally.expect(client.decode([ids, ids[:2]], skip_special_tokens=False),
                         [tokenizer.decode(ids, skip_special_tokens=False),
                          tokenizer.decode(ids[:2], skip_special_tokens=False)], "decode of two, special tokens too")
    with Server(["ranks"]) as server:
        native, client = Native(server), HttpClient(server.url)
        tally.expect([client.model_type.value, len(client.info().server_model_metadata.id2label)], ["reranker", 1], "info")
        for query in TEXTS:
            for raw in (False, True):
                found = client.rerank(query, TEXTS, return_text=True, raw_scores=raw).ranks
                tally.expect([[one.index, one.score if raw is False else 1 / (1 + math.exp(-one.score)), one.text]
                              for one in found], [[i, score, TEXTS[i]] for i, score in native.rank(query, TEXTS)],
                             f"rerank, raw scores {raw}")
    with Server(["classes"]) as server:
        native, client = Native(server), HttpClient(server.url)
        tally.expect(client.model_type.value, "classifier", "info")
        pairs_of_scores = [[[one.label, one.score] for one in row.scores] for row in client.classify(TEXTS)]
        tally.expect(pairs_of_scores, [native.labels("classes", text=text) for text in TEXTS], "classify")
        found = client.classify(("scan", "pin"))[0].scores
        tally.expect([[one.label, one.score] for one in found], native.labels("classes", text="scan", text_pair="pin"),
                     "classify a pair")
    return tally


def run_tei(native, url):
    """Routes of text-embeddings-inference through huggingface_hub, or as its documents write the calls."""
    import huggingface_hub
    tally = Tally("text-embeddings-inference's routes, by `huggingface_hub` or plain", huggingface_hub.__version__)
    at = {route: huggingface_hub.InferenceClient(f"{url}/{route}") for route in ("embed", "embed_all", "similarity")}
    for text in TEXTS:
        tally.expect(at["embed"].feature_extraction(text, normalize=True, truncate=True).tolist(), [native.vector(text)],
                     "/embed")
        tally.expect(at["embed_all"].feature_extraction(text).tolist(), [native.states(text)], "/embed_all")
        tally.expect(native.server.ask("/embed_sparse", {"inputs": text}), [native.weights(text)], "/embed_sparse")
        tally.expect(native.server.ask("/predict", {"inputs": text}),
                     [{"label": label, "score": score} for label, score in native.labels("classes", text=text)], "/predict")
    tally.expect(at["similarity"].sentence_similarity(TEXTS[0], other_sentences=TEXTS[1:]),
                 [native.cosine(TEXTS[0], text) for text in TEXTS[1:]], "/similarity")
    tally.expect(native.server.ask("/embed_sparse", {"inputs": TEXTS}), [native.weights(text) for text in TEXTS],
                 "/embed_sparse of a list")
    with urllib.request.urlopen(f"{url}/health") as reply:
        tally.expect([reply.status, reply.read()], [200, b""], "/health")
    with urllib.request.urlopen(f"{url}/info?model=weights") as reply:
        tally.expect(json.load(reply)["model_type"], {"embedding": {"pooling": "splade"}}, "/info")
    tally.refuses(lambda: native.server.ask("/embed", {"inputs": []}), "an empty list")
    tally.refuses(lambda: native.server.ask("/decode", {"ids": [2 ** 30]}), "an id without a token")
    return tally


def run_llama_index_rerank(native, url):
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
    name = "llama-index-postprocessor-tei-rerank"
    tally = Tally(name, importlib.metadata.version(name))
    reranker = TextEmbeddingInference(base_url=url, top_n=len(TEXTS))
    for query in TEXTS:
        nodes = [NodeWithScore(node=TextNode(text=text, id_=str(i))) for i, text in enumerate(TEXTS)]
        found = reranker.postprocess_nodes(nodes, query_str=query)
        tally.expect([[int(one.node.node_id), one.score] for one in found], native.rank(query, TEXTS), "rerank")
    return tally


def run_llama_index(native, url):
    from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
    name = "llama-index-embeddings-text-embeddings-inference"
    tally = Tally(name, importlib.metadata.version(name))
    embeddings = TextEmbeddingsInference(base_url=url, model_name="vectors", query_instruction="", text_instruction="")
    tally.expect(embeddings.get_text_embedding_batch(TEXTS), [native.vector(text) for text in TEXTS], "texts")
    tally.expect(embeddings.get_query_embedding(TEXTS[0]), native.vector(TEXTS[0]), "a query")
    return tally


def run_evaluation(native, url):
    """sentence-transformers' evaluator on vectors that come through a client."""
    from huggingface_hub import InferenceClient
    from sentence_transformers.evaluation import InformationRetrievalEvaluator
    import numpy
    tally = Tally("sentence-transformers", importlib.metadata.version("sentence-transformers"))
    client = InferenceClient(f"{url}/models/vectors")

    class Model:
        similarity_fn_name = "cosine"
        model_card_data = types.SimpleNamespace(set_evaluation_metrics=lambda *_: None)

        def __init__(self, encode_one):
            self.encode_one = encode_one

        def encode(self, sentences, **_):
            return numpy.array([self.encode_one(text) for text in sentences], dtype="float32")

        encode_query = encode_document = encode

        def similarity(self, a, b):
            from sentence_transformers.util import cos_sim
            return cos_sim(a, b)

    corpus = {str(i): text for i, text in enumerate(TEXTS)}
    queries = {str(i): text.lower() for i, text in enumerate(TEXTS)}
    relevant = {i: {i} for i in corpus}
    measures = [InformationRetrievalEvaluator(queries, corpus, relevant, write_csv=False)(Model(encode))
                for encode in (lambda text: client.feature_extraction(text), native.vector)]
    for name, right in measures[1].items():
        tally.expect(float(measures[0][name]), float(right), name)
    return tally


def as_objects(value):
    return json.loads(json.dumps(value), object_hook=lambda one: types.SimpleNamespace(**one))


def run_javascript(native, url):
    version = json.loads((HERE / "node_modules/@huggingface/inference/package.json").read_text())["version"]
    tally = Tally("@huggingface/inference", version)
    done = subprocess.run(["node", HERE / "huggingface.mjs", url, PICTURE, json.dumps(TEXTS), json.dumps(LABELS),
                           ROOT / "tests/data"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        tally.expect(done.stderr, "", "node")
        return tally
    found = json.loads(done.stdout)
    for i, text in enumerate(TEXTS):
        tally.expect(found["labels"][i], native.labels("classes", text=text), "textClassification")
        tally.expect(found["vectors"][i], native.vector(text), "featureExtraction")
        tally.expect(found["entailment"][i], native.entailment(text, LABELS), "zeroShotClassification")
    tally.expect(found["similarity"], [native.cosine(TEXTS[0], text) for text in TEXTS[1:]], "sentenceSimilarity")
    tally.expect(found["image"], native.labels("wafers", image=native.image()), "imageClassification")
    for strategy in STRATEGIES[1:]:
        tally.expect(found["spans"][strategy], [case[strategy] for case in recorded("ner-bert-0")],
                     f"tokenClassification, {strategy}", RECORDED)
    tally.expect(found["answers"], [case["answers"][0] for case in recorded("qa-bert-0")], "questionAnswering", RECORDED)
    tally.expect(found["words"], [of_masks(case["top"]) for case in recorded("mlm-bert-0") if len(case["masks"]) == 1],
                 "fillMask", RECORDED)
    for name, key in (("marian-0", "translation_text"), ("pegasus-0", "summary_text")):
        tally.expect([one[key] for one in found["written"][name]], [case["greedy"]["text"] for case in written(name)],
                     key)
    for name in ("streamed", "streamedBefore"):
        for events, case in zip(found[name], written("t5-0"), strict=True):
            check_stream(tally, native, "greedy-t5-0", case["text"], as_objects(events), name)
    tally.expect(found["anyLabel"], native.labels("any", image=native.image(), candidate_labels=LABELS),
                 "zeroShotImageClassification")
    return tally


RUNS = [run_huggingface_hub, run_pipelines, run_written, run_huggingface_hub_streams, run_text_generation,
        run_text_generation_streams, run_tei, run_tei_client, run_openai,
        run_cohere, run_langchain, run_llama_index, run_llama_index_rerank, run_evaluation, run_javascript, run_kserve,
        run_tritonclient]


def main():
    only = sys.argv[1:]
    tallies = []
    with tempfile.TemporaryDirectory() as folder:
        entailing = pathlib.Path(folder, "entails")
        entailing.mkdir()
        entailing_model(entailing)
        writing = []
        for name in [*TASKS, *GREEDY]:
            into = pathlib.Path(folder, name)
            into.mkdir()
            writing_model(into, GREEDY.get(name, name), name in GREEDY)
            writing += ["--model", f"{name}={into}"]
        with Server(MODELS, "--model", f"entails={entailing}", *writing, "--models-root", ROOT / "tests/data",
                    "--state-dir", pathlib.Path(folder, "state")) as server:
            for run in RUNS:
                if not only or run.__name__.removeprefix("run_") in only:
                    try:
                        tallies.append(run(Native(server), server.url))
                    except ImportError as missing:
                        print(f"  {run.__name__}: not run: {missing}")
    print("| client | version | calls | differences |\n|---|---|---|---|")
    for tally in tallies:
        print(f"| {tally.name} | {tally.version} | {tally.calls} | {tally.differences} |")
    return 1 if any(tally.differences for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
