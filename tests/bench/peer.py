"""Side by side with other inference libraries, alternating run by run: the only fair way on a machine
that others use too. Needs only Python's standard library and a co-process for the peers.

    python3 tests/bench/peer.py --peer "python tests/bench/peers.py serve DIR" --models DIR
                                [--runs 11] [--only int8] [--kind swin]

Both co-processes read a line and answer with milliseconds and the logits of the batch's first row:
ours as tests/bench/serve.h says, the peers' with the peer's name (ort-f32, ov-int8, ...) instead of
the dtype. DIR holds a checkpoint KIND-base for each kind, made by tests/bench/peers.py: the same
that the peers were made from. A family that is not BERT or ViT should not be further from its best
peer than BERT is in this very run.

In each round every participant runs twice: once untimed, because the others have emptied the caches,
and once timed. The best peer of a row is the one with the lowest median in this very run. The output
is Markdown, ready for loadtest/RESULTS.md; progress goes to stderr.
"""
import argparse
import datetime
import os
import shlex
import statistics
import subprocess
import sys

PEERS = {"f32": ["ort-f32", "ov-f32", "torch-f32"],
         "int8": ["ort-int8", "ov-int8", "ov-w8"],
         "bf16": ["ov-bf16"]}
FAMILY_DTYPES = ("f32", "int8")

# name, kind, batch, tokens, {dtype: our time over the best peer's, at most}
ROWS = [("BERT 1 x 128", "bert", 1, 128, {"f32": 0.85, "bf16": 0.85, "int8": 0.75}),
        ("BERT 1 x 16", "bert", 1, 16, {"bf16": 0.85, "int8": 0.60}),
        ("BERT 8 x 128", "bert", 8, 128, {"bf16": 0.85, "int8": 0.85}),
        ("ViT 1", "vit", 1, 0, {"f32": 0.85, "bf16": 0.85, "int8": 0.75}),
        ("ViT 8", "vit", 8, 0, {"bf16": 0.85, "int8": 0.85})]

# The other families. A target of AS_BERT is the ratio that BERT 1 x 128 has in this run.
AS_BERT = "as BERT"
FAMILIES = [(f"{name} 1 x 128", kind, 1, 128, {"f32": AS_BERT, "int8": AS_BERT})
            for name, kind in [("RoBERTa", "roberta"), ("ELECTRA", "electra"), ("ALBERT", "albert"),
                               ("MPNet", "mpnet"), ("DeBERTa-v3", "deberta-v2"),
                               ("ModernBERT", "modernbert")]]
FAMILIES += [(f"{name} 1 x 4096", kind, 1, 4096, {"f32": 0.5, "int8": 0.5})
             for name, kind in [("ModernBERT", "modernbert"), ("Longformer", "longformer")]]
FAMILIES += [(f"{name} 1", kind, 1, 0, {"f32": AS_BERT, "int8": AS_BERT})
             for name, kind in [("DeiT", "deit"), ("DINOv2", "dinov2"), ("BEiT", "beit"),
                                ("Swin-T", "swin"), ("Swin-B", "swin-b")]]

MIXED_LENGTHS = [8 + (68 * row + 112) % 249 for row in range(16)]  # inputs_mixed_tokens
MIXED_RATE_TARGET = 2.0  # our tokens a second over those of the best peer's padded batch
REFERENCE = "ort-f32"  # whose logits everything is compared with
VIT_INT8_MS = 50


class Refused(Exception):
    """The co-process is well but does not do this."""


