"""Writes tests/data/generate/cases.json: what generate() of transformers 4.57 answers for random options,
over a model whose logits are a hash of the last tokens, so that a test can compute them again. Needs
torch and transformers 4.57 (VENV/bin/pip install torch "transformers==4.57.*"); run from the repository's
root.

    python3 tests/reference/generation.py tests/data/generate/cases.json

Each case: `table` (of the logits, see Table.logits), `config` (as generation_config.json), `margin` (least
distance of two scores that the search compared, those of hypotheses that are none left out), `answers` (ids
without the start token, sum over length^length_penalty; greedy search has no score of its own, so that is
made here) and `logs`, the log-probability of each token of the first; in some `allowed`, the texts that may come out. `top_k`: what torch.topk answers for
numbers with many ties.
"""
import json
import random
import sys
import warnings

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

CASES, CHECKED, NONE = 500, 120, -5e8
assert transformers.__version__.startswith("4.57"), transformers.__version__
warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
draw = random.Random(36)


def rng_hash(key, index):
    """engine/base/rng.h"""
    x = (np.asarray(index, np.uint64) * 0x9E3779B1 + key) & 0xFFFFFFFF
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


class TableConfig(PretrainedConfig):
    model_type = "table"


class Encoder(torch.nn.Module):
    main_input_name = "input_ids"

    def forward(self, input_ids=None, **rest):
        return BaseModelOutput(last_hidden_state=torch.zeros(*input_ids.shape, 1))


class Table(PreTrainedModel, GenerationMixin):
    config_class, main_input_name = TableConfig, "input_ids"

    def __init__(self, config, table):
        super().__init__(config)
        self.table, self.one, self.encoder = table, torch.nn.Parameter(torch.zeros(1)), Encoder()

    def get_encoder(self):
        return self.encoder

    def prepare_inputs_for_generation(self, input_ids, **rest):
        return dict(decoder_input_ids=input_ids)

    def logits(self, ids):
        """Hash of the last token, the one before and, `by_step`, the length: `bits` of it, spread over
        [-4, 4) x 2^sharpness; `bias` is added to the ends. All exact in float32."""
        t = self.table
        key = rng_hash(rng_hash(t["seed"], ids[-1]), ids[-2] if len(ids) > 1 else 0)
        key = rng_hash(key, len(ids) if t["by_step"] else 0)
        hashed = rng_hash(int(key), np.arange(t["vocabulary"])) >> (32 - t["bits"])
        x = hashed.astype(np.float32) * np.float32(2.0 ** (3 - t["bits"])) - np.float32(4)
        x *= np.float32(2.0 ** t["sharpness"])
        x[t["ends"]] += np.float32(t["bias"])
        return x

    def forward(self, decoder_input_ids=None, **rest):
        rows = [self.logits(ids) for ids in decoder_input_ids.tolist()]
        return Seq2SeqLMOutput(logits=torch.from_numpy(np.stack(rows))[:, None])


class Margins:
    """The least distance between scores that decide, seen through torch.topk and the early stop."""

    def __enter__(self):
        self.least, self.topk, self.stop = float("inf"), torch.topk, GenerationMixin._check_early_stop_heuristic

        def topk(x, k, **rest):
            values = self.topk(x.flatten(), min(k + 1, x.numel()))[0]
            values = values[values > NONE].double()
            if len(values) > 1:
                self.least = min(self.least, float((values[:-1] - values[1:]).min()))
            return self.topk(x, k, **rest)

        def stop(is_early_stop_heuristic_unsatisfied, running_beam_scores, beam_scores, is_sent_finished, cur_len,
                 max_length, decoder_prompt_len, early_stopping, length_penalty):
            n = (max_length if early_stopping == "never" and length_penalty > 0 else cur_len) - decoder_prompt_len
            best, worst = float(running_beam_scores[0, 0]) / n**length_penalty, float(beam_scores.min())
            if best > NONE and worst > NONE:
                self.least = min(self.least, abs(best - worst))
            return self.stop(is_early_stop_heuristic_unsatisfied, running_beam_scores, beam_scores, is_sent_finished,
                             cur_len, max_length, decoder_prompt_len, early_stopping, length_penalty)

        torch.topk, GenerationMixin._check_early_stop_heuristic = topk, staticmethod(stop)
        return self

    def __exit__(self, *_):
        torch.topk, GenerationMixin._check_early_stop_heuristic = self.topk, staticmethod(self.stop)


