/* samples.c - see samples.h: reads a data set with a pool of threads, in rounds between which
 * progress is reported. Each thread keeps what it reads in an arena of its own; what an image or a
 * text is made into is samples_image.c's and samples_text.c's, and the view of a masked language
 * model samples_masked.c's. */
#include "learn/data/samples.h"

#include "engine/base/thread_pool.h"
#include "learn/data/samples_form.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_ITEMS = 512, PIXELS_MAX = 1 << 19, PIECES_MAX = 8192, PIECES_LIMIT = 1 << 24 };

/* ---- read ---- */

/* Items first .. end - 1, shared out among the pool in blocks, ascending with the loader. */
struct round {
    struct samples_loader *loaders; /* [pool] */
    const struct dataset *dataset;
    struct sample *items;
    size_t first, end;
};

/* A pool's task. An item that cannot be used has a problem; a failure of the system ends the task.
 */
static void load_block(void *context, unsigned index, unsigned count)
{
    struct round *round = context;
    struct samples_loader *loader = &round->loaders[index];
    const size_t items = round->end - round->first;
    const size_t end = round->first + items * (index + 1) / count;
    for (size_t i = round->first + items * index / count; i < end && !loader->err.code; i++) {
        const struct dataset_item *item = &round->dataset->items[i];
        struct sample *out = &round->items[i];
        struct err err = {0};
        if (loader->samples->spec.family->kind == ENGINE_IMAGE)
            samples_load_image(loader, item, out, &err);
        else
            samples_load_text(loader, item, out, &err);
        if (err.code == ERR_OK && loader->samples->writes)
            samples_load_target(loader, item, out, &err);
        arena_deinit(&loader->scratch);
        if (err_is_of_system(err.code)) {
            err_set(&loader->err, err.code, "%.80s: %s", item->name, err.text);
        } else if (err.code != ERR_OK) {
            *out = (struct sample){.problem = arena_copy(loader->kept, err.text, strlen(err.text))};
            if (out->problem == NULL)
                err_no_memory(&loader->err, strlen(err.text));
        }
    }
}

static enum err_code load_all(struct samples *samples, const struct dataset *dataset,
                              const struct samples_options *options, struct err *err)
{
    const unsigned threads = options->threads;
    const unsigned pieces_max = options->pieces_max != 0 ? options->pieces_max : PIECES_MAX;
    struct thread_pool *pool = NULL;
    struct samples_loader *loaders = calloc(threads, sizeof *loaders);
    struct round round = {.loaders = loaders, .dataset = dataset, .items = samples->items};
    if (loaders == NULL)
        return err_no_memory(err, threads * sizeof *loaders);
    for (unsigned t = 0; t < threads; t++)
        loaders[t] = (struct samples_loader){
            .samples = samples,
            .pixels_max = options->pixels_max != 0 ? options->pixels_max : PIXELS_MAX,
            .pieces_max = pieces_max < PIECES_LIMIT ? pieces_max : PIECES_LIMIT,
            .kept = &samples->arenas[t]};
    if (thread_pool_open(&pool, threads, err))
        goto out;
    while (round.first < samples->count) {
        size_t left = samples->count - round.first;
        round.end = round.first + (left < ROUND_ITEMS ? left : ROUND_ITEMS);
        thread_pool_run(pool, load_block, &round);
        for (unsigned t = 0; t < threads && err->code == ERR_OK; t++)
            if (loaders[t].err.code != ERR_OK)
                err_set(err, loaders[t].err.code, "%s", loaders[t].err.text);
        if (err->code != ERR_OK)
            goto out;
        round.first = round.end;
        if (options->progress != NULL)
            options->progress(options->context, round.end);
    }
out:
    thread_pool_close(pool);
    for (unsigned t = 0; t < threads; t++)
        pictures_close(&loaders[t].pictures);
    free(loaders);
    return err->code;
}

/* ---- open and close ---- */

static enum err_code check_usable(const struct samples *samples, const struct dataset *dataset,
                                  double usable_min, struct err *err)
{
    const char **problems = calloc(samples->count, sizeof *problems);
    if (problems == NULL)
        return err_no_memory(err, samples->count * sizeof *problems);
    for (size_t i = 0; i < samples->count; i++)
        problems[i] = samples->items[i].problem;
    dataset_check_usable(dataset, problems, samples->count, usable_min, err);
    free(problems);
    return err->code;
}

static enum err_code take_stock(struct samples *samples, const struct dataset *dataset,
                                double usable_min, struct err *err)
{
    samples->first_failed = samples->first_misfit = samples->count;
    for (size_t i = samples->count; i-- > 0;) {
        const struct sample *item = &samples->items[i];
        unsigned *longest = item->pair != NULL ? &samples->longest_pair : &samples->longest_pieces;
        const unsigned pieces = item->piece_count + item->pair_count;
        *longest = pieces > *longest ? pieces : *longest;
        samples->misfits += item->misfits;
        if (item->written_count > samples->longest_written)
            samples->longest_written = item->written_count;
        if (item->misfits > 0)
            samples->first_misfit = i;
        if (item->problem == NULL)
            continue;
        samples->first_failed = i;
        samples->failed++;
    }
    return check_usable(samples, dataset, usable_min, err);
}

