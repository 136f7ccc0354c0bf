/* learner.c - see learner.h. If the image size or the frozen depth changes, the network is closed
 * and another is opened over the same values: changes are rare, and a network's memory is laid out
 * for one shape. */
#include "learn/train/loop/learner.h"

#include "engine/base/pages.h"
#include "engine/base/rng.h"
#include "engine/tensor/backward/backward.h"
#include "learn/train/network/rng_streams.h"
#include "learn/train/network/structured.h"

#include <stdlib.h>
#include <string.h>

/* ---- open ---- */

static enum err_code open_network(struct learner *learner, struct err *err)
{
    if (network_open(&learner->network, &learner->parameters, &learner->setup.network, err))
        return err->code;
    network_repack(learner->network, learner->parameters.values);
    return ERR_OK;
}

static enum err_code alloc_best(struct learner *learner, struct err *err)
{
    size_t bytes = learner->parameters.numbers * sizeof(float);
    free(learner->best);
    learner->best = pages_alloc(bytes);
    if (learner->best == NULL)
        return err_no_memory(err, bytes);
    memcpy(learner->best, learner->parameters.values, bytes);
    return ERR_OK;
}

static enum err_code open_parameters(struct learner *learner, struct err *err)
{
    const struct learner_setup *setup = &learner->setup;
    if (setup->target != NULL)
        return parameters_open_pair(&learner->parameters, &setup->spec, setup->target, err);
    return parameters_open(&learner->parameters, &setup->spec, setup->head, err);
}

enum err_code learner_open(struct learner *out, const struct learner_setup *setup,
                           const struct checkpoint *checkpoint, struct err *err)
{
    *out = (struct learner){.setup = *setup};
    if (open_parameters(out, err))
        return err->code;
    if (setup->structured)
        structured_init(&out->parameters, setup->seed);
    else
        parameters_init(&out->parameters, setup->seed);
    if ((checkpoint != NULL && parameters_load(&out->parameters, checkpoint, &out->loaded, err)) ||
        optimizer_open(&out->optimizer, &out->parameters, &setup->optimizer, err) ||
        alloc_best(out, err))
        return err->code;
    return open_network(out, err);
}

void learner_close(struct learner *learner)
{
    network_close(learner->network);
    optimizer_close(&learner->optimizer);
    parameters_close(&learner->parameters);
    free(learner->best);
    free(learner->dlogits);
    *learner = (struct learner){0};
}

/* ---- other shapes ---- */

enum err_code learner_freeze(struct learner *learner, unsigned frozen_depth, struct err *err)
{
    if (learner->setup.network.frozen_depth == frozen_depth)
        return ERR_OK;
    learner->setup.network.frozen_depth = frozen_depth;
    network_close(learner->network);
    learner->network = NULL;
    return open_network(learner, err);
}

/* Resets the moments of the position embeddings, the first to 0 and the second to its mean. Second
 * moments must stay positive, which interpolation does not guarantee. */
static void restart_moments(const struct parameters *from, const float *v,
                            const struct parameters *to, struct optimizer *optimizer)
{
    for (unsigned i = 0; i < to->count; i++) {
        const struct parameter *source = &from->list[i], *target = &to->list[i];
        double sum = 0;
        if (target->offset != to->map.position)
            continue;
        for (size_t k = 0; k < source->row.count; k++)
            sum += v[source->offset + k];
        for (size_t k = 0; k < target->row.count; k++) {
            optimizer->m[target->offset + k] = 0;
            optimizer->v[target->offset + k] = (float)(sum / (double)source->row.count);
        }
    }
}

/* Converts every array that has the parameters' shape to the new shape. */
static enum err_code move_arrays(const struct learner *from, struct learner *to, struct err *err)
{
    const struct optimizer *old = &from->optimizer;
    struct optimizer *new = &to->optimizer;
    const struct parameters *list = &from->parameters;
    if (parameters_resize(list, list->values, &to->parameters, to->parameters.values, err) ||
        optimizer_open(new, &to->parameters, &to->setup.optimizer, err) || alloc_best(to, err) ||
        parameters_resize(list, old->m, &to->parameters, new->m, err) ||
        parameters_resize(list, old->v, &to->parameters, new->v, err) ||
        parameters_resize(list, from->best, &to->parameters, to->best, err))
        return err->code;
    restart_moments(list, old->v, &to->parameters, new);
    new->steps = old->steps;
    if (old->average != NULL)
        parameters_resize(list, old->average, &to->parameters, new->average, err);
    return err->code;
}

