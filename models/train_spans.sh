#!/bin/sh
# make train-spans - how well a small model finds the fields of test logs: in styles that it has learnt, in layouts
# that it has not, of kinds that it has learnt and of others, and in a style held out, beside regular expressions for
# each learnt style. It learns the layouts of testlog-bert's logs first, then wider ones. The logs are synthetic
# (models/testlog); with DATA=DIR also failing_dies.jsonl of real dies there. Nothing is put into models/. WORK, SEED,
# COUNT, VALIDATION, TEST, EPOCHS, WIDE_COUNT, WIDE_INPUTS, and the counts and inputs of the three stretches behind them
# (WIDER_, WIDEST_, LAST_) may be given. A second call goes on with what is missing.
. models/train.sh

WORK=${WORK:-$BUILD/train-spans}
SEED=${SEED:-1}
mkdir -p "$WORK"

if [ ! -f "$WORK/narrow/apart.jsonl" ]; then
    python3 models/testlog/make_spans.py "$WORK/narrow" --narrow --seed "$SEED" --count "${COUNT:-8000}" \
            --validation "${VALIDATION:-300}" --test 1 --encoder models/testlog-bert
fi
if [ ! -f "$WORK/apart.jsonl" ]; then
    python3 models/testlog/make_spans.py "$WORK" --seed "$SEED" --count "${WIDE_COUNT:-24000}" \
            --validation "${VALIDATION:-150}" --test "${TEST:-500}" ${DATA:+--real "$DATA/failing_dies.jsonl"}
fi

# learn FROM LISTS OUT OPTION...: every log in one stretch of it at each pass.
learn() {
    from=$1 lists=$2 out=$3
    shift 3
    train --task tag --model "$from" --data "$lists/train.jsonl" --validation "$lists/validation.jsonl" \
          --out "$out" --tokens 128 --windows 1 --micro-tokens 2048 "$@"
}
learn "$WORK/narrow/encoder" "$WORK/narrow" "$WORK/narrow/model" --epochs "${EPOCHS:-24}" --rate 1e-3 --batch 16 \
      --seed "$SEED"

# The wide layouts are learnt twice, with the rate up again in between: the first of them, then all.
mkdir -p "$WORK/first"
head -n 10000 "$WORK/train.jsonl" > "$WORK/first/train.jsonl"
cp "$WORK/validation.jsonl" "$WORK/first/"
learn "$WORK/narrow/model" "$WORK/first" "$WORK/first/model" --epochs 2 --epoch-inputs "${WIDE_INPUTS:-6000}" \
      --rate 5e-4 --batch 8 --seed "$SEED"
learn "$WORK/first/model" "$WORK" "$WORK/model" --epochs 2 --epoch-inputs "${WIDE_INPUTS:-7000}" \
      --rate 5e-4 --batch 8 --seed "$((SEED + 1))"

# Then layouts that were never seen, each about once: 60 000 logs, 36 000 and 40 000.
widen() {
    seed=$1 count=$2 from=$3 out=$4
    shift 4
    if [ ! -f "$WORK/$out/data/apart.jsonl" ]; then
        python3 models/testlog/make_spans.py "$WORK/$out/data" --seed "$seed" --count "$count" --validation 1 --test 1
        cp "$WORK/validation.jsonl" "$WORK/$out/data/"
    fi
    learn "$from" "$WORK/$out/data" "$WORK/$out/model" --batch 8 --seed "$seed" "$@"
}
widen "$((SEED + 2))" "${WIDER_COUNT:-60000}" "$WORK/model" wider --epochs 3 --epoch-inputs "${WIDER_INPUTS:-14000}" \
      --rate 5e-4
widen "$((SEED + 3))" "${WIDEST_COUNT:-36000}" "$WORK/wider/model" widest --epochs 2 \
      --epoch-inputs "${WIDEST_INPUTS:-15000}" --rate 4e-4
widen "$((SEED + 5))" "${LAST_COUNT:-40000}" "$WORK/widest/model" last --epochs 2 \
      --epoch-inputs "${LAST_INPUTS:-15000}" --rate 4e-4

for list in fixed drawn wide apart style real; do
    if [ -f "$WORK/$list.jsonl" ]; then
        judge --model "$WORK/last/model" --data "$WORK/$list.jsonl" --out "$WORK/$list"
    fi
done
python3 models/testlog/span_rules.py "$WORK"
