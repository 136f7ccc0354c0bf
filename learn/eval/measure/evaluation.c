/* evaluation.c - see evaluation.h. The data set goes by in chunks: all threads prepare the items of
 * a chunk (decoding and resizing images costs a few percent of running them), then one session with
 * all threads runs them in packed batches. Memory is bounded by a chunk, whatever the data set. */
#include "learn/eval/measure/evaluation.h"

#include "engine/base/clock.h"
#include "engine/base/thread_pool.h"
#include "engine/decide/argmax.h"
#include "engine/decide/class_prior.h"
#include "learn/data/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_ITEMS = 64, BATCH_TOKENS = 256, PIXELS_MAX = 64 * 1024 * 1024 };

/* Items first .. first + count - 1, prepared; each has an arena, so that any thread may fill it. */
struct chunk {
    const struct engine_model *model;
    const struct dataset *dataset;
    size_t first;
    unsigned count;
    const struct engine_writing *writing;
    struct pictures *pictures; /* [pool] */
    uint64_t *digests;         /* of all items */
    unsigned *sizes;           /* likewise */
    struct contrast contrasts[CHUNK_ITEMS];
    struct engine_input inputs[CHUNK_ITEMS];
    struct arena arenas[CHUNK_ITEMS];
    struct err errs[CHUNK_ITEMS];
};

/* The state of a run. */
struct runner {
    struct evaluation *out;
    struct engine_session *session;
    struct thread_pool *pool;
    unsigned tokens_max; /* of a batch */
    const struct evaluation_options *options;
    struct chunk chunk;
};

/* ---- prepare ---- */

enum err_code evaluation_prepare(const struct engine_model *model, const struct dataset *dataset,
                                 size_t item, const struct engine_writing *writing,
                                 struct pictures *pictures, struct arena *arena,
                                 struct engine_input *out, struct err *err)
{
    const struct dataset_item *from = &dataset->items[item];
    if (dataset->kind == ENGINE_TEXT) {
        const struct engine_source text = {.kind = ENGINE_TEXT,
                                           .bytes = from->input,
                                           .len = from->input_len,
                                           .pair = from->pair,
                                           .pair_len = from->pair_len,
                                           .writing = writing};
        return engine_prepare(model, &text, NULL, arena, out, err);
    }
    const struct image_options options = {.pixels_max = PIXELS_MAX,
                                          .grey16_minmax = engine_describe(model)->grey16_minmax};
    struct image image;
    struct arena scratch;
    const struct engine_source source = {.kind = ENGINE_IMAGE, .image = &image, .writing = writing};
    arena_init(&scratch);
    if (!picture_read(pictures, from->input, &options, &scratch, &image, err))
        engine_prepare(model, &source, NULL, arena, out, err);
    arena_deinit(&scratch);
    return err->code;
}

/* A pool's task. Each member keeps open the STDF file that it read last. */
static void prepare_items(void *context, unsigned index, unsigned count)
{
    struct chunk *chunk = context;
    struct pictures *pictures = &chunk->pictures[index];
    for (unsigned i = index; i < chunk->count; i += count) {
        const struct dataset_item *item = &chunk->dataset->items[chunk->first + i];
        bool is_text = chunk->dataset->kind == ENGINE_TEXT;
        pictures->digest = 0;
        pictures->side = 0;
        evaluation_prepare(chunk->model, chunk->dataset, chunk->first + i, chunk->writing, pictures,
                           &chunk->arenas[i], &chunk->inputs[i], &chunk->errs[i]);
        chunk->digests[chunk->first + i] =
            is_text ? digest_of_pair(item->input, item->input_len, item->pair, item->pair_len)
                    : pictures->digest;
        chunk->sizes[chunk->first + i] = is_text ? chunk->inputs[i].tokens : pictures->side;
        chunk->contrasts[i] = pictures->contrast;
    }
}

/* ---- run ---- */

static enum err_code note_problem(struct evaluation *out, size_t item, const char *text,
                                  struct err *err)
{
    out->problems[item] = arena_copy(&out->arena, text, strlen(text));
    out->failed++;
    return out->problems[item] != NULL ? ERR_OK : err_no_memory(err, strlen(text));
}