enum err_code learner_resize(struct learner *learner, unsigned image_size, struct err *err)
{
    struct learner resized = {.setup = learner->setup, .loaded = learner->loaded};
    struct spec *spec = &resized.setup.spec;
    if (extent_equals(spec->image_size, extent_square(image_size)))
        return ERR_OK;
    spec_set_image_size(spec, extent_square(image_size));
    if (open_parameters(&resized, err) || move_arrays(learner, &resized, err)) {
        learner_close(&resized);
        return err->code;
    }
    learner_close(learner);
    *learner = resized;
    learner->optimizer.parameters = &learner->parameters;
    return open_network(learner, err);
}

/* ---- a batch ---- */

static enum err_code reserve(struct learner *learner, size_t numbers, struct err *err)
{
    if (numbers <= learner->dlogits_numbers)
        return ERR_OK;
    free(learner->dlogits);
    learner->dlogits_numbers = 0;
    learner->dlogits = pages_alloc(numbers * sizeof(float));
    if (learner->dlogits == NULL)
        return err_no_memory(err, numbers * sizeof(float));
    learner->dlogits_numbers = numbers;
    return ERR_OK;
}

/* A pool's task: the losses of masked words, of tags, or of a piece of texts to write. */
struct word_run {
    struct thread_pool *pool;
    float *logits; /* [count, words], turned into gradients */
    const int32_t *ids;
    double *losses;
    unsigned char *hits;
    size_t words;
    unsigned count;
    float smoothing, share;
};

static void judge_word_share(void *context, unsigned index, unsigned count)
{
    const struct word_run *run = context;
    for (unsigned i = index; i < run->count; i += count) {
        float *logits = run->logits + i * run->words;
        const size_t word = (size_t)run->ids[i];
        size_t k = 0;
        while (k < run->words && !(logits[k] > logits[word]))
            k++;
        run->hits[i] = k == run->words; /* no logit is larger */
        run->losses[i] = loss_word(logits, run->words, word, run->smoothing, run->share);
    }
}

/* The masked words, or the tags, of a micro-batch: their tokens in it, and their ids. */
struct word_list {
    unsigned *places;
    int32_t *ids;
    unsigned count;
};

static enum err_code list_words(const struct data_loader *loader,
                                const struct data_loader_part *part, struct arena *arena,
                                struct word_list *out, struct err *err)
{
    unsigned first = 0;
    *out = (struct word_list){0};
    out->places = arena_alloc_array(arena, part->tokens, sizeof *out->places);
    out->ids = arena_alloc_array(arena, part->tokens, sizeof *out->ids);
    if (out->places == NULL || out->ids == NULL)
        return err_no_memory(err, part->tokens * sizeof *out->ids);
    for (unsigned row = part->first; row < part->first + part->rows; row++) {
        const struct samples_targets *targets = &loader->targets[row];
        for (unsigned i = 0; i < targets->count; i++) {
            out->places[out->count] = first + targets->places[i];
            out->ids[out->count++] = targets->ids[i];
        }
        first += loader->inputs[row].tokens;
    }
    return ERR_OK;
}

/* Words of the vocabulary, or tags. */
static size_t words_of(const struct learner *learner)
{
    const struct spec *spec = &learner->setup.spec;
    return learner->setup.head == HEAD_MLM ? spec->vocab_size : spec->label_count;
}

