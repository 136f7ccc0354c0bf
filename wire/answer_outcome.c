#include "wire/answer_outcome.h"

#include <math.h>
#include <string.h>

struct answer_outcome answer_outcome(const struct engine_info *info,
                                     const struct engine_result *result)
{
    switch (result->task) {
    case ENGINE_CLASSIFY:
        return (struct answer_outcome){.label = info->labels[result->label],
                                       .label_index = result->label,
                                       .number_name = "score",
                                       .number = result->number,
                                       .judgement = &result->judgement};
    case ENGINE_REGRESS:
        return (struct answer_outcome){
            .number_name = "value", .number = result->number, .judgement = &result->judgement};
    case ENGINE_TAG:
    case ENGINE_ANSWER:
    case ENGINE_GENERATE:
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
