#!/bin/sh
# make train-spans - how well a small model finds the fields of test logs: in styles and layouts that it has learnt, in
# layouts of kinds that it has not, and in a style held out, beside regular expressions for each learnt style. The logs
# are synthetic (models/testlog); with DATA=DIR also failing_dies.jsonl of real dies there. Nothing is put into models/.
# WORK, SEED, COUNT (of logs to learn), INPUTS (learnt in each of three passes), VALIDATION and TEST may be given. A
# second call goes on with what is missing.
. models/train.sh

WORK=${WORK:-$BUILD/train-spans}
SEED=${SEED:-1}
mkdir -p "$WORK"

spans() {
    python3 models/testlog/make_spans.py "$@"
}
[ -f "$WORK/learn/apart.jsonl" ] ||
    spans "$WORK/learn" --seed "$((SEED + 10))" --count "${COUNT:-70000}" --validation "${VALIDATION:-150}" --test 1 \
          --encoder models/testlog-bert
[ -f "$WORK/apart.jsonl" ] ||
    spans "$WORK" --seed "$SEED" --count 1 --validation 1 --test "${TEST:-500}" \
          ${DATA:+--real "$DATA/failing_dies.jsonl"}

# Every log in one stretch of it at each pass.
train --task tag --model "$WORK/learn/encoder" --data "$WORK/learn/train.jsonl" \
      --validation "$WORK/learn/validation.jsonl" --out "$WORK/model" --tokens 256 --windows 1 --micro-tokens 2048 \
      --epochs 3 --epoch-inputs "${INPUTS:-32000}" --rate 8e-4 --batch 8 --warmup 0.03 --seed "$SEED"

for list in fixed drawn wide apart style real; do
    if [ -f "$WORK/$list.jsonl" ]; then
        judge --model "$WORK/model" --data "$WORK/$list.jsonl" --out "$WORK/$list"
    fi
done
python3 models/testlog/span_rules.py "$WORK"
