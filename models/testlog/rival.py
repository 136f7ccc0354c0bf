"""The rival of testlog-bert: a linear SVM on TF-IDF of words and pairs, on the parts that make_testlogs.py wrote.

    python3 models/testlog/rival.py OUT        (needs scikit-learn; reads train.jsonl, then every other part of OUT)

Tokens are runs of letters, runs of digits and single signs; counts are logarithmic; what occurs once is left out.
"""
import json
import pathlib
import sys

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score, f1_score
from sklearn.svm import LinearSVC

PARTS = ("validation", "families", "style", "real", "real_whole")


def read(path):
    """Texts and labels; real dies whose label nobody knows are left out."""
    examples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    known = [e for e in examples if e["label"] != "unknown"]
    return [e["text"] for e in known], [e["label"] for e in known]


def main():
    out = pathlib.Path(sys.argv[1])
    words = TfidfVectorizer(token_pattern=r"[a-z]+|\d+|[^\sa-z\d]", ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    texts, labels = read(out / "train.jsonl")
    model = LinearSVC(C=1.0).fit(words.fit_transform(texts), labels)
    for part in PARTS:
        if not (out / f"{part}.jsonl").exists():
            continue
        texts, labels = read(out / f"{part}.jsonl")
        found = model.predict(words.transform(texts))
        print(f"{part:<10} accuracy {accuracy_score(labels, found):.3f}  "
              f"macro-F1 {f1_score(labels, found, average='macro'):.3f}  of {len(labels)}", flush=True)


if __name__ == "__main__":
    main()
