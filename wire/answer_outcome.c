#include "wire/answer_outcome.h"

#include "wire/limits.h"

#include <math.h>
#include <string.h>

/* Adds the labels that policy.h judges, without a best one that scores less. */
static struct answer_outcome with_set(struct answer_outcome outcome, const struct engine_info *info,
                                      const float *scores)
{
    size_t bytes = 0;
    if (scores == NULL || info->scores == NULL || strcmp(info->scores, "sigmoid") != 0 ||
        info->label_count < 2 || info->label_count > OUTCOME_SET_LABELS)
        return outcome;
    for (unsigned i = 0; i < info->label_count; i++) {
        bytes += strlen(info->labels[i]);
        outcome.set |= (uint64_t)(scores[i] >= 0.5f) << i;
    }
    outcome.is_set = bytes <= OUTCOME_SET_BYTES;
    return outcome;
}

struct answer_outcome answer_outcome(const struct engine_info *info,
                                     const struct engine_result *result)
{
    switch (result->task) {
    case ENGINE_CLASSIFY:
        return with_set((struct answer_outcome){.label = info->labels[result->label],
                                                .label_index = result->label,
                                                .number_name = "score",
                                                .number = result->number,
                                                .judgement = &result->judgement},
                        info, result->scores);
    case ENGINE_REGRESS:
        return (struct answer_outcome){
            .number_name = "value", .number = result->number, .judgement = &result->judgement};
    case ENGINE_GENERATE:
        if (result->text_count == 0)
            return (struct answer_outcome){
                .is_text = true, .text_fits = true, .judgement = &result->judgement};
        return (struct answer_outcome){.is_text = true,
                                       .text = result->texts[0].text,
                                       .text_len = result->texts[0].len,
                                       .text_fits =
                                           result->texts[0].len <= LIMIT_OUTPUT_BYTES &&
                                           strlen(result->texts[0].text) == result->texts[0].len,
                                       .number_name = "confidence",
                                       .number = result->texts[0].confidence,
                                       .judgement = &result->judgement};
    case ENGINE_TAG:
    case ENGINE_ANSWER:
        return (struct answer_outcome){.judgement = &result->judgement};
    case ENGINE_EMBED:
    case ENGINE_FILL:
    case ENGINE_SPARSE:
        break;
    }
    return (struct answer_outcome){.label = NULL};
}

bool answer_outcome_agrees(const struct answer_outcome *a, const struct answer_outcome *b)
{
    if (a->label != NULL && b->label != NULL)
        return strcmp(a->label, b->label) == 0;
    return a->number_name != NULL && b->number_name != NULL &&
           strcmp(a->number_name, b->number_name) == 0 &&
           fabsf(a->number - b->number) <= fmaxf(fabsf(a->number), fabsf(b->number)) / 100;
}