enum err_code samples_open(struct samples **out, const struct dataset *dataset,
                           const struct spec *spec, const char *dir,
                           const struct samples_options *options, struct err *err)
{
    const enum engine_kind kind = spec->family->kind;
    *out = NULL;
    struct samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL)
        return err_no_memory(err, sizeof *samples);
    samples->spec = *spec;
    samples->spec.labels = NULL;
    samples->spec.version = NULL;
    samples->count = dataset->count;
    samples->tags = options->tags;
    if (dataset->kind != kind) {
        err_set(err, ERR_UNUSABLE, "the model takes %s", kind == ENGINE_IMAGE ? "images" : "texts");
        goto out;
    }
    if (pipeline_open(&samples->pipeline, &samples->spec, dir, err) ||
        (options->writing != NULL && samples_open_writing(samples, dir, options->writing, err)) ||
        (kind == ENGINE_TEXT &&
         dataset_check_pairs(dataset, pipeline_reads_pairs(&samples->pipeline), err)))
        goto out;
    samples->items = calloc(samples->count, sizeof *samples->items);
    samples->arenas = calloc(options->threads, sizeof *samples->arenas);
    if (samples->items == NULL || samples->arenas == NULL) {
        err_no_memory(err, samples->count * sizeof *samples->items);
        goto out;
    }
    samples->arena_count = options->threads;
    if (!load_all(samples, dataset, options, err) &&
        !take_stock(samples, dataset, options->usable_min, err)) {
        *out = samples;
        return ERR_OK;
    }
out:
    samples_close(samples);
    return err->code;
}

void samples_close(struct samples *samples)
{
    if (samples == NULL)
        return;
    for (unsigned i = 0; i < samples->arena_count; i++)
        arena_deinit(&samples->arenas[i]);
    pipeline_close(&samples->pipeline);
    tokenizer_close(samples->target);
    free(samples->arenas);
    free(samples->items);
    free(samples);
}

/* ---- what it holds ---- */

size_t samples_failed(const struct samples *samples, size_t *first)
{
    *first = samples->first_failed;
    return samples->failed;
}

size_t samples_misfits(const struct samples *samples, size_t *first)
{
    *first = samples->first_misfit;
    return samples->misfits;
}

const char *samples_problem(const struct samples *samples, size_t item)
{
    return samples->items[item].problem;
}

uint64_t samples_digest(const struct samples *samples, size_t item)
{
    return samples->items[item].digest;
}

struct contrast_count samples_contrast(const struct samples *samples)
{
    struct contrast_count count = {0};
    bool is_image = samples->spec.family->kind == ENGINE_IMAGE;
    for (size_t i = 0; i < samples->count && is_image; i++)
        if (samples->items[i].problem == NULL)
            contrast_count_add(&count, &samples->items[i].contrast);
    return count;
}

enum err_code samples_check_windows(const struct samples *samples, const struct samples_view *view,
                                    struct err *err)
{
    struct windows_shape shape;
    if (samples->spec.family->kind == ENGINE_IMAGE || view->windows == 0)
        return ERR_OK;
    return windows_shape_make(&shape, samples_room(samples, view->tokens_max), view->window_stride,
                              err);
}

unsigned samples_tokens_max(const struct samples *samples, const struct samples_view *view)
{
    if (samples->spec.family->kind == ENGINE_IMAGE)
        return samples_patches(samples, view) + spec_image_specials(&samples->spec);
    if (samples->writes)
        return samples->longest_pieces;
    const struct windows_shape shape = samples_windows_shape(samples, view);
    const unsigned all = windows_count(&shape, samples->longest_pieces);
    const unsigned most = view->windows > 0 ? view->windows : 1;
    const unsigned single = samples->longest_pieces <= shape.room
                                ? samples->longest_pieces + 2
                                : (all < most ? all : most) * (shape.room + 2);
    const unsigned pair = samples_pair_tokens(samples, view);
    return pair > single ? pair : single;
}

enum err_code samples_input(const struct samples *samples, size_t item,
                            const struct samples_view *view, struct rng *rng, struct arena *arena,
                            struct engine_input *out, struct err *err)
{
    const struct sample *sample = &samples->items[item];
    if (sample->problem != NULL)
        return err_set(err, ERR_UNUSABLE, "%s", sample->problem);
    if (samples->spec.family->kind == ENGINE_IMAGE)
        return samples_prepare_image(samples, sample, view, rng, arena, out, err);
    return samples_prepare_text(samples, sample, view, rng, arena, out, NULL, err);
}
