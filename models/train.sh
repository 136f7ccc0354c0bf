# train.sh - what the recipes beside it share; they source it. A recipe trains in WORK, below build/,
# and only a finished model is put into models/NAME.
#
#     . models/train.sh
#     train --model ... --out "$WORK/model" ...      attnd-train; the same call goes on after a stop
#     judge --model "$WORK/model" --data ...         attnd-eval
#     publish "$WORK/model" NAME                     into models/NAME, with report.json

set -eu
BUILD=${BUILD:-build}

# need VARIABLE WHAT: stops unless the variable is set, with what it should be.
need() {
    eval "value=\${$1:-}"
    if [ -z "$value" ]; then
        echo "train: $1 is missing: $2 (see models/README.md)" >&2
        exit 2
    fi
}

# THREADS may be given; the weights are the same for any number.
train() {
    "$BUILD/attnd-train" --threads "${THREADS:-0}" "$@"
}

judge() {
    "$BUILD/attnd-eval" ${THREADS:+--threads "$THREADS"} "$@"
}

# put FILE TO: into the checkout, and told if it is not what stood there.
put() {
    if ! cmp -s "$1" "$2"; then
        cp "$1" "$2"
        echo "train: $2 is not what it was"
        changed=yes
    fi
}

# publish FROM NAME: the files of a checkpoint directory, and of no training state. A recipe that is run
# again, on a CPU of the same kind, ends in the bytes that stand in models/NAME.
publish() {
    mkdir -p "models/$2"
    changed=no
    for file in config.json vocab.txt tokenizer_config.json special_tokens_map.json \
                preprocessor_config.json attnd.json attnd_head.safetensors model.safetensors; do
        if [ -f "$1/$file" ]; then
            put "$1/$file" "models/$2/$file"
        fi
    done
    # The report names the model and the list, not where they lay on this machine.
    sed -e "s|$1|models/$2|g" -e "s|$WORK/||g" -e "s|${DATA:-$WORK}/||g" "$1/report.json" \
        > "models/$2/report.json"
    if [ "$changed" = no ]; then
        echo "models/$2 is what it was, byte for byte (its report says how long it took this time)"
    else
        echo "models/$2 is new: look at $1/report.html before you commit it"
    fi
}