/* Runs the forward pass and the loss for a list of words; dlogits then holds the gradients. */
static enum err_code run_words(struct learner *learner, const struct network_batch *batch,
                               const struct word_list *list, float share, struct arena *arena,
                               double *loss, size_t *hits, struct err *err)
{
    const size_t words = words_of(learner);
    struct word_run run = {.ids = list->ids, .words = words, .count = list->count, .share = share};
    run.losses = arena_alloc_array(arena, list->count, sizeof *run.losses);
    run.hits = arena_alloc_array(arena, list->count, sizeof *run.hits);
    if (run.losses == NULL || run.hits == NULL)
        return err_no_memory(err, list->count * sizeof *run.losses);
    if (reserve(learner, list->count * words, err))
        return err->code;
    network_forward(learner->network, batch);
    memcpy(learner->dlogits, network_logits(learner->network),
           list->count * words * sizeof *run.logits);
    run.logits = learner->dlogits;
    thread_pool_run(network_pool(learner->network), judge_word_share, &run);
    for (unsigned i = 0; i < list->count; i++) {
        *loss += run.losses[i];
        *hits += run.hits[i];
    }
    return ERR_OK;
}

static struct network_batch batch_of(const struct data_loader *loader,
                                     const struct data_loader_part *part)
{
    return (struct network_batch){.inputs = loader->listed + part->first, .rows = part->rows};
}

/* One micro-batch of masked words or tags, with gradients. */
static enum err_code learn_words(struct learner *learner, const struct data_loader *loader,
                                 const struct data_loader_part *part, uint64_t dropout, float share,
                                 double *sum, struct err *err)
{
    struct word_list list;
    struct arena arena;
    size_t hits = 0;
    arena_init(&arena);
    if (!list_words(loader, part, &arena, &list, err) && list.count > 0) {
        struct network_batch batch = batch_of(loader, part);
        batch.kept = list.places;
        batch.kept_count = list.count;
        batch.training = true;
        batch.dropout = dropout;
        if (!run_words(learner, &batch, &list, share, &arena, sum, &hits, err))
            network_backward(learner->network, learner->dlogits, 1);
    }
    arena_deinit(&arena);
    return err->code;
}

/* ---- texts to write ---- */

/* Judges a piece of the logits of texts, whose words follow each other in `ids`. */
static void judge_piece(void *context, float *logits, size_t first, size_t count)
{
    const struct word_run *all = context;
    struct word_run piece = *all;
    piece.logits = logits;
    piece.ids += first;
    piece.losses += first;
    piece.hits += first;
    piece.count = (unsigned)count;
    thread_pool_run(all->pool, judge_word_share, &piece);
}

/* Runs both sides for a micro-batch of texts, with gradients if `batch` is of training. */
static enum err_code run_texts(struct learner *learner, const struct data_loader *loader,
                               const struct data_loader_part *part, struct network_batch *batch,
                               struct word_run *run, double *sum, size_t *hits, struct err *err)
{
    struct arena arena;
    size_t count = 0;
    arena_init(&arena);
    for (unsigned row = part->first; row < part->first + part->rows; row++)
        count += loader->targets[row].count;
    int32_t *ids = arena_alloc_array(&arena, count, sizeof *ids), *end = ids;
    run->losses = arena_alloc_array(&arena, count, sizeof *run->losses);
    run->hits = arena_alloc_array(&arena, count, sizeof *run->hits);
    if (ids == NULL || run->losses == NULL || run->hits == NULL) {
        err_no_memory(err, count * sizeof *run->losses);
        goto out;
    }
    for (unsigned row = part->first; row < part->first + part->rows; row++) {
        const struct samples_targets *targets = &loader->targets[row];
        memcpy(end, targets->ids, targets->count * sizeof *ids);
        end += targets->count;
    }
    run->pool = network_pool(learner->network);
    run->words = learner->setup.target->vocab_size;
    run->ids = ids;
    batch->targets = loader->listed_read + part->first;
    network_forward(learner->network, batch);
    network_words(learner->network, &(struct network_judge){judge_piece, run}, batch->training);
    if (batch->training)
        network_backward(learner->network, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        *sum += run->losses[i];
        *hits += run->hits[i];
    }
out:
    arena_deinit(&arena);
    return err->code;
}

static enum err_code learn_texts(struct learner *learner, const struct data_loader *loader,
                                 const struct data_loader_part *part, const struct loss *loss,
                                 uint64_t dropout, float share, double *sum, struct err *err)
{
    struct network_batch batch = batch_of(loader, part);
    struct word_run run = {.smoothing = loss->smoothing, .share = share};
    size_t hits = 0;
    batch.training = true;
    batch.dropout = dropout;
    return run_texts(learner, loader, part, &batch, &run, sum, &hits, err);
}

