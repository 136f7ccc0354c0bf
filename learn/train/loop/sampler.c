#include "learn/train/loop/run.h"

#include "engine/base/rng.h"
#include "learn/train/network/rng_streams.h"

#include <math.h>

/* Counts each class, then writes the items sorted by class (counting sort). */
static void sort_by_class(struct sampler *sampler)
{
    const struct sampler_options *options = &sampler->options;
    size_t *first = sampler->class_first;
    for (size_t i = 0; i < options->count; i++)
        first[options->classes[i] + 1]++;
    for (unsigned c = 0; c < options->class_count; c++)
        first[c + 1] += first[c];
    for (size_t i = 0; i < options->count; i++)
        sampler->by_class[first[options->classes[i]]++] = options->items[i];
    for (unsigned c = options->class_count; c > 0; c--)
        first[c] = first[c - 1];
    first[0] = 0;
}

static void weigh_classes(struct sampler *sampler)
{
    const struct sampler_options *options = &sampler->options;
    double sum = 0;
    for (unsigned c = 0; c < options->class_count; c++) {
        size_t count = sampler->class_first[c + 1] - sampler->class_first[c];
        sum += count > 0 ? pow((double)count, 1 - options->balance) : 0;
        sampler->cumulative[c] = sum;
    }
    for (unsigned c = 0; c < options->class_count; c++)
        sampler->cumulative[c] /= sum;
}

enum err_code sampler_open(struct sampler *out, const struct sampler_options *options,
                           struct err *err)
{
    *out = (struct sampler){.options = *options, .pass_number = UINT64_MAX};
    arena_init(&out->arena);
    out->pass = arena_alloc_array(&out->arena, options->count, sizeof *out->pass);
    out->by_class = arena_alloc_array(&out->arena, options->count, sizeof *out->by_class);
    out->class_first =
        arena_alloc_array(&out->arena, options->class_count + 1, sizeof *out->class_first);
    out->cumulative =
        arena_alloc_array(&out->arena, options->class_count + 1, sizeof *out->cumulative);
    if (out->pass == NULL || out->by_class == NULL || out->class_first == NULL ||
        out->cumulative == NULL) {
        sampler_close(out);
        return err_no_memory(err, 2 * options->count * sizeof *out->pass);
    }
    if (options->classes != NULL) {
        sort_by_class(out);
        weigh_classes(out);
    }
    return ERR_OK;
}

void sampler_close(struct sampler *sampler)
{
    arena_deinit(&sampler->arena);
    *sampler = (struct sampler){0};
}

/* Shuffles all items for one pass (Fisher and Yates, inside-out). */
static void shuffle(struct sampler *sampler, uint64_t number)
{
    const struct sampler_options *options = &sampler->options;
    struct rng rng = rng_for(options->seed, STREAM_ORDER, number);
    for (size_t i = 0; i < options->count; i++) {
        size_t j = rng_below(&rng, (uint32_t)(i + 1));
        sampler->pass[i] = sampler->pass[j];
        sampler->pass[j] = options->items[i];
    }
    sampler->pass_number = number;
}

static size_t draw(const struct sampler *sampler, struct rng *rng)
{
    double at = (double)rng_next(rng) * 0x1p-64;
    unsigned c = 0;
    while (c + 1 < sampler->options.class_count && at >= sampler->cumulative[c])
        c++;
    size_t first = sampler->class_first[c], count = sampler->class_first[c + 1] - first;
    return sampler->by_class[first + rng_below(rng, (uint32_t)count)];
}

void sampler_epoch(struct sampler *sampler, uint64_t epoch, size_t *items, size_t count)
{
    if (sampler->options.balance > 0 && sampler->options.classes != NULL) {
        struct rng rng = rng_for(sampler->options.seed, STREAM_DRAW, epoch);
        for (size_t i = 0; i < count; i++)
            items[i] = draw(sampler, &rng);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t at = epoch * count + i, number = at / sampler->options.count;
        if (number != sampler->pass_number)
            shuffle(sampler, number);
        items[i] = sampler->pass[at % sampler->options.count];
    }
}

size_t sampler_mate(const struct sampler *sampler, unsigned class, size_t item, uint64_t position)
{
    struct rng rng = rng_for(sampler->options.seed, STREAM_MATE, position);
    const size_t first = sampler->class_first[class];
    const size_t others = sampler->class_first[class + 1] - first - 1;
    const size_t drawn = sampler->by_class[first + rng_below(&rng, (uint32_t)others)];
    return drawn != item ? drawn : sampler->by_class[first + others];
}

double sampler_share(const struct sampler *sampler, unsigned c)
{
    return sampler->cumulative[c] - (c > 0 ? sampler->cumulative[c - 1] : 0);
}
