#!/bin/sh
# int8 against fp32 on labelled data, beside the targets: the same winner on 99.5 % of the inputs, and
# macro-F1 within half a point. Each argument is MODEL=LIST, as attnd-eval takes them:
#
#     sh tests/bench/agree.sh models/wafer-vit=wm811k_val.jsonl models/kernel-bert=reports.jsonl
#
# BUILD names the folder of the programs.
set -eu

if [ $# -eq 0 ]; then
    printf '## int8 against fp32\nnot measured: name data with EVAL="MODEL=LIST ..." (models/make_wm811k.py makes one)\n'
    exit 0
fi
report=$(mktemp)
trap 'rm -f "$report"' EXIT
printf '## int8 against fp32\n'
for pair in "$@"; do
    "${BUILD:-build}/attnd-eval" --model "${pair%%=*}" --data "${pair#*=}" --dtype int8 --against f32 >"$report"
    awk -v name="${pair%%=*}" '
        $1 == "inputs" && $3 == "of" { inputs = $2; sub(",", "", inputs) }
        $1 == "difference" { points = $2 + 0 }
        $1 == "same" { winners = $3 + 0 }
        END {
            printf "%-20s %6d inputs  same winner %7.3f %%  target >= 99.5 %%: %s", name, inputs, winners,
                   (winners >= 99.5 ? "met" : "MISSED")
            printf "  macro-F1 %+.3f points  target within 0.5: %s\n", points,
                   (points >= -0.5 && points <= 0.5 ? "met" : "MISSED")
        }' "$report"
done