/* ---- rows ---- */

static enum err_code learn_rows(struct learner *learner, const struct data_loader *loader,
                                const struct data_loader_part *part, const struct loss *loss,
                                const struct learner_targets *targets, uint64_t dropout,
                                double *sum, struct err *err)
{
    float share = 1 / (float)loader->rows;
    size_t labels = loss->labels;
    double own = 0;
    struct network_batch batch = batch_of(loader, part);
    batch.training = true;
    batch.dropout = dropout;
    if (reserve(learner, part->rows * labels, err))
        return err->code;
    network_forward(learner->network, &batch);
    const float *logits = network_logits(learner->network);
    for (size_t r = 0; r < part->rows; r++) {
        size_t row = part->first + r;
        const float *teacher = targets->teacher != NULL ? targets->teacher + row * labels : NULL;
        own += loss_run(loss, logits + r * labels, targets->rows[row], teacher, share,
                        learner->dlogits + r * labels);
    }
    *sum += own;
    network_backward(learner->network, learner->dlogits, share * (float)part->rows);
    return ERR_OK;
}

enum err_code learner_batch(struct learner *learner, const struct data_loader *loader,
                            const struct loss *loss, const struct learner_targets *targets,
                            uint64_t position, double *value, struct err *err)
{
    const bool writes = learner->setup.target != NULL;
    const bool of_tokens =
        learner->setup.head == HEAD_MLM || learner->setup.head == HEAD_TAGS || writes;
    size_t judged = of_tokens ? 0 : loader->rows;
    struct data_loader_part part;
    double sum = 0;
    for (unsigned row = 0; of_tokens && row < loader->rows; row++)
        judged += loader->targets[row].count;
    for (unsigned at = 0;
         data_loader_next(loader, &at, learner->setup.network.tokens_max, &part);) {
        struct rng rng = rng_for(learner->setup.seed, STREAM_DROPOUT, position + part.first);
        uint64_t dropout = rng_next(&rng);
        if (writes)
            learn_texts(learner, loader, &part, loss, dropout, 1 / (float)judged, &sum, err);
        else if (of_tokens)
            learn_words(learner, loader, &part, dropout, 1 / (float)judged, &sum, err);
        else
            learn_rows(learner, loader, &part, loss, targets, dropout, &sum, err);
        if (err->code != ERR_OK)
            return err->code;
    }
    *value = judged > 0 ? sum / (double)judged : 0;
    return ERR_OK;
}

enum err_code learner_pairs(struct learner *learner, const struct data_loader *loader,
                            const unsigned *groups, double scale, uint64_t position, double *value,
                            struct err *err)
{
    const size_t width = parameters_outputs(&learner->setup.spec, learner->setup.head);
    const unsigned rows = loader->rows, tokens_max = learner->setup.network.tokens_max;
    struct data_loader_part part;
    if (reserve(learner, 2 * rows * width, err))
        return err->code;
    float *vectors = learner->dlogits, *dvectors = vectors + rows * width;
    const struct ranking_pairs pairs = {
        .vectors = vectors, .groups = groups, .count = rows / 2, .width = width, .scale = scale};
    double *scratch = calloc(ranking_loss_scratch(&pairs) + 1, sizeof *scratch);
    if (scratch == NULL)
        return err_no_memory(err, ranking_loss_scratch(&pairs) * sizeof *scratch);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned at = 0; data_loader_next(loader, &at, tokens_max, &part);) {
            struct rng rng = rng_for(learner->setup.seed, STREAM_DROPOUT, position + part.first);
            struct network_batch batch = batch_of(loader, &part);
            batch.training = true;
            batch.dropout = rng_next(&rng);
            if (pass == 0 || part.rows < rows)
                network_forward(learner->network, &batch);
            if (pass == 0)
                memcpy(vectors + part.first * width, network_logits(learner->network),
                       part.rows * width * sizeof *vectors);
            else
                network_backward(learner->network, dvectors + part.first * width,
                                 (float)part.rows / (float)rows);
        }
        if (pass == 0)
            *value = ranking_loss(&pairs, dvectors, scratch, NULL);
    }
    free(scratch);
    return ERR_OK;
}

