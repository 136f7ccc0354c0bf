#!/bin/sh
# make train-wafer DATA=DIR - wafer-vit from nothing: DATA holds WM-811K's archives defects.npz and
# none.npz (models/README.md says where they are to be had). Needs python3 with numpy to turn them into
# PNG files; WORK, EPOCHS (of 140 000 maps) and SEED may be given too. With HELD_OUT=CLASS a model that
# has never seen that class is trained instead, and how strange it finds the class is told: nothing is
# published.
. models/train.sh

need DATA "the folder of defects.npz and none.npz"
WORK=${WORK:-$BUILD/train-wafer}
EPOCHS=${EPOCHS:-9}
SEED=${SEED:-1}
mkdir -p "$WORK"

for part in train validation; do
    python3 models/make_wm811k.py "$DATA" "$WORK" --part "$part"
done

train_part=$WORK/wm811k_train.jsonl validation_part=$WORK/wm811k_val.jsonl
if [ -n "${HELD_OUT:-}" ]; then
    label="\"label\": \"$HELD_OUT\""
    for part in train val; do
        grep -v "$label" "$WORK/wm811k_$part.jsonl" > "$WORK/known_$part.jsonl"
    done
    grep "$label" "$WORK/wm811k_val.jsonl" > "$WORK/held_out.jsonl"
    train_part=$WORK/known_train.jsonl validation_part=$WORK/known_val.jsonl
fi

# Maps are 26 to 146 dies wide, most below 54: at 48 pixels a patch of 4 is two to four dies, and a scratch
# goes through several of them. At 64 pixels, twice the work, 104 000 maps taught no more (macro-F1 0.790
# against 0.789).
train --model models/wafer-vit --from-scratch --init structured \
      --data "$train_part" --validation "$validation_part" --out "$WORK/model" \
      --epochs "$EPOCHS" --epoch-inputs 140000 --batch 64 --rate 1e-3 --warmup 0.03 --beta2 0.98 \
      --weight-decay 0.05 --label-smoothing 0.05 --balance 0.5 --mirror --turn --spin 0.3 --shift 0.05 \
      --die-noise 0.02 --average 0.9995 --class-biases fit --seed "$SEED"
if [ -n "${HELD_OUT:-}" ]; then
    "$BUILD/attnd-eval" --model "$WORK/model" --data "$validation_part" \
        --ood-data "$WORK/held_out.jsonl" | tail -n 1
else
    judge --model "$WORK/model" --data "$validation_part" --dtype int8 --against f32 \
          --write-agreement > "$WORK/agreement.txt"
    publish "$WORK/model" wafer-vit
fi
