/* The figures of feedback.h: accuracy, and the series of metrics. */
#include "engine/statistics/statistics.h"
#include "server/feedback/feedback_state.h"
#include "server/observe/metrics_text.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * OUTCOMES_CELLS };

static void add_share(struct feedback_share *sum, struct feedback_share part)
{
    sum->right += part.right;
    sum->count += part.count;
    sum->edits += part.edits;
    sum->characters += part.characters;
}

static struct feedback_share share_of(const struct outcomes_version *version, unsigned decision)
{
    return (struct feedback_share){version->right[decision], version->count[decision],
                                   version->edits[decision], version->characters[decision]};
}

static struct feedback_weighted weighted_of(const struct outcomes_version *version)
{
    struct feedback_weighted out = {0};
    struct stratum strata[DECISION_COUNT];
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        const bool is_drawn = i == DECISION_AUTO;
        strata[i] =
            (struct stratum){.weight = (double)version->predictions[i],
                             .hits = is_drawn ? version->sampled_right : version->right[i],
                             .count = is_drawn ? version->sampled_count : version->count[i]};
        out.count += version->predictions[i] > 0 ? strata[i].count : 0;
    }
    out.is_known = stratified_share(strata, DECISION_COUNT, &out.value, &out.interval);
    return out;
}

/* Two cells may be one pair: a model's own "other", and what it lacks. The texts are the classes'
 * own. */
static void add_pair(struct feedback_accuracy *out, const char *label, const char *predicted,
                     uint64_t count)
{
    bool may_occur = strcmp(label, "other") == 0;
    for (unsigned i = 0; may_occur && i < out->pair_count; i++)
        if (out->pairs[i].label == label && out->pairs[i].predicted == predicted) {
            out->pairs[i].count += count;
            return;
        }
    out->pairs[out->pair_count++] = (struct feedback_pair){label, predicted, count};
}

static uint64_t count_of(const struct outcomes_cell *cell)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        count += cell->now[i];
    return count;
}

/* Each label is right, told and predicted by itself; a pair is one of whole sets. */
static enum err_code add_set(struct feedback_accuracy *out, const struct outcomes *outcomes,
                             const struct outcomes_cell *cell, struct arena *arena, struct err *err)
{
    const uint64_t count = count_of(cell);
    if (count == 0)
        return ERR_OK;
    for (unsigned n = 0; n < OUTCOME_SET_LABELS; n++) {
        const bool is_told = cell->label >> n & 1, is_predicted = cell->predicted >> n & 1;
        struct feedback_class *class = is_told || is_predicted ? &out->classes[n] : NULL;
        if (class == NULL)
            continue;
        class->told += is_told ? count : 0;
        class->predicted += is_predicted ? count : 0;
        class->right += is_told && is_predicted ? count : 0;
    }
    const char *label = outcomes_set_text(outcomes, cell->version, cell->label, arena);
    const char *predicted = outcomes_set_text(outcomes, cell->version, cell->predicted, arena);
    if (label == NULL || predicted == NULL)
        return err_no_memory(err, sizeof *cell);
    out->pairs[out->pair_count++] = (struct feedback_pair){label, predicted, count};
    return ERR_OK;
}

/* other: the class of labels that the model lacks. What does not occur is left out later. */
static void add_cell(struct feedback_accuracy *out, unsigned other,
                     const struct outcomes_cell *cell)
{
    unsigned label = cell->label != OUTCOMES_OTHER ? (unsigned)cell->label : other;
    const uint64_t count = count_of(cell);
    out->classes[label].told += count;
    out->classes[cell->predicted].predicted += count;
    out->classes[label].right += cell->label == cell->predicted ? count : 0;
    if (count > 0)
        add_pair(out, out->classes[label].label, out->classes[cell->predicted].label, count);
}