struct optimizer_report learner_step(struct learner *learner, float rate)
{
    struct network *network = learner->network;
    struct optimizer_report report =
        optimizer_step(&learner->optimizer, network_pool(network), network_gradient(network), rate,
                       learner->setup.network.frozen_depth);
    network_repack(network, learner->parameters.values);
    return report;
}

/* best and the moving average = the weights. */
static void restart_copies(struct learner *learner)
{
    size_t bytes = learner->parameters.numbers * sizeof(float);
    memcpy(learner->best, learner->parameters.values, bytes);
    if (learner->optimizer.average != NULL)
        memcpy(learner->optimizer.average, learner->parameters.values, bytes);
}

void learner_sharpen(struct learner *learner, const struct data_loader *loader)
{
    struct data_loader_part part;
    unsigned at = 0;
    if (!data_loader_next(loader, &at, learner->setup.network.tokens_max, &part))
        return;
    struct network_batch batch = batch_of(loader, &part);
    structured_sharpen(&learner->parameters, learner->network, &batch);
    restart_copies(learner);
}

void learner_renew(struct learner *learner)
{
    restart_copies(learner);
    network_repack(learner->network, learner->parameters.values);
}

/* ---- judging ---- */

void learner_pause(struct learner *learner)
{
    network_repack(learner->network, optimizer_best(&learner->optimizer));
}

void learner_resume(struct learner *learner)
{
    network_repack(learner->network, learner->parameters.values);
}

void learner_logits(struct learner *learner, const struct data_loader *loader, float *logits)
{
    size_t labels = parameters_outputs(&learner->setup.spec, learner->setup.head);
    struct data_loader_part part;
    for (unsigned at = 0;
         data_loader_next(loader, &at, learner->setup.network.tokens_max, &part);) {
        struct network_batch batch = batch_of(loader, &part);
        network_forward(learner->network, &batch);
        memcpy(logits + part.first * labels, network_logits(learner->network),
               part.rows * labels * sizeof *logits);
    }
}

enum err_code learner_words(struct learner *learner, const struct data_loader *loader, double *loss,
                            size_t *words, size_t *hits, float *logits, struct err *err)
{
    struct data_loader_part part;
    for (unsigned at = 0;
         data_loader_next(loader, &at, learner->setup.network.tokens_max, &part);) {
        struct word_list list;
        struct arena arena;
        arena_init(&arena);
        if (!list_words(loader, &part, &arena, &list, err) && list.count > 0) {
            struct network_batch batch = batch_of(loader, &part);
            batch.kept = list.places;
            batch.kept_count = list.count;
            run_words(learner, &batch, &list, 0, &arena, loss, hits, err);
            *words += list.count;
            if (logits != NULL && err->code == ERR_OK) {
                const size_t numbers = list.count * words_of(learner);
                memcpy(logits, network_logits(learner->network), numbers * sizeof *logits);
                logits += numbers;
            }
        }
        arena_deinit(&arena);
        if (err->code != ERR_OK)
            return err->code;
    }
    return ERR_OK;
}

enum err_code learner_texts(struct learner *learner, const struct data_loader *loader,
                            const struct loss *loss, double *sum, size_t *words, size_t *hits,
                            struct err *err)
{
    struct data_loader_part part;
    for (unsigned at = 0;
         data_loader_next(loader, &at, learner->setup.network.tokens_max, &part);) {
        struct network_batch batch = batch_of(loader, &part);
        struct word_run run = {.smoothing = loss->smoothing};
        if (run_texts(learner, loader, &part, &batch, &run, sum, hits, err))
            return err->code;
        for (unsigned row = part.first; row < part.first + part.rows; row++)
            *words += loader->targets[row].count;
    }
    return ERR_OK;
}

void learner_keep(struct learner *learner)
{
    memcpy(learner->best, optimizer_best(&learner->optimizer),
           learner->parameters.numbers * sizeof *learner->best);
}
