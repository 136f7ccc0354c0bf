#include "learn/eval/measure/expectation.h"

#include "engine/base/arena.h"
#include "engine/base/rng.h"
#include "engine/statistics/statistics.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS_MAX = 1000, DRAWS_MIN = 100, PICKS_MAX = 200 * 1000 * 1000, PURPOSE = 0x5150 };

struct work {
    const struct confusion *confusion;
    const double *shares;
    double *answered;      /* [class_count] the expected share of answers */
    double *hits;          /* [class_count] the expected share of right answers */
    uint32_t *winners;     /* [confusion->count] label after label */
    struct stratum *parts; /* [class_count] */
    double *macro;         /* [draws] */
    unsigned draws;
    struct arena arena;
};

static enum err_code open_work(struct work *work, const struct confusion *confusion,
                               const double *shares, struct err *err)
{
    const unsigned classes = confusion->class_count;
    const size_t affordable = PICKS_MAX / (confusion->count + 1);
    *work = (struct work){.confusion = confusion, .shares = shares};
    work->draws = affordable > DRAWS_MAX   ? DRAWS_MAX
                  : affordable > DRAWS_MIN ? (unsigned)affordable
                                           : DRAWS_MIN;
    work->answered = arena_alloc_array(&work->arena, classes, sizeof *work->answered);
    work->hits = arena_alloc_array(&work->arena, classes, sizeof *work->hits);
    work->winners = arena_alloc_array(&work->arena, confusion->count, sizeof *work->winners);
    work->parts = arena_alloc_array(&work->arena, classes, sizeof *work->parts);
    work->macro = arena_alloc_array(&work->arena, work->draws, sizeof *work->macro);
    if (work->arena.failed)
        return err_no_memory(err, confusion->count * sizeof *work->winners);
    uint32_t *at = work->winners;
    for (size_t cell = 0; cell < (size_t)classes * classes; cell++)
        for (size_t i = 0; i < confusion->matrix[cell]; i++)
            *at++ = (uint32_t)(cell % classes);
    return ERR_OK;
}

static bool is_counted(const struct work *work, unsigned label)
{
    return work->confusion->classes[label].support > 0;
}

/* Adds a share `weight` of all inputs that has this label and this winner. */
static void add(struct work *work, unsigned label, unsigned winner, double weight)
{
    work->answered[winner] += weight;
    work->hits[winner] += label == winner ? weight : 0;
}

static void clear(struct work *work)
{
    memset(work->answered, 0, work->confusion->class_count * sizeof *work->answered);
    memset(work->hits, 0, work->confusion->class_count * sizeof *work->hits);
}

static double f1_of(const struct work *work, unsigned label)
{
    const double both = (is_counted(work, label) ? work->shares[label] : 0) + work->answered[label];
    return both > 0 ? 2 * work->hits[label] / both : 0;
}

/* Macro-F1 over the labels that are expected or answered. */
static double macro_f1_of(const struct work *work)
{
    double sum = 0;
    unsigned labels = 0;
    for (unsigned c = 0; c < work->confusion->class_count; c++) {
        sum += f1_of(work, c);
        labels += (is_counted(work, c) && work->shares[c] > 0) || work->answered[c] > 0;
    }
    return labels > 0 ? sum / labels : 0;
}

/* ---- as counted ---- */

static void take_classes(struct expectation *out, struct work *work)
{
    const struct confusion *confusion = work->confusion;
    const unsigned classes = confusion->class_count;
    clear(work);
    for (unsigned label = 0; label < classes; label++)
        for (unsigned winner = 0; winner < classes && is_counted(work, label); winner++)
            add(work, label, winner,
                work->shares[label] * (double)confusion->matrix[(size_t)label * classes + winner] /
                    (double)confusion->classes[label].support);
    out->unseen = 0;
    for (unsigned c = 0; c < out->class_count; c++) {
        out->classes[c] = (struct expectation_class){
            .share = work->shares[c],
            .precision = work->answered[c] > 0 ? work->hits[c] / work->answered[c] : 0,
            .f1 = f1_of(work, c)};
        out->unseen += is_counted(work, c) ? 0 : work->shares[c];
    }
    out->macro_f1 = macro_f1_of(work);
}

static enum err_code take_accuracy(struct expectation *out, struct work *work, struct err *err)
{
    const struct confusion *confusion = work->confusion;
    for (unsigned c = 0; c < out->class_count; c++)
        work->parts[c] = (struct stratum){.weight = is_counted(work, c) ? work->shares[c] : 0,
                                          .hits = confusion->classes[c].hits,
                                          .count = confusion->classes[c].support};
    if (stratified_share(work->parts, out->class_count, &out->accuracy, &out->accuracy_interval))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the inputs have none of the labels that are expected");
}

/* ---- drawn again ---- */

static void draw(struct work *work, struct rng *rng)
{
    const uint32_t *winners = work->winners;
    clear(work);
    for (unsigned label = 0; label < work->confusion->class_count; label++) {
        const uint32_t support = (uint32_t)work->confusion->classes[label].support;
        for (uint32_t i = 0; i < support; i++)
            add(work, label, winners[rng_below(rng, support)], work->shares[label] / support);
        winners += support;
    }
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

enum err_code expectation_measure(struct expectation *out, const struct confusion *confusion,
                                  const double *shares, uint64_t seed, struct err *err)
{
    struct work work;
    assert(confusion->count <= UINT32_MAX);
    *out = (struct expectation){.class_count = confusion->class_count};
    out->classes = calloc(confusion->class_count, sizeof *out->classes);
    if (!open_work(&work, confusion, shares, err) && out->classes == NULL)
        err_no_memory(err, confusion->class_count * sizeof *out->classes);
    if (err->code == ERR_OK && !take_accuracy(out, &work, err)) {
        take_classes(out, &work);
        for (unsigned i = 0; i < work.draws; i++) {
            struct rng rng = rng_for(seed, PURPOSE, i);
            draw(&work, &rng);
            work.macro[i] = macro_f1_of(&work);
        }
        qsort(work.macro, work.draws, sizeof *work.macro, compare);
        const unsigned low = (unsigned)(0.025 * (work.draws - 1) + 0.5);
        out->macro_f1_interval =
            (struct interval){.low = work.macro[low], .high = work.macro[work.draws - 1 - low]};
    }
    arena_deinit(&work.arena);
    return err->code;
}

void expectation_close(struct expectation *expectation)
{
    free(expectation->classes);
    *expectation = (struct expectation){0};
}