class CoProcess:
    def __init__(self, command, environment):
        self.command, self.environment = command, environment
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **self.environment}, text=True, bufsize=1)

    def run(self, what, kind, batch, tokens):
        """(milliseconds, logits) of one batch. Lines that are neither are the libraries' chatter."""
        self.process.stdin.write(f"{what} {kind} {batch} {tokens}\n")
        for line in self.process.stdout:
            if line.startswith("refused "):
                raise Refused(line[len("refused "):].strip())
            try:
                numbers = [float(word) for word in line.split()]
            except ValueError:
                continue
            if numbers:
                return numbers[0], numbers[1:]
        self.process.wait()
        self.start()  # a peer that takes all memory is killed; the others go on
        raise Refused(f"{what} ended at {kind} {batch} x {tokens}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def difference(logits, reference):
    """max |a - b| / max |b|"""
    scale = max(abs(b) for b in reference)
    return max(abs(a - b) for a, b in zip(logits, reference, strict=True)) / scale


def alternate(participants, runs):
    """{name: (times, logits)} of callables that run one batch each."""
    results = {name: ([], None) for name in participants}
    for _ in range(runs):
        for name, run in participants.items():
            run()
            ms, logits = run()
            results[name][0].append(ms)
            results[name] = (results[name][0], logits)
    return results


def times(samples):
    return f"{statistics.median(samples):.2f} ({min(samples):.2f})"


def fastest(results, names):
    return min(names, key=lambda name: statistics.median(results[name][0]))


def verdict(ratio, target, at_most=True):
    if target is None:
        return "-"
    met = ratio <= target if at_most else ratio >= target
    return f"{'<=' if at_most else '>='} {target:.2f} **{'met' if met else 'missed'}**"


class Comparison:
    def __init__(self, ours, peers, runs):
        self.ours, self.peers, self.runs = ours, peers, runs
        self.bert_ratio = {}  # dtype -> of BERT 1 x 128
        self.references = {}  # (kind, batch, tokens) -> logits
        self.best = {}  # (dtype, row name) -> peer
        self.ort_ms = None

    def reference(self, kind, batch, tokens):
        key = (kind, batch, tokens)
        if key not in self.references:
            self.references[key] = self.peers.run(REFERENCE, *key)[1]
        return self.references[key]

    def participants(self, dtype, shape, names, our_shape=None):
        """Ours (refused at once if at all) and the named peers."""
        our_shape = our_shape or shape
        self.ours.run(dtype, *our_shape)
        runs = {"attnd": lambda: self.ours.run(dtype, *our_shape)}
        for name in names:
            try:
                self.peers.run(name, *shape)
                runs[name] = lambda name=name: self.peers.run(name, *shape)
            except Refused as reason:
                print(f"{name}: {reason}", file=sys.stderr)
        if len(runs) == 1:
            raise Refused("no peer runs it")
        return runs

    def row(self, dtype, name, shape, target):
        results = alternate(self.participants(dtype, shape, PEERS[dtype]), self.runs)
        names = [name for name in results if name != "attnd"]
        best = fastest(results, names)
        self.best[dtype, name] = best
        if dtype == "f32" and name == "BERT 1 x 128":
            self.ort_ms = statistics.median(results["ort-f32"][0])
        reference = self.reference(*shape)
        ours_ms = statistics.median(results["attnd"][0])
        ratio = ours_ms / statistics.median(results[best][0])
        if name == "BERT 1 x 128":
            self.bert_ratio[dtype] = ratio
        target_text = verdict(ratio, self.bert_ratio.get(dtype) if target == AS_BERT else target)
        if dtype == "int8" and name == "ViT 1":
            target_text += f", < {VIT_INT8_MS} ms **{'met' if ours_ms < VIT_INT8_MS else 'missed'}**"
        others = ", ".join(f"{peer} {times(results[peer][0])}" for peer in names if peer != best)
        agreement = f"{difference(results['attnd'][1], reference):.1e}"
        if dtype != "f32":
            agreement += f" ({best} {difference(results[best][1], reference):.1e})"
        return (f"| {name} | {dtype} | {times(results['attnd'][0])} | {best} {times(results[best][0])} "
                f"| {ratio:.2f} | {target_text} | {agreement} | {others or '-'} |")

    def mixed(self, dtype):
        """Ours packs sixteen texts; the peer pads them to the longest. Tokens are the real ones."""
        rows, tokens = len(MIXED_LENGTHS), sum(MIXED_LENGTHS)
        peer = self.best.get((dtype, "BERT 8 x 128"), PEERS[dtype][0])
        shape = ("bert", rows, max(MIXED_LENGTHS))
        results = alternate(self.participants(dtype, shape, [peer], ("bert", rows, 0)), self.runs)
        rate = {name: tokens / statistics.median(result[0]) * 1000
                for name, result in results.items()}
        ratio = rate["attnd"] / rate[peer]
        reference = self.reference("bert", 1, MIXED_LENGTHS[0])
        return (f"| BERT {rows} x {min(MIXED_LENGTHS)}-{max(MIXED_LENGTHS)} | {dtype} "
                f"| {times(results['attnd'][0])}, {rate['attnd']:.0f} tokens/s "
                f"| {peer} {times(results[peer][0])}, {rate[peer]:.0f} tokens/s | {ratio:.2f} x the rate "
                f"| {verdict(ratio, MIXED_RATE_TARGET, at_most=False)} "
                f"| {difference(results['attnd'][1], reference):.1e} | - |")

    def lines(self, dtype, kinds):
        """(name, what prints it) of each row of a dtype; BERT 1 x 128 always, as the measure."""
        rows = ROWS + (FAMILIES if dtype in FAMILY_DTYPES else [])
        chosen = [row for row in rows if not kinds or row[1] in kinds or row[0] == "BERT 1 x 128"]
        made = [(row[0], lambda row=row: self.row(dtype, row[0], row[1:4], row[4].get(dtype)))
                for row in chosen]
        if not kinds or "bert" in kinds:
            made.append(("BERT mixed", lambda: self.mixed(dtype)))
        return made

    def print_dtype(self, dtype, kinds):
        for name, make in self.lines(dtype, kinds):
            print(f"{dtype}: {name}", file=sys.stderr)
            try:
                print(make(), flush=True)
            except Refused as reason:
                print(f"| {name} | {dtype} | refused: {reason} | | | | | |", flush=True)


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")),
                    "unknown CPU")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, help="command of the peers' co-process")
    parser.add_argument("--models", required=True, help="folder of KIND-base")
    parser.add_argument("--bench", default="build/attnd-bench")
    parser.add_argument("--runs", type=int, default=11, help="timed runs of each (11)")
    parser.add_argument("--threads", type=int, default=2, help="of each side (2)")
    parser.add_argument("--only", action="append", choices=list(PEERS), help="a dtype; repeatable")
    parser.add_argument("--kind", action="append", help="a kind of model; repeatable")
    options = parser.parse_args()
    if not shlex.split(options.peer) or not options.models:
        parser.error("give PEER and MODELS: make bench-peer PEER='python tests/bench/peers.py serve DIR' MODELS=DIR")
    return options


def main():
    options = parse()
    ours = CoProcess([options.bench, "serve", "--threads", str(options.threads),
                      "--models", options.models], {})
    peers = CoProcess(shlex.split(options.peer),
                      {"THREADS": str(options.threads), "OMP_NUM_THREADS": str(options.threads),
                       "OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"})
    comparison = Comparison(ours, peers, options.runs)
    print(f"{datetime.date.today()}, {cpu_name()}, {options.threads} threads, {options.runs} timed runs "
          "each, alternating; median (minimum) in ms\n")
    print("| batch | dtype | attnd | best peer | ratio | target | logits off fp32 | other peers |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for dtype in options.only or list(PEERS):
        comparison.print_dtype(dtype, options.kind)
    if comparison.ort_ms is not None:
        print(f"\nONNX Runtime fp32, BERT 1 x 128: {comparison.ort_ms:.1f} ms (make bench "
              f"BENCH='--ort-ms {comparison.ort_ms:.1f}' scales the recorded HTTP figures by it)")
    ours.close()
    peers.close()


if __name__ == "__main__":
    main()