def draw_case():
    vocabulary = draw.choice([24, 40, 90, 200, 200, 700, 1500])
    some = lambda n: sorted(draw.sample(range(3, vocabulary), n))
    ends = draw.choice([[2], [2], [2], [2, 5], [1, 2, 7], [0]])
    table = dict(seed=draw.randrange(1 << 32), vocabulary=vocabulary, by_step=draw.random() < 0.5,
                 bits=draw.choice([24, 24, 24, 24, 24, 24, 24, 3]), sharpness=draw.choice([-1, 0, 0, 1]), ends=ends,
                 bias=draw.choice([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]))
    beams, new = draw.choice([1, 1, 2, 3, 4, 4, 5, 8]), draw.choice([1, 2, 3, 5, 8, 12, 18])
    config = dict(decoder_start_token_id=draw.choice([2, 1, 0, 9]), eos_token_id=ends[0] if len(ends) == 1 else ends,
                  pad_token_id=draw.choice([1, 0]), num_beams=beams)
    if draw.random() < 0.05:
        del config["eos_token_id"]
    config.update(dict(max_new_tokens=new) if draw.random() < 0.5 else dict(max_length=new + 1))
    maybe = lambda p, make: config.update(make()) if draw.random() < p else None
    maybe(0.25, lambda: draw.choice([dict(min_new_tokens=draw.randrange(new + 1)), dict(min_length=draw.randrange(new + 2))]))
    maybe(0.3, lambda: dict(no_repeat_ngram_size=draw.randrange(1, 5)))
    maybe(0.3, lambda: dict(bad_words_ids=[some(1) for _ in range(draw.randrange(1, 6))] +
                            [[draw.randrange(vocabulary) for _ in range(draw.randrange(2, 4))] for _ in range(3)] +
                            [[ends[0]]]))
    maybe(0.25, lambda: dict(forced_bos_token_id=draw.randrange(3, vocabulary)))
    maybe(0.3, lambda: dict(forced_eos_token_id=draw.choice([ends[0], ends])))
    maybe(0.15, lambda: dict(suppress_tokens=some(6)))
    maybe(0.15, lambda: dict(begin_suppress_tokens=some(5) + ends))
    maybe(0.15, lambda: dict(renormalize_logits=True))
    if beams > 1:
        config.update(early_stopping=draw.choice([False, True, "never"]), num_return_sequences=draw.randrange(1, beams + 1),
                      length_penalty=draw.choice([-2.0, -0.7, 0.0, 0.6, 1.0, 1.0, 1.3, 2.0]))
    if table["bits"] == 24 and len(config.get("bad_words_ids", [])) > 3 and draw.random() < 0.3:
        first = config["decoder_start_token_id"]  # a banned pair whose first token is the start
        config["bad_words_ids"].append([first, int(np.argmax(Table(TableConfig(vocab_size=vocabulary, is_encoder_decoder=True), table).logits([first])))])
    return table, config


def next_of(allowed, ends):
    """What may follow ids with the start, so that one of the allowed texts comes out."""
    def tokens(batch, ids):
        ids = ids.tolist()[1:]
        begun = [a for a in allowed if a[:len(ids)] == ids]
        return sorted({a[len(ids)] if len(a) > len(ids) else ends[0] for a in begun}) or ends
    return tokens


def answer(table, config, allowed=None):
    model = Table(TableConfig(vocab_size=table["vocabulary"], is_encoder_decoder=True), table).eval()
    model.generation_config = GenerationConfig(**config)
    with torch.no_grad(), Margins() as margins:
        out = model.generate(input_ids=torch.ones(1, 3, dtype=torch.long), use_cache=False, output_scores=True,
                             output_logits=True, return_dict_in_generate=True,
                             prefix_allowed_tokens_fn=next_of(allowed, table["ends"]) if allowed else None)
    answers = []
    if config["num_beams"] == 1:
        ids, logs = out.sequences[0, 1:].tolist(), []
        for step, token in enumerate(ids):
            seen, raw = out.scores[step][0], out.logits[step][0]
            if not (seen > -float("inf")).any():
                return [], margins.least  # all are banned; transformers goes on with token 0
            top = seen.topk(2)[0].double()
            forced = bool((seen[seen > -float("inf")] == 0).all())
            if not forced and top[1] > NONE:
                margins.least = min(margins.least, float(top[0] - top[1]))
            normal = seen if config.get("renormalize_logits") else torch.log_softmax(raw, -1)
            logs.append(float(normal[token]) if config.get("renormalize_logits") or not forced else 0.0)
        answers.append(dict(ids=ids, score=sum(logs) / len(ids) ** config.get("length_penalty", 1.0), logs=logs))
    else:
        for ids, score, rows in zip(out.sequences.tolist(), out.sequences_scores.tolist(), out.beam_indices.tolist()):
            ids = ids[1:1 + sum(row >= 0 for row in rows)]
            answers.append(dict(ids=ids, score=score, logs=[float(s[r, i]) for s, r, i in zip(out.scores, rows, ids)]))
    return answers, margins.least


