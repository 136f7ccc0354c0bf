#!/bin/sh
# make train-wafer DATA=DIR - wafer-vit from nothing: DATA holds WM-811K's archives defects.npz and
# none.npz (models/README.md says where they are to be had). Needs python3 with numpy to turn them into
# PNG files; WORK, STAGES and SEED may be given too.
. models/train.sh

need DATA "the folder of defects.npz and none.npz"
WORK=${WORK:-$BUILD/train-wafer}
STAGES=${STAGES:-72:9,96:3}
SEED=${SEED:-1}
mkdir -p "$WORK"

for part in train validation; do
    python3 models/make_wm811k.py "$DATA" "$WORK" --part "$part"
done

train --model models/wafer-vit --from-scratch --init structured \
      --data "$WORK/wm811k_train.jsonl" --validation "$WORK/wm811k_val.jsonl" --out "$WORK/model" \
      --stages "$STAGES" --batch 64 --rate 1e-3 --warmup 0.03 --beta2 0.98 --weight-decay 0.05 \
      --label-smoothing 0.05 --balance 0.5 --mirror --turn --shift 0.05 --die-noise 0.02 \
      --average 0.9995 --class-biases fit --seed "$SEED"
publish "$WORK/model" wafer-vit