static enum err_code fill_whole_locked(const struct outcomes *outcomes,
                                       const struct outcomes_version *version, struct arena *arena,
                                       struct feedback_accuracy *out, struct err *err)
{
    unsigned labels = version->label_count, at = (unsigned)(version - outcomes->versions);
    int64_t own = outcomes_label(outcomes, at, "other", 0); /* one text is one class */
    unsigned other = own >= 0 && !version->labels[own].is_new ? (unsigned)own : labels;
    out->classes = arena_alloc_array(arena, labels + 1, sizeof *out->classes);
    out->pairs = arena_alloc_array(arena, outcomes->cell_count + 1, sizeof *out->pairs);
    if (out->classes == NULL || out->pairs == NULL)
        return err_no_memory(err, labels * sizeof *out->classes);
    for (unsigned i = 0; i < labels; i++)
        out->classes[i].label = version->labels[i].text;
    out->classes[labels].label = "other";
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct outcomes_cell *cell = &outcomes->cells[i];
        if (!cell->is_used || cell->version != at || version->has_texts)
            continue;
        if (!cell->is_set)
            add_cell(out, other, cell);
        else if (add_set(out, outcomes, cell, arena, err))
            return err->code;
    }
    for (unsigned i = 0; i < labels + 1; i++)
        if (out->classes[i].told + out->classes[i].predicted > 0)
            out->classes[out->class_count++] = out->classes[i];
    return ERR_OK;
}

enum err_code feedback_accuracy(struct feedback *feedback, const char *model, const char *version,
                                bool whole, struct arena *arena, struct feedback_accuracy *out,
                                struct err *err)
{
    *out = (struct feedback_accuracy){0};
    pthread_mutex_lock(&feedback->lock);
    const struct outcomes_version *found =
        outcomes_find(feedback->outcomes, model, version != NULL ? version : "");
    for (unsigned i = 0; found != NULL && i < DECISION_COUNT; i++) {
        out->by_decision[i] = share_of(found, i);
        add_share(&out->all, out->by_decision[i]);
    }
    out->has_texts = found != NULL && found->has_texts;
    if (found != NULL)
        out->weighted = weighted_of(found);
    if (found != NULL)
        out->paired = (struct feedback_paired){.both = found->paired[1][1],
                                               .answer_only = found->paired[1][0],
                                               .shadow_only = found->paired[0][1],
                                               .neither = found->paired[0][0]};
    if (found != NULL && whole)
        fill_whole_locked(feedback->outcomes, found, arena, out, err);
    pthread_mutex_unlock(&feedback->lock);
    return err->code;
}

/* ---- metrics ---- */

static const enum metric_id metric_ids[] = {METRIC_FEEDBACK, METRIC_ACCURACY,
                                            METRIC_ACCURACY_WEIGHTED, METRIC_CHARACTER_ERRORS};
enum { METRIC_IDS = sizeof metric_ids / sizeof *metric_ids };

/* Who asks claims bytes for each: a pair of sets, whose texts may be long, counts as several. */
static size_t count_series(void *context, enum metric_id id)
{
    enum { OF_SETS = 36 };
    struct feedback *feedback = context;
    pthread_mutex_lock(&feedback->lock);
    const struct outcomes *outcomes = feedback->outcomes;
    size_t count = id == METRIC_FEEDBACK ? outcomes->cell_count : outcomes->version_count;
    for (unsigned i = 0; id == METRIC_FEEDBACK && i < SLOTS; i++)
        if (outcomes->cells[i].is_used && outcomes->cells[i].is_set)
            count += OF_SETS - 1;
    pthread_mutex_unlock(&feedback->lock);
    return count;
}

size_t feedback_series(struct feedback *feedback)
{
    size_t count = 0;
    for (size_t i = 0; i < METRIC_IDS; i++)
        count += count_series(feedback, metric_ids[i]);
    return count;
}

/* A model may have a label "other" of its own: then one series has both. True: the cell is told
 * with that one. */