def shorten(x):
    return float("%.7g" % x)


def draw_checked():
    """A few texts of one to five tokens that share beginnings; early_stopping true would count copies."""
    table = dict(seed=draw.randrange(1 << 32), vocabulary=draw.choice([90, 200, 700]), by_step=draw.random() < 0.5,
                 bits=24, sharpness=0, ends=[2], bias=draw.choice([-1.0, 0.0, 2.0]))
    few = draw.sample(range(3, table["vocabulary"]), 5)
    allowed = {tuple(draw.choice(few) for _ in range(draw.randrange(1, 6))) for _ in range(draw.randrange(1, 20))}
    beams = draw.choice([1, 2, 3, 4, 8])
    config = dict(decoder_start_token_id=0, eos_token_id=2, pad_token_id=1, num_beams=beams, max_new_tokens=8)
    if beams > 1:
        config.update(early_stopping=draw.choice([False, "never"]), num_return_sequences=draw.randrange(1, beams + 1),
                      length_penalty=draw.choice([-0.7, 0.0, 1.0, 1.3]), renormalize_logits=draw.random() < 0.3)
    return table, config, sorted(map(list, allowed))


def case_of(table, config, allowed=None):
    answers, margin = answer(table, config, allowed)
    # where tokens are banned, transformers fills up with hypotheses that are none
    penalty = config.get("length_penalty", 1.0)
    answers = [a for a in answers if a["ids"] and sum(a["logs"]) > NONE and a["score"] * len(a["ids"])**penalty > NONE]
    case = dict(table=table, config=config, margin=min(1.0, shorten(margin)),
                answers=[dict(ids=a["ids"], score=shorten(a["score"])) for a in answers])
    if answers:
        case["logs"] = [shorten(x) for x in answers[0]["logs"]]
    return dict(case, allowed=allowed) if allowed else case


cases = [case_of(*draw_case()) for _ in range(CASES)]
tops = []
for n, k in [(5, 3), (16, 8), (24, 8), (40, 17), (63, 1), (64, 1), (65, 1), (127, 2), (128, 2), (300, 8), (500, 24),
             (512, 8), (700, 72), (1100, 16), (1300, 72), (4700, 72)] * 3:
    numbers = [draw.randrange(max(2, n // draw.choice([1, 4, 20]))) for _ in range(n)]
    tops.append(dict(numbers=numbers if n < 200 else None, n=n, k=k, levels=draw.choice([3, n // 4, n]), seed=draw.randrange(1 << 32)))
    if n >= 200:
        numbers = (rng_hash(tops[-1]["seed"], np.arange(n)) % np.uint64(tops[-1]["levels"])).tolist()
    else:
        del tops[-1]["levels"], tops[-1]["seed"]
    tops[-1]["top"] = torch.topk(torch.tensor(numbers, dtype=torch.float32), k)[1].tolist()
    if n >= 200:
        del tops[-1]["numbers"]
cases += [case_of(*draw_checked()) for _ in range(CHECKED)]
odd = sum(len(c["answers"]) < c["config"].get("num_return_sequences", 1) for c in cases)
with open(sys.argv[1], "w") as file:
    file.write('{"cases": [\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + '\n],\n"top_k": [\n' +
               ",\n".join(json.dumps(t, separators=(",", ":")) for t in tops) + "\n]}\n")
print(len(cases), "cases,", odd, "with fewer hypotheses than asked for,", sum(c["margin"] < 1e-6 for c in cases), "with a margin below 1e-6")
