#include "learn/eval/span_thresholds.h"

#include "learn/eval/fit/attnd_json.h"

#include <math.h>
#include <stdlib.h>

static void sum_up(const struct span_assessment *assessment,
                   const struct selective_threshold *labels, struct span_decided *out)
{
    *out = (struct span_decided){0};
    for (unsigned k = 0; k < assessment->set.count; k++) {
        if (!labels[k].reachable)
            continue;
        out->labels++;
        out->automatic += labels[k].count;
        out->right += labels[k].right;
    }
}

enum err_code span_thresholds_write(const char *dir, const char *version,
                                    struct span_assessment *assessment, double target_precision,
                                    struct span_decided *out, struct err *err)
{
    const unsigned tags = assessment->set.tag_count;
    const struct selective_goal goal = {.target_precision = target_precision, .z = SELECTIVE_Z};
    struct selective_threshold *labels = calloc(assessment->set.count + 1u, sizeof *labels);
    float *thresholds = calloc(tags + 1u, sizeof *thresholds);
    struct spec spec;
    struct arena arena;
    arena_init(&arena);
    if (labels == NULL || thresholds == NULL) {
        err_no_memory(err, tags * sizeof *labels);
    } else if (!spec_read(&spec, dir, &arena, err)) {
        selective_thresholds(labels, assessment->set.count, assessment->verdicts,
                             assessment->verdict_count, &goal);
        /* thresholds [tags] <- those of the labels; the tag O, which no span has, is never
         * automatic. */
        const struct tag_set *set = &assessment->set;
        for (unsigned t = 0; t < set->tag_count; t++) {
            const unsigned label = set->label_of[t];
            thresholds[t] =
                label < set->count && labels[label].reachable ? labels[label].score : NAN;
        }
        sum_up(assessment, labels, out);
        spec.version = version != NULL ? version : spec.version;
        spec.policy.thresholds = thresholds;
        spec.policy.target_precision = target_precision;
        attnd_json_write(dir, &spec, err);
    }
    arena_deinit(&arena);
    free(labels);
    free(thresholds);
    return err->code;
}
