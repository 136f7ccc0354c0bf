#!/bin/sh
# make train-spans - how well a small model finds the fields of test logs, in styles that it has learnt and in one
# that it has not, beside regular expressions for each learnt style. The logs are synthetic (models/testlog); with
# DATA=DIR also failing_dies.jsonl of real dies there. Nothing is put into models/. WORK, SEED, COUNT,
# VALIDATION, TEST and EPOCHS may be given. A second call goes on with what is missing.
. models/train.sh

WORK=${WORK:-$BUILD/train-spans}
SEED=${SEED:-1}
mkdir -p "$WORK"

if [ ! -f "$WORK/style.jsonl" ]; then
    python3 models/testlog/make_spans.py "$WORK" --seed "$SEED" --count "${COUNT:-8000}" \
            --validation "${VALIDATION:-300}" --test "${TEST:-500}" --encoder models/testlog-bert \
            ${DATA:+--real "$DATA/failing_dies.jsonl"}
fi
train --task tag --model "$WORK/encoder" --data "$WORK/train.jsonl" \
      --validation "$WORK/validation.jsonl" --out "$WORK/model" --epochs "${EPOCHS:-24}" \
      --rate 1e-3 --batch 16 --tokens 128 --windows 1 --micro-tokens 2048 --seed "$SEED"
for list in fixed drawn style real; do
    if [ -f "$WORK/$list.jsonl" ]; then
        judge --model "$WORK/model" --data "$WORK/$list.jsonl" --out "$WORK/$list"
    fi
done
python3 models/testlog/span_rules.py "$WORK"
