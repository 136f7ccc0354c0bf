/* interval.c - see interval.h. A draw of an input reads only its pair of label and winner, that is,
 * a cell of the confusion matrix: 26 000 inputs of nine classes are drawn a thousand times in
 * 0.15 s. */
#include "learn/eval/measure/interval.h"

#include "engine/base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS_MAX = 1000, DRAWS_MIN = 100, PICKS_MAX = 200 * 1000 * 1000, PURPOSE = 0x4631 };

/* The normal distribution's 97.5 % quantile. */
static const double z_two_sided = 1.959963984540054;

/* ---- a mean ---- */

/* Abramowitz and Stegun 1964, 26.7.5, of the 97.5 % quantile. */
static double student_t(double freedom)
{
    double z = z_two_sided, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * pow(freedom, 2)) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * pow(freedom, 3));
}

struct interval interval_mean(const double *values, size_t count, double *mean)
{
    double sum = 0, squares = 0, n = (double)count;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *mean = count > 0 ? sum / n : 0;
    if (count < 3)
        return (struct interval){.low = -INFINITY, .high = INFINITY};
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    double half = student_t(n - 1) * sqrt(squares / (n - 1) / n);
    return (struct interval){.low = *mean - half, .high = *mean + half};
}

/* ---- a bootstrap ---- */

unsigned interval_draws(size_t picks)
{
    const size_t affordable = PICKS_MAX / (picks + 1);
    return affordable > DRAWS_MAX   ? DRAWS_MAX
           : affordable > DRAWS_MIN ? (unsigned)affordable
                                    : DRAWS_MIN;
}

struct pair {
    unsigned label, winner;
};

struct tally {
    uint32_t occurrences, hits; /* as a label and as a winner, together */
};

struct bootstrap {
    unsigned class_count, draws;
    uint32_t count;
    struct pair *pairs;  /* [count] */
    struct tally *tally; /* [class_count], of one draw */
    float *f1;           /* [class_count, draws]; NAN where a class does not occur */
    float *macro;        /* [draws] */
};

static enum err_code open_bootstrap(struct bootstrap *boot, const struct confusion *confusion,
                                    struct err *err)
{
    if (confusion->count > UINT32_MAX / 2)
        return err_set(err, ERR_TOO_LARGE, "%zu inputs are too many to resample (at most %u)",
                       confusion->count, UINT32_MAX / 2);
    boot->class_count = confusion->class_count;
    boot->count = (uint32_t)confusion->count;
    boot->draws = interval_draws(confusion->count);
    boot->pairs = reallocarray(NULL, (size_t)boot->count + 1, sizeof *boot->pairs);
    boot->tally = calloc(boot->class_count, sizeof *boot->tally);
    boot->f1 = calloc((size_t)boot->class_count * boot->draws, sizeof *boot->f1);
    boot->macro = calloc(boot->draws, sizeof *boot->macro);
    if (boot->pairs == NULL || boot->tally == NULL || boot->f1 == NULL || boot->macro == NULL)
        return err_no_memory(err, (size_t)boot->class_count * boot->draws * sizeof *boot->f1);
    size_t at = 0;
    for (unsigned label = 0; label < boot->class_count; label++)
        for (unsigned winner = 0; winner < boot->class_count; winner++)
            for (size_t i = confusion->matrix[(size_t)label * boot->class_count + winner]; i > 0;
                 i--)
                boot->pairs[at++] = (struct pair){label, winner};
    assert(at == boot->count);
    return ERR_OK;
}

static void draw(struct bootstrap *boot, unsigned index, struct rng *rng)
{
    double sum = 0.0;
    unsigned classes = 0;
    memset(boot->tally, 0, boot->class_count * sizeof *boot->tally);
    for (uint32_t i = 0; i < boot->count; i++) {
        struct pair pair = boot->pairs[rng_below(rng, boot->count)];
        boot->tally[pair.label].occurrences++;
        boot->tally[pair.winner].occurrences++;
        boot->tally[pair.label].hits += pair.label == pair.winner;
    }
    for (unsigned i = 0; i < boot->class_count; i++) {
        struct tally tally = boot->tally[i];
        double f1 = tally.occurrences > 0 ? 2.0 * tally.hits / tally.occurrences : NAN;
        boot->f1[(size_t)i * boot->draws + index] = (float)f1;
        sum += tally.occurrences > 0 ? f1 : 0.0;
        classes += tally.occurrences > 0;
    }
    boot->macro[index] = classes > 0 ? (float)(sum / classes) : NAN;
}

/* Ascending order, NAN last. */
static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

struct interval interval_percentiles(float *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    while (count > 0 && isnan(values[count - 1]))
        count--;
    if (count == 0)
        return (struct interval){.low = 0.0, .high = 1.0};
    unsigned low = (unsigned)(0.025 * (count - 1) + 0.5);
    return (struct interval){.low = (double)values[low], .high = (double)values[count - 1 - low]};
}

enum err_code interval_bootstrap_f1(struct interval *macro_f1, struct interval *f1,
                                    const struct confusion *confusion, uint64_t seed,
                                    struct err *err)
{
    struct bootstrap boot = {0};
    if (!open_bootstrap(&boot, confusion, err)) {
        for (unsigned i = 0; i < boot.draws; i++) {
            struct rng rng = rng_for(seed, PURPOSE, i);
            draw(&boot, i, &rng);
        }
        *macro_f1 = interval_percentiles(boot.macro, boot.draws);
        for (unsigned i = 0; i < boot.class_count; i++)
            f1[i] = interval_percentiles(boot.f1 + (size_t)i * boot.draws, boot.draws);
    }
    free(boot.pairs);
    free(boot.tally);
    free(boot.f1);
    free(boot.macro);
    return err->code;
}
