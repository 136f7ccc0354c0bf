#include "learn/prune/importance.h"

#include <math.h>
#include <string.h>

enum err_code importance_open(struct importance *out, const struct spec *spec, struct err *err)
{
    size_t blocks = spec_blocks(spec), heads = spec->heads, columns = spec->intermediate;
    size_t widest = spec->hidden > columns ? spec->hidden : columns;
    *out = (struct importance){
        .blocks = (unsigned)blocks, .heads = (unsigned)heads, .columns = (unsigned)columns};
    arena_init(&out->arena);
    out->head = arena_alloc_array(&out->arena, blocks * heads, sizeof *out->head);
    out->column = arena_alloc_array(&out->arena, blocks * columns, sizeof *out->column);
    out->sums = arena_alloc_array(&out->arena, widest, sizeof *out->sums);
    if (out->head == NULL || out->column == NULL || out->sums == NULL)
        return err_no_memory(err, blocks * (heads + columns) * sizeof *out->head);
    return ERR_OK;
}

void importance_close(struct importance *importance)
{
    arena_deinit(&importance->arena);
    *importance = (struct importance){0};
}

/* sums [in] = column sums of W * dW (elementwise), both [out, in]. */
static void sum_columns(double *sums, const float *weight, const float *gradient, size_t out,
                        size_t in)
{
    memset(sums, 0, in * sizeof *sums);
    for (size_t r = 0; r < out; r++, weight += in, gradient += in)
        for (size_t c = 0; c < in; c++)
            sums[c] += (double)weight[c] * gradient[c];
}

void importance_add(struct importance *importance, const struct parameters *parameters,
                    const float *gradient)
{
    const struct spec *spec = &parameters->spec;
    const size_t hidden = spec->hidden, width = hidden / spec->heads;
    double *sums = importance->sums;
    for (unsigned b = 0; b < importance->blocks; b++) {
        const struct parameters_layer *layer = &parameters->map.layers[b];
        double *head = importance->head + (size_t)b * importance->heads;
        double *column = importance->column + (size_t)b * importance->columns;
        sum_columns(sums, parameters->values + layer->out_weight, gradient + layer->out_weight,
                    hidden, spec_attended(spec, b));
        for (size_t h = 0; h < spec_heads(spec, b); h++) {
            double sum = 0;
            for (size_t c = h * width; c < (h + 1) * width; c++)
                sum += sums[c];
            head[h] += fabs(sum);
        }
        sum_columns(sums, parameters->values + layer->mlp_out_weight,
                    gradient + layer->mlp_out_weight, hidden, spec->intermediate);
        for (size_t c = 0; c < spec->intermediate; c++)
            column[c] += fabs(sums[c]);
    }
    importance->inputs++;
}
