#include "learn/train/loop/learner.h"

#include "engine/base/pages.h"
#include "engine/tensor/backward/backward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 }; /* numbers that a thread sums at a time for the norm */

static float *zeros(size_t numbers)
{
    float *array = pages_alloc(numbers * sizeof *array);
    if (array != NULL)
        memset(array, 0, numbers * sizeof *array);
    return array;
}

enum err_code optimizer_open(struct optimizer *out, struct parameters *parameters,
                             const struct optimizer_options *options, struct err *err)
{
    size_t numbers = parameters->numbers, chunks = (numbers + CHUNK - 1) / CHUNK;
    bool averages = options->average_decay > 0;
    *out = (struct optimizer){.parameters = parameters,
                              .options = *options,
                              .m = zeros(numbers),
                              .v = zeros(numbers),
                              .average = averages ? zeros(numbers) : NULL,
                              .partials = calloc(chunks, sizeof(double))};
    if (out->m == NULL || out->v == NULL || out->partials == NULL ||
        (averages && out->average == NULL))
        return err_no_memory(err, 3 * numbers * sizeof(float));
    if (averages)
        memcpy(out->average, parameters->values, numbers * sizeof(float));
    return ERR_OK;
}

void optimizer_close(struct optimizer *optimizer)
{
    free(optimizer->m);
    free(optimizer->v);
    free(optimizer->average);
    free(optimizer->partials);
    *optimizer = (struct optimizer){0};
}

const float *optimizer_best(const struct optimizer *optimizer)
{
    return optimizer->average != NULL ? optimizer->average : optimizer->parameters->values;
}

/* ---- the norm ---- */

struct norm_run {
    const struct backward *backward;
    const float *gradient;
    size_t numbers;
    double *partials;
};

static void sum_chunks(void *context, unsigned index, unsigned count)
{
    struct norm_run *run = context;
    for (size_t first = (size_t)index * CHUNK; first < run->numbers;
         first += (size_t)count * CHUNK) {
        size_t left = run->numbers - first;
        run->partials[first / CHUNK] =
            run->backward->square_sum(run->gradient + first, left < CHUNK ? left : CHUNK);
    }
}

/* Chunk sums are added in the order of the chunks, so the result does not depend on threads. */
static double norm_of(const struct optimizer *optimizer, struct thread_pool *pool,
                      const float *gradient)
{
    size_t numbers = optimizer->parameters->numbers;
    struct norm_run run = {backward_best(), gradient, numbers, optimizer->partials};
    double sum = 0;
    thread_pool_run(pool, sum_chunks, &run);
    for (size_t i = 0; i < (numbers + CHUNK - 1) / CHUNK; i++)
        sum += optimizer->partials[i];
    return sqrt(sum);
}

/* ---- the step ---- */

struct step_run {
    struct optimizer *optimizer;
    const struct backward *backward;
    const float *gradient;
    struct adamw adamw;
    float average_decay;
    unsigned frozen_depth;
};

/* Updates this member's share of each tensor. */
static void step_share(void *context, unsigned index, unsigned count)
{
    const struct step_run *run = context;
    struct optimizer *optimizer = run->optimizer;
    const struct parameters *parameters = optimizer->parameters;
    for (unsigned i = 0; i < parameters->count; i++) {
        const struct parameter *tensor = &parameters->list[i];
        size_t first = tensor->offset + tensor->row.count * index / count;
        size_t numbers = tensor->offset + tensor->row.count * (index + 1) / count - first;
        struct adamw adamw = run->adamw;
        unsigned below_head = spec_blocks(&parameters->spec) + 1 - tensor->row.depth;
        bool decays = tensor->row.part == TENSOR_WEIGHT || tensor->row.part == TENSOR_TABLE;
        adamw.rate *= powf(optimizer->options.layer_decay, (float)below_head);
        adamw.decay = decays ? optimizer->options.weight_decay : 0;
        if (tensor->row.depth >= run->frozen_depth && !tensor->is_constant)
            run->backward->adamw(parameters->values + first, optimizer->m + first,
                                 optimizer->v + first, run->gradient + first, numbers, &adamw);
        if (optimizer->average != NULL)
            run->backward->moving_average(optimizer->average + first, parameters->values + first,
                                          numbers, run->average_decay);
    }
}

static struct adamw adamw_for(const struct optimizer *optimizer, float rate, double norm)
{
    const struct optimizer_options *options = &optimizer->options;
    double t = (double)optimizer->steps;
    bool clips = options->clip > 0 && norm > options->clip;
    return (struct adamw){.rate = rate,
                          .beta1 = options->beta1,
                          .beta2 = options->beta2,
                          .eps = options->eps,
                          .c1 = (float)(1 - pow(options->beta1, t)),
                          .c2 = (float)(1 - pow(options->beta2, t)),
                          .g_scale = clips ? (float)(options->clip / norm) : 1};
}

static float average_decay(const struct optimizer *optimizer)
{
    float early = (float)((1.0 + (double)optimizer->steps) / (10.0 + (double)optimizer->steps));
    return early < optimizer->options.average_decay ? early : optimizer->options.average_decay;
}

struct optimizer_report optimizer_step(struct optimizer *optimizer, struct thread_pool *pool,
                                       float *gradient, float rate, unsigned frozen_depth)
{
    double norm = norm_of(optimizer, pool, gradient);
    struct optimizer_report report = {.norm = norm, .skipped = !isfinite(norm)};
    if (!report.skipped) {
        optimizer->steps++;
        struct step_run run = {.optimizer = optimizer,
                               .backward = backward_best(),
                               .gradient = gradient,
                               .adamw = adamw_for(optimizer, rate, norm),
                               .average_decay = average_decay(optimizer),
                               .frozen_depth = frozen_depth};
        thread_pool_run(pool, step_share, &run);
    }
    memset(gradient, 0, optimizer->parameters->numbers * sizeof *gradient);
    return report;
}
