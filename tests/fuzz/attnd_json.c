/* attnd.json: temperature, class codes, thresholds, out-of-distribution statistics. An accepted
 * file is written again by the one writer, and judges a finite answer. */
#include "learn/eval/fit/attnd_json.h"

#include "engine/decide/policy.h"
#include "tests/fuzz/driver/fuzz.h"

#include <math.h>
#include <string.h>

enum { HIDDEN = 4, LABELS = 3 };

static void judge(const struct spec *spec)
{
    static const float logits[LABELS] = {0.5f, -1, 2}, scores[LABELS] = {0.2f, 0.1f, 0.7f},
                       features[HIDDEN] = {1, -2, 3, 0};
    struct judgement judgement;
    policy_judge(&spec->policy, logits, scores, features, false, &judgement);
    FUZZ_CLAIM(judgement.decision < DECISION_COUNT);
    FUZZ_CLAIM(!judgement.has_ood || isfinite(judgement.ood_score));
    FUZZ_CLAIM(!judgement.has_rank || (judgement.ood_rank >= 0 && judgement.ood_rank <= 1));
}

/* The writer refuses what its reader would refuse, so what was read must be written. */
static void write_again(const struct spec *spec, struct arena *arena)
{
    struct spec again;
    struct err err = {0};
    FUZZ_CLAIM(attnd_json_write(fuzz_dir(), spec, &err) == ERR_OK);
    FUZZ_CLAIM(spec_read(&again, fuzz_dir(), arena, &err) == ERR_OK);
    FUZZ_CLAIM(fabs(again.temperature - spec->temperature) <= 1e-8 * spec->temperature);
    FUZZ_CLAIM(strcmp(again.version, spec->version) == 0);
    FUZZ_CLAIM(again.grey16_minmax == spec->grey16_minmax);
    FUZZ_CLAIM((again.class_codes == NULL) == (spec->class_codes == NULL));
    FUZZ_CLAIM((again.reference == NULL) == (spec->reference == NULL));
    FUZZ_CLAIM(spec->reference == NULL || again.reference->digest == spec->reference->digest);
    FUZZ_CLAIM(again.policy.ood.method == spec->policy.ood.method);
    FUZZ_CLAIM(again.precisions.is_pinned == spec->precisions.is_pinned);
    for (int p = 0; p < PRECISION_COUNT; p++)
        FUZZ_CLAIM(again.precisions.agreement[p].same_winner ==
                   spec->precisions.agreement[p].same_winner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char config[] = "{\"model_type\": \"bert\", \"hidden_size\": 4, "
                                 "\"num_attention_heads\": 2, \"id2label\": "
                                 "{\"0\": \"a\", \"1\": \"b\", \"2\": \"b c\"}}";
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    fuzz_file("config.json", config, strlen(config));
    fuzz_file_remove("attnd.json"); /* the writer puts another file in its place */
    fuzz_file("attnd.json", data, size);
    /* nothing writes the file of an embedding, which has no labels to judge by */
    if (spec_read(&spec, fuzz_dir(), &arena, &err) == ERR_OK && spec.sentence == NULL) {
        judge(&spec);
        write_again(&spec, &arena);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
    return 0;
}