static float *row_of(const struct evaluation *evaluation, size_t item)
{
    return evaluation->logits + item * evaluation->label_count;
}

/* Passes on the answers of a model of tags, or one that writes; those that are not finite are the
 * item's problem. */
static enum err_code pass_on(struct runner *runner, unsigned place, struct engine_result *result,
                             struct err *err)
{
    const struct evaluation_options *options = runner->options;
    struct chunk *chunk = &runner->chunk;
    if (!result->is_finite)
        err_set(&chunk->errs[place], ERR_UNUSABLE, "the logits are not finite");
    else if (result->writer != NULL && engine_result_texts(result, &chunk->arenas[place], err))
        return err->code;
    else if (options->answered != NULL)
        options->answered(options->answered_context, chunk->first + place, &chunk->inputs[place],
                          result, err);
    return err->code;
}

/* Packs prepared items from *at on into one batch and runs it. */
static enum err_code run_batch(struct runner *runner, unsigned *at, struct err *err)
{
    struct chunk *chunk = &runner->chunk;
    struct evaluation *out = runner->out;
    const size_t width = out->feature_size;
    const struct engine_input *inputs[CHUNK_ITEMS];
    struct engine_result results[CHUNK_ITEMS] = {0}, *listed[CHUNK_ITEMS];
    size_t items[CHUNK_ITEMS];
    const struct engine_info *info = engine_describe(chunk->model);
    const bool answers_tokens = info->row_size > 0 || info->task == ENGINE_GENERATE;
    unsigned rows = 0, tokens = 0;
    for (; *at < chunk->count; ++*at) {
        const struct engine_input *input = &chunk->inputs[*at];
        if (chunk->errs[*at].code != ERR_OK)
            continue;
        if (rows > 0 && tokens + input->tokens > runner->tokens_max)
            break; /* but a text in windows, run in several passes, may be longer */
        items[rows] = chunk->first + *at;
        if (answers_tokens &&
            engine_result_rows(&results[rows], chunk->model, input, &chunk->arenas[*at], err))
            return err->code;
        if (answers_tokens)
            results[rows].logits = NULL;
        else if (out->vector_size > 0)
            results[rows].vector = out->vectors + items[rows] * out->vector_size;
        else
            results[rows].logits = row_of(out, items[rows]);
        listed[rows] = &results[rows];
        out->truncated[chunk->first + *at] = input->truncated;
        out->coloured[chunk->first + *at] = input->coloured;
        inputs[rows++] = input;
        tokens += input->tokens;
    }
    if (rows > 0)
        engine_run(runner->session, inputs, rows, listed);
    for (unsigned r = 0; r < rows && out->features != NULL; r++)
        memcpy(out->features + items[r] * width, results[r].features,
               width * sizeof *out->features);
    for (unsigned r = 0; r < rows && answers_tokens; r++)
        if (pass_on(runner, (unsigned)(items[r] - chunk->first), &results[r], err))
            return err->code;
    return ERR_OK;
}

static bool is_finite(const float *logits, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!isfinite(logits[i]))
            return false;
    return true;
}

/* A failure of the system is not the item's: another run may be able to use it. */
static enum err_code note_failures(struct runner *runner, struct err *err)
{
    const struct chunk *chunk = &runner->chunk;
    struct evaluation *out = runner->out;
    const size_t width = out->feature_size;
    for (unsigned i = 0; i < chunk->count && err->code == ERR_OK; i++) {
        const size_t item = chunk->first + i;
        const struct err *cause = &chunk->errs[i];
        if (err_is_of_system(cause->code)) {
            err_set(err, cause->code, "%.80s: %s", chunk->dataset->items[item].name, cause->text);
        } else if (cause->code != ERR_OK) {
            note_problem(out, item, cause->text, err);
        } else if (!is_finite(row_of(out, item), out->label_count)) {
            memset(row_of(out, item), 0, out->label_count * sizeof *out->logits);
            if (out->features != NULL)
                memset(out->features + item * width, 0, width * sizeof *out->features);
            note_problem(out, item, "the logits are not finite", err);
        } else if (!is_finite(out->vectors + item * out->vector_size, out->vector_size)) {
            memset(out->vectors + item * out->vector_size, 0,
                   out->vector_size * sizeof *out->vectors);
            note_problem(out, item, "the vector is not finite", err);
        }
    }
    return err->code;
}

