#!/bin/sh
# make train-search DATA=DIR ENCODER=DIR - how much better a general embedding searches crash reports, and
# with BUILDS=FILE failed builds, after it has learnt others of them: DATA holds train.jsonl and val.jsonl,
# ENCODER the unpacked MiniLM with its modules.json, FILE is failures.jsonl; models/README.md says where they
# are to be had. Nothing is put into models/. WORK, SEED, EPOCHS and TOKENS may be given. A second call
# goes on with what is missing.
. models/train.sh

need DATA "the folder of train.jsonl and val.jsonl"
need ENCODER "the folder of MiniLM's modules.json, config.json, vocab.txt and model.safetensors"
WORK=${WORK:-$BUILD/train-search}
mkdir -p "$WORK"

# search LISTS EPOCHS TOKENS: the encoder as it is, on whole texts and on their heads, where search by words has less to
# be led astray by; then trained further. Numbers are made alike by the vocabulary, which leaves room for
# more of a text.
search() {
    for list in search search-head; do
        judge --model "$ENCODER" --data "$1/$list.jsonl" --out "$1/as-it-is-$list"
    done
    "$BUILD/attnd-vocab" trim --model "$ENCODER" --data "$1/learn.jsonl" --without-numbers \
                              --out "$1/encoder"
    train --task embed --model "$1/encoder" --data "$1/learn.jsonl" --validation "$1/search.jsonl" \
          --out "$1/model" --epochs "${EPOCHS:-$2}" --batch 16 --tokens "${TOKENS:-$3}" \
          --micro-tokens 4096 --rate 1e-4 --warmup 0.1 --keep last --seed "${SEED:-0}"
    judge --model "$1/model" --data "$1/search.jsonl" --out "$1/trained"
}

python3 models/search_lists.py kernel "$DATA" "$WORK/kernel"
search "$WORK/kernel" 2 128
if [ -n "${BUILDS:-}" ]; then
    python3 models/search_lists.py builds "$BUILDS" "$WORK/builds"
    search "$WORK/builds" 1 64
fi