static bool is_told_elsewhere(const struct outcomes *outcomes, const struct outcomes_cell *cell,
                              uint64_t *more)
{
    if (cell->is_set || strcmp(outcomes_text(outcomes, cell->version, cell->label), "other") != 0)
        return false;
    int64_t own = outcomes_label(outcomes, cell->version, "other", 0);
    if (own < 0)
        return false;
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct outcomes_cell *twin = &outcomes->cells[i];
        if (twin != cell && twin->is_used && !twin->is_set && twin->version == cell->version &&
            twin->predicted == cell->predicted &&
            (twin->label == OUTCOMES_OTHER || twin->label == (uint64_t)own)) {
            *more = twin->total;
            return cell->label == OUTCOMES_OTHER;
        }
    }
    return false;
}

struct series {
    const char *model, *version, *label, *predicted;
    uint64_t total;
};

/* "" without memory. */
static const char *text_of(const struct outcomes *outcomes, const struct outcomes_cell *cell,
                           uint64_t label, struct arena *arena)
{
    if (!cell->is_set)
        return outcomes_text(outcomes, cell->version, label);
    const char *text = outcomes_set_text(outcomes, cell->version, label, arena);
    return text != NULL ? text : "";
}

/* The series are written without the lock, under which predictions wait. Texts stay. */
static void write_labels(struct feedback *feedback, struct metrics_text *out)
{
    const struct outcomes *outcomes = feedback->outcomes;
    struct series *series = calloc(OUTCOMES_CELLS, sizeof *series);
    struct arena arena;
    unsigned count = 0;
    if (series == NULL)
        return;
    arena_init(&arena);
    pthread_mutex_lock(&feedback->lock);
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct outcomes_cell *cell = &outcomes->cells[i];
        uint64_t more = 0;
        if (!cell->is_used || is_told_elsewhere(outcomes, cell, &more))
            continue;
        series[count++] = (struct series){
            outcomes->versions[cell->version].model, outcomes->versions[cell->version].version,
            text_of(outcomes, cell, cell->label, &arena),
            text_of(outcomes, cell, cell->predicted, &arena), cell->total + more};
    }
    pthread_mutex_unlock(&feedback->lock);
    for (unsigned i = 0; i < count; i++) {
        const char *const values[] = {series[i].model, series[i].version, series[i].label,
                                      series[i].predicted};
        metrics_text_value(out, METRIC_FEEDBACK, values, (double)series[i].total);
    }
    arena_deinit(&arena);
    free(series);
}

static void collect(void *context, enum metric_id id, struct metrics_text *out)
{
    struct feedback *feedback = context;
    const struct outcomes *outcomes = feedback->outcomes;
    if (id == METRIC_FEEDBACK) {
        write_labels(feedback, out);
        return;
    }
    pthread_mutex_lock(&feedback->lock);
    for (unsigned i = 0; i < outcomes->version_count; i++) {
        const struct outcomes_version *version = &outcomes->versions[i];
        const char *const values[] = {version->model, version->version};
        const struct feedback_weighted weighted = weighted_of(version);
        struct feedback_share all = {0};
        for (unsigned d = 0; d < DECISION_COUNT; d++)
            add_share(&all, share_of(version, d));
        if (id == METRIC_ACCURACY_WEIGHTED && weighted.is_known)
            metrics_text_value(out, id, values, weighted.value);
        if (id == METRIC_ACCURACY && all.count > 0)
            metrics_text_value(out, id, values, (double)all.right / (double)all.count);
        if (id == METRIC_CHARACTER_ERRORS && all.characters > 0)
            metrics_text_value(out, id, values, (double)all.edits / (double)all.characters);
    }
    pthread_mutex_unlock(&feedback->lock);
}

void feedback_register(struct feedback *feedback, struct metrics *metrics)
{
    const struct metrics_collector collector = {
        .context = feedback, .collect = collect, .series = count_series};
    if (feedback != NULL)
        metrics_register(metrics, metric_ids, METRIC_IDS, collector);
}