static enum err_code run_chunk(struct runner *runner, size_t first,
                               const struct evaluation_options *options, struct err *err)
{
    struct chunk *chunk = &runner->chunk;
    size_t left = chunk->dataset->count - first;
    chunk->first = first;
    chunk->count = left < CHUNK_ITEMS ? (unsigned)left : CHUNK_ITEMS;
    thread_pool_run(runner->pool, prepare_items, chunk);
    for (unsigned at = 0; at < chunk->count && err->code == ERR_OK;) {
        run_batch(runner, &at, err);
        if (options->progress != NULL)
            options->progress(options->context, first + at);
    }
    for (unsigned i = 0; i < chunk->count && chunk->dataset->kind == ENGINE_IMAGE; i++)
        if (chunk->errs[i].code == ERR_OK)
            contrast_count_add(&runner->out->contrast, &chunk->contrasts[i]);
    if (err->code == ERR_OK)
        note_failures(runner, err);
    for (unsigned i = 0; i < chunk->count; i++) {
        arena_deinit(&chunk->arenas[i]);
        chunk->errs[i] = (struct err){0};
    }
    return err->code;
}

/* ---- open and close ---- */

static enum err_code open_result(struct evaluation *out, const struct engine_model *model,
                                 const struct dataset *dataset, bool features, struct err *err)
{
    size_t count = dataset->count;
    unsigned labels = engine_describe(model)->label_count;
    unsigned width = engine_describe(model)->feature_size;
    const size_t vector = engine_describe(model)->vector_size;
    *out = (struct evaluation){.count = count,
                               .label_count = labels,
                               .vector_size = (unsigned)vector,
                               .feature_size = width};
    arena_init(&out->arena);
    out->problems = arena_alloc_array(&out->arena, count, sizeof *out->problems);
    out->truncated = arena_alloc_array(&out->arena, count, sizeof *out->truncated);
    out->coloured = arena_alloc_array(&out->arena, count, sizeof *out->coloured);
    out->logits = arena_alloc_array(&out->arena, count, labels * sizeof *out->logits);
    out->vectors = arena_alloc_array(&out->arena, count, vector * sizeof *out->vectors);
    out->digests = arena_alloc_array(&out->arena, count, sizeof *out->digests);
    out->sizes = arena_alloc_array(&out->arena, count, sizeof *out->sizes);
    if (features)
        out->features = arena_alloc_array(&out->arena, count, width * sizeof *out->features);
    return out->arena.failed
               ? err_no_memory(err, count * (labels + vector + width) * sizeof *out->logits)
               : ERR_OK;
}

static enum err_code run_all(struct evaluation *out, const struct engine_model *model,
                             const struct dataset *dataset,
                             const struct evaluation_options *options, struct err *err)
{
    const unsigned longest = engine_describe(model)->tokens_max, threads = options->threads;
    struct runner *runner = calloc(1, sizeof *runner);
    struct pictures *pictures = calloc(threads, sizeof *pictures);
    if (runner == NULL || pictures == NULL) {
        err_no_memory(err, sizeof *runner + threads * sizeof *pictures);
        goto out;
    }
    runner->out = out;
    runner->options = options;
    runner->tokens_max = longest > BATCH_TOKENS ? longest : BATCH_TOKENS;
    runner->chunk.model = model;
    runner->chunk.dataset = dataset;
    runner->chunk.writing = options->writing;
    runner->chunk.pictures = pictures;
    runner->chunk.digests = out->digests;
    runner->chunk.sizes = out->sizes;
    if (engine_session_open(&runner->session, model, runner->tokens_max, threads, err) ||
        thread_pool_open(&runner->pool, threads, err))
        goto out;
    if (out->features != NULL)
        engine_session_take_means(runner->session);
    uint64_t start = clock_now_ns();
    for (size_t first = 0; first < dataset->count && err->code == ERR_OK; first += CHUNK_ITEMS) {
        const double usable = (double)(out->count - out->failed);
        if (usable < options->usable_min * (double)out->count)
            dataset_check_usable(dataset, out->problems, first, options->usable_min, err);
        else
            run_chunk(runner, first, options, err);
    }
    out->seconds = clock_ms_between(start, clock_now_ns()) / 1e3;
out:
    for (unsigned t = 0; pictures != NULL && t < threads; t++)
        pictures_close(&pictures[t]);
    free(pictures);
    if (runner != NULL) {
        thread_pool_close(runner->pool);
        engine_session_close(runner->session);
    }
    free(runner);
    return err->code;
}

