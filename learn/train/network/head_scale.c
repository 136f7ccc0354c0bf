#include "learn/train/network/head_scale.h"

#include <assert.h>
#include <string.h>

/* Calls `change` with the row of weights and the bias of each output, in each classifier. */
static void change_rows(const struct parameters *parameters, float *values,
                        void (*change)(const struct head_scale *scale, unsigned output,
                                       float *weights, size_t width, float *bias),
                        const struct head_scale *scale)
{
    for (unsigned i = 0; i < parameters->count; i++) {
        const struct tensor_row *row = &parameters->list[i].row;
        const bool is_first = row->field == TENSOR_CLASSIFIER;
        if ((!is_first && row->field != TENSOR_DISTILLATION_CLASSIFIER) ||
            row->part != TENSOR_WEIGHT)
            continue;
        const size_t outputs = row->shape[0], width = row->count / outputs;
        const size_t bias =
            is_first ? parameters->map.classifier_bias : parameters->map.distillation_bias;
        for (unsigned k = 0; k < outputs; k++)
            change(scale, k, values + parameters->list[i].offset + k * width, width,
                   values + bias + k);
    }
}

static void fold_row(const struct head_scale *scale, unsigned output, float *weights, size_t width,
                     float *bias)
{
    const double mean = scale->mean[output], deviation = scale->deviation[output];
    for (size_t i = 0; i < width; i++)
        weights[i] = (float)((double)weights[i] * deviation);
    *bias = (float)((double)*bias * deviation + mean);
}

static void remove_row(const struct head_scale *scale, unsigned output, float *weights,
                       size_t width, float *bias)
{
    const double mean = scale->mean[output], deviation = scale->deviation[output];
    for (size_t i = 0; i < width; i++)
        weights[i] = (float)((double)weights[i] / deviation);
    *bias = (float)(((double)*bias - mean) / deviation);
}

static void clear_row(const struct head_scale *scale, unsigned output, float *weights, size_t width,
                      float *bias)
{
    (void)scale;
    (void)output;
    memset(weights, 0, width * sizeof *weights);
    *bias = 0;
}

void head_scale_fold(const struct head_scale *scale, const struct parameters *parameters,
                     float *values)
{
    assert(scale->outputs == parameters->spec.label_count);
    change_rows(parameters, values, fold_row, scale);
}

void head_scale_remove(const struct head_scale *scale, const struct parameters *parameters,
                       float *values)
{
    assert(scale->outputs == parameters->spec.label_count);
    change_rows(parameters, values, remove_row, scale);
}

void head_scale_clear(const struct parameters *parameters, float *values)
{
    change_rows(parameters, values, clear_row, NULL);
}
