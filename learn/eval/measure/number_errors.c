#include "learn/eval/measure/number_errors.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double number;
    size_t item;
};

static int compare_places(const void *left, const void *right)
{
    const double a = ((const struct place *)left)->number,
                 b = ((const struct place *)right)->number;
    return (a > b) - (a < b);
}

/* Fills ranks [count] from 1 on; equal numbers have the mean of their ranks. */
static void rank(double *ranks, struct place *places, const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){numbers[i], i};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && places[end].number == places[first].number;)
            end++;
        for (size_t i = first; i < end; i++)
            ranks[places[i].item] = (double)(first + 1 + end) / 2;
    }
}

static double mean_of(const double *numbers, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i];
    return sum / (double)count;
}

/* Pearson's correlation. */
static double correlate(const double *a, const double *b, size_t count)
{
    const double mean_a = mean_of(a, count), mean_b = mean_of(b, count);
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < count; i++) {
        ab += (a[i] - mean_a) * (b[i] - mean_b);
        aa += (a[i] - mean_a) * (a[i] - mean_a);
        bb += (b[i] - mean_b) * (b[i] - mean_b);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : NAN;
}

enum err_code number_errors_measure(struct number_errors *out, const double *answered,
                                    const double *right, size_t count, struct err *err)
{
    double *ranks = calloc(2 * count + 1, sizeof *ranks), squares = 0, spread = 0;
    struct place *places = calloc(count + 1, sizeof *places);
    *out = (struct number_errors){.count = count};
    if (ranks == NULL || places == NULL) {
        err_no_memory(err, count * (2 * sizeof *ranks + sizeof *places));
        goto out;
    }
    if (count == 0)
        goto out;
    const double mean = mean_of(right, count), inputs = (double)count;
    for (size_t i = 0; i < count; i++) {
        const double error = answered[i] - right[i];
        out->mean_absolute += fabs(error) / inputs;
        out->bias += error / inputs;
        out->largest = fmax(out->largest, fabs(error));
        squares += error * error;
        spread += (right[i] - mean) * (right[i] - mean);
    }
    out->root_mean_square = sqrt(squares / inputs);
    out->standard_deviation = sqrt(spread / inputs);
    out->r_squared = spread > 0 ? 1 - squares / spread : NAN;
    rank(ranks, places, answered, count);
    rank(ranks + count, places, right, count);
    out->spearman = correlate(ranks, ranks + count, count);
out:
    free(places);
    free(ranks);
    return err->code;
}