enum err_code evaluation_run(struct evaluation *out, const struct engine_model *model,
                             const struct dataset *dataset,
                             const struct evaluation_options *options, struct err *err)
{
    if (open_result(out, model, dataset, options->features, err) ||
        dataset_check_pairs(dataset, engine_describe(model)->reads_pairs, err) ||
        run_all(out, model, dataset, options, err))
        return err->code;
    if (dataset_check_usable(dataset, out->problems, out->count, options->usable_min, err))
        return err->code;
    const struct engine_info *info = engine_describe(model);
    return evaluation_shift(out, info->class_prior->shifts, info->temperature, err);
}

void evaluation_close(struct evaluation *evaluation)
{
    free(evaluation->shifted);
    arena_deinit(&evaluation->arena);
    *evaluation = (struct evaluation){0};
}

/* ---- the result ---- */

enum err_code evaluation_shift(struct evaluation *evaluation, const float *shifts,
                               double temperature, struct err *err)
{
    const size_t labels = evaluation->label_count, numbers = evaluation->count * labels;
    free(evaluation->shifted);
    evaluation->shifted = NULL;
    if (shifts == NULL)
        return ERR_OK;
    evaluation->shifted = calloc(numbers + 1, sizeof *evaluation->shifted);
    if (evaluation->shifted == NULL)
        return err_no_memory(err, numbers * sizeof *evaluation->shifted);
    for (size_t i = 0; i < numbers; i++)
        evaluation->shifted[i] =
            (float)((double)evaluation->logits[i] + temperature * (double)shifts[i % labels]);
    return ERR_OK;
}

const float *evaluation_answers(const struct evaluation *evaluation)
{
    return evaluation->shifted != NULL ? evaluation->shifted : evaluation->logits;
}

const float *evaluation_logits(const struct evaluation *evaluation, size_t item)
{
    return row_of(evaluation, item);
}

unsigned evaluation_argmax(const struct evaluation *evaluation, size_t item)
{
    const unsigned labels = evaluation->label_count;
    return argmax(evaluation_answers(evaluation) + item * labels, labels);
}

const float *evaluation_features(const struct evaluation *evaluation, size_t item)
{
    return evaluation->features + item * evaluation->feature_size;
}

enum input_doubt evaluation_doubt(const struct evaluation *evaluation, size_t item)
{
    if (evaluation->truncated[item])
        return DOUBT_TRUNCATED;
    return evaluation->coloured != NULL && evaluation->coloured[item] ? DOUBT_COLOURED : DOUBT_NONE;
}

void evaluation_judge(const struct evaluation *evaluation, const struct engine_model *model,
                      size_t item, float *scores, struct judgement *out)
{
    struct engine_result result = {.scores = scores,
                                   .features = evaluation_features(evaluation, item)};
    engine_conclude(model, evaluation_logits(evaluation, item),
                    evaluation->ood != NULL ? &evaluation->ood[item] : NULL,
                    evaluation_doubt(evaluation, item), &result);
    *out = result.judgement;
}

enum err_code evaluation_measure(const struct evaluation *evaluation, const unsigned *classes,
                                 struct confusion *out, struct err *err)
{
    if (confusion_open(out, evaluation->label_count, err))
        return err->code;
    for (size_t i = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] == NULL)
            confusion_add(out, classes[i], evaluation_argmax(evaluation, i));
    confusion_finish(out);
    return ERR_OK;
}
