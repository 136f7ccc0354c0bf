#include "learn/train/loop/corpus.h"

#include "learn/data/number_label.h"

#include <math.h>
#include <string.h>

/* Smallest deviation relative to the mean. An answer is mean + deviation x z in fp32. Neighbouring
 * fp32 numbers near the mean differ by 6e-8 of it, which is a hundredth of a deviation here. */
#define RELATIVE_DEVIATION_MIN 1e-5

enum err_code numbers_open(struct numbers *out, const struct dataset *dataset, const char *field,
                           const struct spec *source, struct arena *arena, struct err *err)
{
    *out = (struct numbers){.count = number_label_count(dataset->items[0].label)};
    if (out->count > NUMBERS_OUTPUTS_MAX)
        return err_set(err, ERR_UNUSABLE, "%.80s: the label has %u numbers, and %d is the limit",
                       dataset->items[0].name, out->count, NUMBERS_OUTPUTS_MAX);
    out->name = arena_alloc_array(arena, out->count, sizeof *out->name);
    if (out->name == NULL)
        return err_no_memory(err, out->count * sizeof *out->name);
    if (source->scores == SCORES_NONE && source->label_count == out->count) {
        memcpy(out->name, source->labels, out->count * sizeof *out->name);
        return ERR_OK;
    }
    for (unsigned i = 0; i < out->count; i++) {
        out->name[i] = out->count == 1 ? arena_format(arena, "%s", field)
                                       : arena_format(arena, "%s_%u", field, i);
        if (out->name[i] == NULL)
            return err_no_memory(err, strlen(field));
    }
    return ERR_OK;
}

enum err_code numbers_match(const struct numbers *numbers, const char *label, float *targets,
                            struct err *err)
{
    double read[NUMBERS_OUTPUTS_MAX];
    if (number_label_read(label, read, numbers->count, err))
        return err->code;
    for (unsigned k = 0; k < numbers->count; k++)
        targets[k] = (float)read[k];
    return ERR_OK;
}

/* Computes mean and deviation of output k in two passes: squares of large numbers cancel. */
static void measure(const struct numbers *numbers, const float *targets, size_t inputs, unsigned k)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < inputs; i++)
        sum += (double)targets[i * numbers->count + k];
    const double mean = sum / (double)inputs;
    for (size_t i = 0; i < inputs; i++) {
        const double off = (double)targets[i * numbers->count + k] - mean;
        squares += off * off;
    }
    numbers->scale.mean[k] = mean;
    numbers->scale.deviation[k] = sqrt(squares / (double)inputs);
}

enum err_code numbers_fit(struct numbers *numbers, const float *targets, size_t inputs,
                          struct arena *arena, struct err *err)
{
    struct head_scale *scale = &numbers->scale;
    scale->outputs = numbers->count;
    scale->mean = arena_alloc_array(arena, numbers->count, sizeof *scale->mean);
    scale->deviation = arena_alloc_array(arena, numbers->count, sizeof *scale->deviation);
    if (scale->mean == NULL || scale->deviation == NULL)
        return err_no_memory(err, 2 * numbers->count * sizeof *scale->mean);
    for (unsigned k = 0; k < numbers->count; k++) {
        measure(numbers, targets, inputs, k);
        const double mean = scale->mean[k], deviation = scale->deviation[k];
        if (!(deviation > 0))
            return err_set(err, ERR_UNUSABLE,
                           "every input to learn has the number %.9g: nothing to learn", mean);
        if (deviation < RELATIVE_DEVIATION_MIN * fabs(mean))
            return err_set(err, ERR_UNUSABLE,
                           "the numbers have mean %.9g and deviation %.3g, which fp32 cannot tell "
                           "apart. Subtract a constant from them",
                           mean, deviation);
    }
    return ERR_OK;
}

void numbers_standardise(const struct numbers *numbers, float *targets, size_t inputs)
{
    const struct head_scale *scale = &numbers->scale;
    for (size_t i = 0; i < inputs * numbers->count; i++) {
        const size_t k = i % numbers->count;
        targets[i] = (float)(((double)targets[i] - scale->mean[k]) / scale->deviation[k]);
    }
}
