#!/bin/sh
# make train-kernel DATA=DIR ENCODER=DIR - kernel-bert from a general encoder: DATA holds train.jsonl and
# val.jsonl, ENCODER the unpacked MiniLM (6 x 384, BERT format, no head); models/README.md says where they
# are to be had. FOLDS=1 measures the same recipe by five-fold cross-validation instead, beside a linear
# SVM if python3 has scikit-learn; with LONG=mean, max or attention, what becomes of each fold's model when
# it learns to read whole logs. WORK and SEED may be given too.
. models/train.sh

need DATA "the folder of train.jsonl and val.jsonl"
need ENCODER "the folder of MiniLM's config.json, vocab.txt and model.safetensors"
WORK=${WORK:-$BUILD/train-kernel}
SEED=${SEED:-1}
TOKENS=${TOKENS:-192}
EPOCHS=${EPOCHS:-20}
mkdir -p "$WORK"

# learn TRAIN VALIDATION OUT: numbers are made alike by the vocabulary (a word with a digit is one [UNK]),
# which leaves room for twice the log; words that only VALIDATION has are not looked at. Most logs are
# longer than the model, those that it is judged by, too: so what is served may be.
learn() {
    mkdir -p "$3"
    "$BUILD/attnd-vocab" trim --model "$ENCODER" --data "$1" --without-numbers --out "$3/encoder"
    regular --model "$3/encoder" --data "$1" --validation "$2" --out "$3/model" \
            --tokens "$TOKENS" --epochs "$EPOCHS" --rate 4e-4
}

regular() {
    train "$@" --batch 16 --layer-decay 0.8 --warmup 0.1 --weight-decay 0.02 --label-smoothing 0.1 \
          --dropout 0.1 --attention-dropout 0.1 --word-dropout 0.1 --line-dropout 0.3 \
          --truncation accept --keep last --seed "$SEED"
}

# longer TRAIN VALIDATION OUT: the same model goes on, with windows or in Longformer's shape.
longer() {
    if [ "$LONG" = attention ]; then
        python3 models/long_attention.py "$3/model" "$3/long-encoder" --tokens 2048 --window 128
        regular --model "$3/long-encoder" --data "$1" --validation "$2" --out "$3/$LONG" \
                --tokens 2048 --epochs 2 --rate 2e-4 --ood-method none
    else
        regular --model "$3/model" --data "$1" --validation "$2" --out "$3/$LONG" \
                --tokens "$TOKENS" --epochs 4 --rate 2e-4 --ood-method none \
                --long-text windows --windows 4 --window-pooling "$LONG"
    fi
}

if [ -n "${FOLDS:-}" ]; then
    python3 models/kernel_folds.py folds "$DATA" "$WORK/folds"
    for fold in 0 1 2 3 4; do
        set -- "$WORK/folds/fold$fold-train.jsonl" "$WORK/folds/fold$fold-test.jsonl" "$WORK/fold$fold"
        learn "$@"
        if [ -n "${LONG:-}" ]; then
            longer "$@"
        fi
    done
    python3 models/kernel_folds.py pool "$WORK"/fold?/"${LONG:-model}"/report.json
    if python3 -c 'import sklearn' 2>/dev/null; then
        python3 models/kernel_folds.py svm "$WORK/folds"
    fi
else
    learn "$DATA/train.jsonl" "$DATA/val.jsonl" "$WORK"
    publish "$WORK/model" kernel-bert
fi
