#include "learn/eval/fit/reference_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels ---- */

struct entry {
    const char *text;
    unsigned label;
    size_t count;
};

static int compare_entries(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->text, ((const struct entry *)right)->text);
}

static enum err_code fit_labels(struct drift_reference *out,
                                const struct reference_answers *answers, const char *const *labels,
                                struct arena *arena, struct err *err)
{
    const unsigned count = out->label_count;
    struct entry *entries = calloc(count, sizeof *entries);
    out->label_shares = arena_alloc_array(arena, count, sizeof *out->label_shares);
    if (entries == NULL || out->label_shares == NULL) {
        free(entries);
        return err_no_memory(err, count * sizeof *entries);
    }
    for (unsigned i = 0; i < count; i++)
        entries[i] = (struct entry){.text = labels[i], .label = i};
    for (size_t i = 0; i < answers->count; i++)
        entries[answers->verdicts[i].label].count++;
    qsort(entries, count, sizeof *entries, compare_entries);
    for (unsigned first = 0, end; first < count; first = end) {
        size_t sum = 0; /* labels with the same text get the share of all of them */
        for (end = first; end < count && compare_entries(&entries[first], &entries[end]) == 0;)
            sum += entries[end++].count;
        for (unsigned i = first; i < end; i++)
            out->label_shares[entries[i].label] = (float)((double)sum / out->count);
    }
    free(entries);
    return ERR_OK;
}

/* ---- scores ---- */

static int compare_floats(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

/* Chooses quantiles of sorted values, rounded down to a multiple of step (0: not rounded), without
 * duplicates. */
static unsigned choose_edges(float *edges, const float *values, size_t count, double step)
{
    size_t bins = count / DRIFT_BIN_INPUTS;
    bins = bins < 2 ? 2 : bins > REFERENCE_QUANTILES ? REFERENCE_QUANTILES : bins;
    unsigned used = 0;
    for (size_t i = 1; i < bins; i++) {
        double edge = (double)values[i * count / bins];
        if (step > 0)
            edge = floor(edge / step) * step;
        if (used == 0 || (float)edge > edges[used - 1])
            edges[used++] = (float)edge;
    }
    return used;
}

/* Sorts the values. */
static enum err_code fit_bins(struct drift_reference *out, enum drift_kind kind, float *values,
                              double step, struct arena *arena, struct err *err)
{
    float *edges = arena_alloc_array(arena, REFERENCE_QUANTILES - 1, sizeof *edges);
    float *shares = arena_alloc_array(arena, REFERENCE_QUANTILES, sizeof *shares);
    if (edges == NULL || shares == NULL)
        return err_no_memory(err, REFERENCE_QUANTILES * sizeof *shares);
    qsort(values, out->count, sizeof *values, compare_floats);
    unsigned bins = choose_edges(edges, values, out->count, step) + 1;
    out->edges[kind] = edges;
    out->psi[kind] = (struct psi_reference){bins, shares, out->count};
    size_t counts[REFERENCE_QUANTILES] = {0};
    for (unsigned i = 0; i < out->count; i++)
        counts[drift_reference_bin(out, kind, values[i])]++;
    for (unsigned i = 0; i < bins; i++)
        shares[i] = (float)((double)counts[i] / out->count);
    return ERR_OK;
}

static enum err_code check_count(size_t count, struct err *err)
{
    if (count > 0 && count <= DRIFT_COUNT_MAX)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "a reference is of 1 to %d answers, not of %zu",
                   DRIFT_COUNT_MAX, count);
}

enum err_code reference_fit_numbers(struct drift_reference *out, float *numbers, size_t count,
                                    struct arena *arena, struct err *err)
{
    *out = (struct drift_reference){.count = (unsigned)count};
    if (check_count(count, err))
        return err->code;
    return fit_bins(out, DRIFT_VALUE, numbers, 0, arena, err);
}

enum err_code reference_fit(struct drift_reference *out, const struct reference_answers *answers,
                            const char *const *labels, unsigned label_count, struct arena *arena,
                            struct err *err)
{
    *out = (struct drift_reference){.count = (unsigned)answers->count, .label_count = label_count};
    if (check_count(answers->count, err))
        return err->code;
    float *values = calloc(answers->count, sizeof *values);
    if (values == NULL)
        return err_no_memory(err, answers->count * sizeof *values);
    for (size_t i = 0; i < answers->count; i++)
        values[i] = answers->verdicts[i].score;
    if (!fit_labels(out, answers, labels, arena, err) &&
        !fit_bins(out, DRIFT_SCORE, values, REFERENCE_SCORE_STEP, arena, err)) {
        memcpy(values, answers->ood_scores, answers->count * sizeof *values);
        fit_bins(out, DRIFT_OOD, values, 0, arena, err);
    }
    free(values);
    return err->code;
}
