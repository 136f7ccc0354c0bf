#!/bin/sh
# make train-spans - how well a small model finds the fields of test logs: in styles and layouts that it has learnt, in
# layouts of kinds that it has not, and in a style held out, beside regular expressions for each learnt style. The logs
# are synthetic (models/testlog); with DATA=DIR also failing_dies.jsonl of real dies there. Nothing is put into models/.
# WORK, SEED, COUNT and MORE_COUNT (of logs to learn), INPUTS and MORE_INPUTS (learnt in each pass), VALIDATION and TEST
# may be given. A second call goes on with what is missing.
. models/train.sh

WORK=${WORK:-$BUILD/train-spans}
SEED=${SEED:-1}
mkdir -p "$WORK"

[ -f "$WORK/apart.jsonl" ] ||
    python3 models/testlog/make_spans.py "$WORK" --seed "$SEED" --count 1 --validation 1 --test "${TEST:-500}" \
            --encoder models/testlog-bert ${DATA:+--real "$DATA/failing_dies.jsonl"}

# learn FROM OUT SEED COUNT OPTION...: fresh logs, each in one stretch of it at a pass.
learn() {
    from=$1 out=$2 seed=$3 count=$4
    shift 4
    [ -f "$out/data/apart.jsonl" ] ||
        python3 models/testlog/make_spans.py "$out/data" --seed "$((seed + 10))" --count "$count" \
                --validation "${VALIDATION:-150}" --test 1
    train --task tag --model "$from" --data "$out/data/train.jsonl" --validation "$out/data/validation.jsonl" \
          --out "$out/model" --tokens 256 --windows 1 --micro-tokens 2048 --batch 8 --warmup 0.03 --seed "$seed" "$@"
}
learn "$WORK/encoder" "$WORK/first" "$SEED" "${COUNT:-70000}" --epochs 3 --epoch-inputs "${INPUTS:-32000}" --rate 8e-4
learn "$WORK/first/model" "$WORK/last" "$((SEED + 1))" "${MORE_COUNT:-26000}" --epochs 2 \
      --epoch-inputs "${MORE_INPUTS:-12500}" --rate 4e-4

for list in fixed drawn wide apart style real; do
    if [ -f "$WORK/$list.jsonl" ]; then
        judge --model "$WORK/last/model" --data "$WORK/$list.jsonl" --out "$WORK/$list"
    fi
done
python3 models/testlog/span_rules.py "$WORK"
