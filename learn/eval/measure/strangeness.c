#include "learn/eval/measure/strangeness.h"

#include <stdlib.h>
#include <string.h>

float *strangeness_scores(const struct engine_model *model, const struct evaluation *evaluation,
                          struct arena *arena, size_t *count, struct err *err)
{
    float *out = arena_alloc_array(arena, evaluation->count, sizeof *out);
    float *scores = arena_alloc_array(arena, evaluation->label_count, sizeof *scores);
    *count = 0;
    if (out == NULL || scores == NULL) {
        err_no_memory(err, evaluation->count * sizeof *out);
        return NULL;
    }
    for (size_t i = 0; i < evaluation->count; i++) {
        struct judgement judgement;
        if (evaluation->problems[i] != NULL)
            continue;
        evaluation_judge(evaluation, model, i, scores, &judgement);
        out[(*count)++] = judgement.ood_score;
    }
    return out;
}

struct work {
    const struct strangeness_source *source;
    float *known, *strange; /* OOD scores of the inputs that have logits, in their order */
    size_t known_count, strange_count;
    float *some_known, *some_strange; /* those that are compared; sorting them is allowed */
    float *scores;                    /* [label_count] */
    struct arena arena;
};

static enum err_code open_work(struct work *work, const struct strangeness_source *source,
                               struct err *err)
{
    struct arena *arena = &work->arena;
    work->source = source;
    work->known = strangeness_scores(source->model, source->known, arena, &work->known_count, err);
    if (work->known != NULL)
        work->strange =
            strangeness_scores(source->model, source->strange, arena, &work->strange_count, err);
    if (work->strange == NULL)
        return err->code;
    work->some_known = arena_alloc_array(arena, work->known_count, sizeof *work->some_known);
    work->some_strange = arena_alloc_array(arena, work->strange_count, sizeof *work->some_strange);
    work->scores = arena_alloc_array(arena, source->known->label_count, sizeof *work->scores);
    return arena->failed ? err_no_memory(err, work->known_count * sizeof *work->some_known)
                         : ERR_OK;
}

/* ---- known inputs to compare with ---- */

enum which { ALL, ALL_BUT, ONLY };

/* Copies OOD scores to some_known: of all labels, of all labels but one, or of one label. */
static size_t take_known(struct work *work, enum which which, unsigned label)
{
    const struct evaluation *known = work->source->known;
    size_t taken = 0, at = 0;
    for (size_t i = 0; i < known->count; i++) {
        if (known->problems[i] != NULL)
            continue;
        const bool is_label = work->source->classes[i] == label;
        if (which == ALL || is_label == (which == ONLY))
            work->some_known[taken++] = work->known[at];
        at++;
    }
    return taken;
}

static bool is_of(const struct strangeness_source *source, size_t item, const char *label)
{
    const char *own = source->labels != NULL ? source->labels[item] : NULL;
    return label == NULL || (own != NULL && strcmp(own, label) == 0);
}

/* ---- a group ---- */

static void measure_group(struct strangeness_group *group, const struct strangeness *out,
                          struct work *work)
{
    const struct strangeness_source *source = work->source;
    size_t strange = 0, at = 0; /* of some_strange and of strange */
    for (size_t i = 0; i < source->strange->count; i++) {
        struct judgement judgement;
        if (source->strange->problems[i] != NULL)
            continue;
        const float score = work->strange[at++];
        if (!is_of(source, i, group->label))
            continue;
        work->some_strange[strange++] = score;
        evaluation_judge(source->strange, source->model, i, work->scores, &judgement);
        group->decisions.count++;
        group->decisions.automatic += judgement.decision == DECISION_AUTO;
        group->decisions.review += judgement.decision == DECISION_REVIEW;
        group->decisions.unknown += judgement.decision == DECISION_UNKNOWN;
    }
    separation_measure(&group->all, work->some_known, take_known(work, ALL, 0), work->some_strange,
                       strange);
    separation_measure(&group->defects, work->some_known, take_known(work, ALL_BUT, out->majority),
                       work->some_strange, strange);
    for (unsigned c = 0; c < out->label_count; c++)
        separation_measure(&group->classes[c], work->some_known, take_known(work, ONLY, c),
                           work->some_strange, strange);
}

/* ---- all of them ---- */

static enum err_code list_groups(struct strangeness *out, const struct strangeness_source *source,
                                 struct err *err)
{
    out->groups = arena_alloc_array(&out->arena, 1 + STRANGENESS_LABELS_MAX, sizeof *out->groups);
    if (out->groups == NULL)
        return err_no_memory(err, (1 + STRANGENESS_LABELS_MAX) * sizeof *out->groups);
    out->group_count = 1;
    for (size_t i = 0; i < source->strange->count && source->labels != NULL; i++) {
        unsigned at = 1;
        while (at < out->group_count && !is_of(source, i, out->groups[at].label))
            at++;
        if (at < out->group_count || source->labels[i] == NULL)
            continue;
        if (at > STRANGENESS_LABELS_MAX)
            return err_set(err, ERR_UNUSABLE, "the inputs have more than %d labels that are new",
                           STRANGENESS_LABELS_MAX);
        out->groups[out->group_count++].label = source->labels[i];
    }
    for (unsigned g = 0; g < out->group_count; g++)
        out->groups[g].classes =
            arena_alloc_array(&out->arena, out->label_count, sizeof *out->groups[g].classes);
    return out->arena.failed ? err_no_memory(err, out->label_count * sizeof *out->groups[0].classes)
                             : ERR_OK;
}

enum err_code strangeness_measure(struct strangeness *out, const struct strangeness_source *source,
                                  struct err *err)
{
    struct work work = {0};
    *out = (struct strangeness){.label_count = source->known->label_count};
    if (!list_groups(out, source, err) && !open_work(&work, source, err)) {
        size_t most = 0;
        for (unsigned c = 0; c < out->label_count; c++) {
            const size_t count = take_known(&work, ONLY, c);
            out->majority = count > most ? c : out->majority;
            most = count > most ? count : most;
        }
        for (unsigned g = 0; g < out->group_count; g++)
            measure_group(&out->groups[g], out, &work);
    }
    arena_deinit(&work.arena);
    return err->code;
}

void strangeness_close(struct strangeness *strangeness)
{
    arena_deinit(&strangeness->arena);
    *strangeness = (struct strangeness){0};
}
