#!/bin/sh
# make train-kernel DATA=DIR ENCODER=DIR - kernel-bert from a general encoder: DATA holds train.jsonl and
# val.jsonl, ENCODER the unpacked MiniLM (6 x 384, BERT format, no head); models/README.md says where they
# are to be had. Labels are learnt as audited (models/kernel_labels.py, which needs python3), with
# LABELS=old as they were. Five folds are learnt first, each judged by the logs that it left out; then the
# model that is served learns all logs, and is calibrated by the folds' answers. FOLDS=1 ends after the folds,
# with their figures beside those of a linear SVM if python3 has scikit-learn; with LONG=mean, max or
# attention, what becomes of each fold's model when it learns to read whole logs. WORK and SEED may be given
# too. A second call goes on with what is missing.
. models/train.sh

need DATA "the folder of train.jsonl and val.jsonl"
need ENCODER "the folder of MiniLM's config.json, vocab.txt and model.safetensors"
WORK=${WORK:-$BUILD/train-kernel}
SEED=${SEED:-1}
TOKENS=${TOKENS:-192}
EPOCHS=${EPOCHS:-20}
LABELS=${LABELS:-audited}
mkdir -p "$WORK"

# What stands in the line that opens a report, in any kernel's words.
KEY_WORDS='BUG|WARNING|panic|PANIC|KASAN|KMSAN|KCSAN|UBSAN|fault|Oops|ASSERT|assert|deadlock|stall|lockup'
KEY_WORDS="$KEY_WORDS|blocked|leak|unable|Unable|suspicious|INFO:|fatal|divide|DATA RACE|locking|trap"

# audited FOLDER OUT: its lists with the labels that are learnt.
audited() {
    if [ "$LABELS" = old ]; then
        mkdir -p "$2"
        cp "$1"/*.jsonl "$2"
    else
        python3 models/kernel_labels.py audit "$1" "$2"
    fi
}

# learn TRAIN VALIDATION OUT: numbers are made alike by the vocabulary (a word with a digit is one [UNK]),
# which leaves room for twice the log; words that only VALIDATION has are not looked at. Most logs are
# longer than the model, those that it is judged by, too: so what is served may be. What n-grams weigh is
# given, since the validation logs are few: folds that were weighed by the others had 1.9 to 2.3.
learn() {
    mkdir -p "$3"
    "$BUILD/attnd-vocab" trim --model "$ENCODER" --data "$1" --without-numbers --out "$3/encoder"
    regular --model "$3/encoder" --data "$1" --validation "$2" --out "$3/model" \
            --tokens "$TOKENS" --epochs "$EPOCHS" --rate 4e-4 \
            --ngrams 1500 --ngram-lines 3 --ngram-words "$KEY_WORDS" --ngram-weight 2
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

# Logs of one bug stay in one fold, and each fold's model answers what it left out.
folds() {
    python3 models/kernel_folds.py folds "$DATA" "$WORK/cut"
    audited "$WORK/cut" "$WORK/folds"
    for fold in 0 1 2 3 4; do
        set -- "$WORK/folds/fold$fold-train.jsonl" "$WORK/folds/fold$fold-test.jsonl" "$WORK/fold$fold"
        learn "$@"
        if [ -n "${LONG:-}" ]; then
            longer "$@"
        fi
        judge --model "$3/${LONG:-model}" --data "$2" --logits "$3/answers.jsonl"
    done
}

measure_folds() {
    python3 models/kernel_folds.py pool "$WORK"/fold?/"${LONG:-model}"/report.json
    if python3 -c 'import sklearn' 2>/dev/null; then
        python3 models/kernel_folds.py svm "$WORK/folds"
    fi
}

# All logs are learnt, so that none is left to judge by: the folds' answers are.
learn_all() {
    cat "$WORK"/folds/fold?-test.jsonl > "$WORK/all.jsonl"
    learn "$WORK/all.jsonl" "$WORK/folds/fold0-test.jsonl" "$WORK"
    set -- --model "$WORK/model" --data "$WORK/all.jsonl"
    for fold in 0 1 2 3 4; do
        set -- "$@" --out-of-fold "$WORK/fold$fold/answers.jsonl"
    done
    judge "$@" --calibrate --examples "$WORK/all.jsonl"
    judge "$@" --out "$WORK/model"
    judge --model "$WORK/model" --data "$WORK/all.jsonl" --dtype int8 --against f32 \
          --write-agreement --force > "$WORK/agreement.txt"
}

folds
if [ -n "${FOLDS:-}" ]; then
    measure_folds
else
    learn_all
    DATA=$WORK publish "$WORK/model" kernel-bert
fi
