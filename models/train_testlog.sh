#!/bin/sh
# make train-testlog - testlog-bert from nothing: synthetic logs, a vocabulary of their own, a small
# BERT, and how it does on families and on a tester style that it has never seen. Needs python3 for the
# logs. COUNT logs are learnt; EPOCHS and WORK may be given too.
. models/train.sh

WORK=${WORK:-$BUILD/train-testlog}
COUNT=${COUNT:-240000}
EPOCHS=${EPOCHS:-2}
mkdir -p "$WORK/source"

if [ ! -f "$WORK/data/calibration.jsonl" ]; then     # the part that is written last
    python3 models/testlog/make_testlogs.py "$WORK/data" --seed 1 --count "$COUNT" --calibration 4000
fi
"$BUILD/attnd-vocab" build --data "$WORK/data/train.jsonl" --size 4000 --out "$WORK/source"
cp models/testlog-bert/config.json "$WORK/source/"

train --model "$WORK/source" --data "$WORK/data/train.jsonl" \
      --validation "$WORK/data/validation.jsonl" --out "$WORK/model" \
      --epochs "$EPOCHS" --batch 32 --rate 6e-4 --warmup 0.05 --tokens 256 --weight-decay 0.05 \
      --beta2 0.98 --dropout 0.05 --attention-dropout 0.05 --word-dropout 0.05 --line-dropout 0.1 \
      --label-smoothing 0.05 --average 0.999 --ngrams 4000 --seed 1

# Thresholds want more logs than the choice of an epoch does, and as many texts that are no test logs.
python3 models/make_foreign_texts.py "$WORK/foreign.jsonl" --count 4000 --seed 1
judge --model "$WORK/model" --data "$WORK/data/calibration.jsonl" --calibrate \
      --foreign "$WORK/foreign.jsonl" > "$WORK/calibration.txt"
sed -n '/^foreign/,$p' "$WORK/calibration.txt"
judge --model "$WORK/model" --data "$WORK/data/validation.jsonl" --out "$WORK/model"
for part in families style; do
    judge --model "$WORK/model" --data "$WORK/data/$part.jsonl" --out "$WORK/$part" |
        sed -n '1,12p'
done
judge --model "$WORK/model" --data "$WORK/data/calibration.jsonl" --dtype int8 --against f32 \
      --write-agreement > "$WORK/agreement.txt"
publish "$WORK/model" testlog-bert
