#include "learn/train/loop/run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a checkpoint ---- */

static enum err_code open_model(struct teacher *teacher, const char *dir,
                                const struct teachers_setup *setup, struct err *err)
{
    const struct corpus *corpus = setup->corpus;
    const struct engine_options options = {
        .instead = "a teacher gives scores of the labels that are learnt"};
    if (engine_open(&teacher->model, dir, &options, err))
        return err->code;
    const struct engine_info *info = engine_describe(teacher->model);
    teacher->tokens_max = info->tokens_max > TEACHERS_TOKENS ? info->tokens_max : TEACHERS_TOKENS;
    if (info->kind != corpus->train.part->dataset.kind)
        return err_set(err, ERR_UNSUPPORTED, "it does not read this kind of input");
    if (info->kind == ENGINE_IMAGE)
        teacher->image_tokens = info->tokens_max;
    else if (info->vocab_size != setup->vocab_size)
        return err_set(err, ERR_UNSUPPORTED, "its vocabulary has %u words, the model's has %u",
                       info->vocab_size, setup->vocab_size);
    if (info->row_size > 0)
        return err_set(err, ERR_UNSUPPORTED, "it answers parts of a text, no label of the whole");
    const struct labels *labels = &corpus->labels;
    if (info->label_count != labels->count)
        return err_set(err, ERR_UNSUPPORTED, "it knows %u labels; there are %u to learn",
                       info->label_count, labels->count);
    for (unsigned i = 0; i < labels->count; i++) {
        unsigned k = 0;
        while (k < info->label_count && strcmp(info->labels[k], labels->name[i]) != 0)
            k++;
        if (k == info->label_count)
            return err_set(err, ERR_UNSUPPORTED, "it does not know the label '%.80s'",
                           labels->name[i]);
        teacher->label_of[i] = k;
    }
    return engine_session_open(&teacher->session, teacher->model, teacher->tokens_max,
                               setup->threads, err);
}

static enum err_code open_teacher(struct teacher *out, const char *dir,
                                  const struct teachers_setup *setup, struct arena *arena,
                                  struct err *err)
{
    const struct corpus *corpus = setup->corpus;
    size_t labels = corpus->labels.count, numbers = setup->rows_max * labels;
    *out = (struct teacher){.view = *setup->view, .labels = corpus->labels.count};
    out->label_of = arena_alloc_array(arena, labels, sizeof *out->label_of);
    out->logits = arena_alloc_array(arena, numbers, sizeof *out->logits);
    out->own = arena_alloc_array(arena, numbers, sizeof *out->own);
    if (arena->failed)
        return err_no_memory(err, numbers * sizeof *out->logits);
    if (open_model(out, dir, setup, err))
        return err_prefix(err, "teacher %s: ", dir);
    const struct engine_info *info = engine_describe(out->model);
    out->view.image_size = (struct extent){info->image_height, info->image_width};
    out->view.patch = info->patch_size;
    return data_loader_open(&out->loader, corpus->train.part->samples, setup->rows_max, err);
}

static void run_part(struct teacher *teacher, const struct data_loader_part *part)
{
    struct engine_result results[TEACHERS_TOKENS] = {0}, *listed[TEACHERS_TOKENS];
    for (unsigned first = 0, count; first < part->rows; first += count) {
        count = part->rows - first < TEACHERS_TOKENS ? part->rows - first : TEACHERS_TOKENS;
        unsigned row = part->first + first;
        for (unsigned i = 0; i < count; i++) {
            results[i].logits = teacher->own + (size_t)(row + i) * teacher->labels;
            listed[i] = &results[i];
        }
        engine_run(teacher->session, teacher->loader.listed + row, count, listed);
    }
}

/* Sets *logits [count, labels]; valid until the next call. */
static enum err_code run_teacher(struct teacher *teacher, struct thread_pool *pool,
                                 const size_t *items, unsigned count,
                                 const struct data_loader_order *order, const float **logits,
                                 struct err *err)
{
    struct data_loader_order own = *order;
    struct data_loader_part part;
    size_t labels = teacher->labels;
    own.view = &teacher->view;
    if (data_loader_prepare(&teacher->loader, pool, items, count, &own, err))
        return err->code;
    for (unsigned i = 0; teacher->image_tokens > 0 && i < count; i++)
        teacher->loader.inputs[i].tokens = teacher->image_tokens;
    for (unsigned at = 0; data_loader_next(&teacher->loader, &at, teacher->tokens_max, &part);)
        run_part(teacher, &part);
    for (size_t i = 0; i < count * labels; i++)
        teacher->logits[i] = teacher->own[i / labels * labels + teacher->label_of[i % labels]];
    *logits = teacher->logits;
    return ERR_OK;
}

/* ---- open ---- */

/* Checks that every training input has logits, and that its digest, if given, is right. */
static enum err_code check_list(const struct logit_list *list, const struct corpus *corpus,
                                struct err *err)
{
    const struct corpus_items *train = &corpus->train;
    const char *missing = NULL;
    size_t missed = 0;
    for (size_t i = 0; i < train->count; i++) {
        size_t item = train->item[i];
        const char *name = train->part->dataset.items[item].name;
        const struct logit_list_entry *entry = &list->entries[item];
        if (entry->line == 0 && missed++ == 0)
            missing = name;
        if (entry->digest != 0 && entry->digest != samples_digest(train->part->samples, item))
            return err_set(err, ERR_UNUSABLE, "line %zu: the digest is not that of '%.80s'",
                           entry->line, name);
    }
    if (missed == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%zu of %zu inputs to learn have no line, first '%.80s'",
                   missed, train->count, missing);
}

enum err_code teachers_open(struct teachers *out, const struct teachers_setup *setup,
                            struct err *err)
{
    const struct train_paths *models = &setup->options->teacher;
    const struct train_paths *lists = &setup->options->teacher_logits;
    *out = (struct teachers){.labels = setup->corpus->labels.count,
                             .temperature = (double)setup->options->teacher_temperature};
    if (models->count + lists->count == 0)
        return ERR_OK;
    size_t numbers = (size_t)setup->rows_max * out->labels;
    struct arena *arena = &out->arena;
    out->models = arena_alloc_array(arena, models->count, sizeof *out->models);
    out->lists = arena_alloc_array(arena, lists->count, sizeof *out->lists);
    out->logits = arena_alloc_array(arena, numbers, sizeof *out->logits);
    out->mean = arena_alloc_array(arena, out->labels, sizeof *out->mean);
    if (arena->failed)
        return err_no_memory(err, numbers * sizeof *out->logits);
    const struct labels *labels = &setup->corpus->labels;
    for (unsigned i = 0; i < lists->count; i++) {
        struct logit_list *list = &out->lists[out->list_count++];
        if (logit_list_open(list, lists->path[i], &setup->corpus->train.part->dataset, labels->name,
                            labels->count, err) ||
            check_list(list, setup->corpus, err))
            return err_prefix(err, "teacher logits %s: ", lists->path[i]);
    }
    for (unsigned i = 0; i < models->count; i++)
        if (open_teacher(&out->models[out->model_count++], models->path[i], setup, arena, err))
            return err->code;
    return ERR_OK;
}

void teachers_close(struct teachers *teachers)
{
    for (unsigned i = 0; i < teachers->model_count; i++) {
        data_loader_close(&teachers->models[i].loader);
        engine_session_close(teachers->models[i].session);
        engine_close(teachers->models[i].model);
    }
    for (unsigned i = 0; i < teachers->list_count; i++)
        logit_list_close(&teachers->lists[i]);
    arena_deinit(&teachers->arena);
    *teachers = (struct teachers){0};
}

/* ---- run ---- */

/* mean += share x softmax(logits / T), with the largest term taken out first. */
static void add_softmax(struct teachers *teachers, const float *logits, double share)
{
    double top = (double)logits[0], sum = 0;
    for (unsigned k = 1; k < teachers->labels; k++)
        top = fmax(top, (double)logits[k]);
    for (unsigned k = 0; k < teachers->labels; k++)
        sum += exp(((double)logits[k] - top) / teachers->temperature);
    for (unsigned k = 0; k < teachers->labels; k++)
        teachers->mean[k] += share * exp(((double)logits[k] - top) / teachers->temperature) / sum;
}

/* Computes T log q of a row. A probability that underflows is set to DBL_MIN. */
static void mix_row(struct teachers *teachers, const float *const *model_logits, size_t item,
                    unsigned row)
{
    size_t labels = teachers->labels;
    double share = 1.0 / (teachers->model_count + teachers->list_count);
    memset(teachers->mean, 0, labels * sizeof *teachers->mean);
    for (unsigned i = 0; i < teachers->model_count; i++)
        add_softmax(teachers, model_logits[i] + row * labels, share);
    for (unsigned i = 0; i < teachers->list_count; i++)
        add_softmax(teachers, logit_list_row(&teachers->lists[i], item), share);
    for (size_t k = 0; k < labels; k++)
        teachers->logits[row * labels + k] =
            (float)(teachers->temperature * log(fmax(teachers->mean[k], DBL_MIN)));
}

enum err_code teachers_run(struct teachers *teachers, struct thread_pool *pool, const size_t *items,
                           unsigned count, const struct data_loader_order *order,
                           const float **logits, struct err *err)
{
    const float *model_logits[TRAIN_PATHS_MAX];
    size_t labels = teachers->labels;
    *logits = NULL;
    for (unsigned i = 0; i < teachers->model_count; i++)
        if (run_teacher(&teachers->models[i], pool, items, count, order, &model_logits[i], err))
            return err->code;
    if (teachers->model_count + teachers->list_count == 0)
        return ERR_OK;
    if (teachers->model_count == 1 && teachers->list_count == 0) {
        *logits = model_logits[0];
        return ERR_OK;
    }
    for (unsigned row = 0; row < count; row++)
        if (teachers->model_count == 0 && teachers->list_count == 1)
            memcpy(teachers->logits + row * labels, logit_list_row(&teachers->lists[0], items[row]),
                   labels * sizeof(float));
        else
            mix_row(teachers, model_logits, items[row], row);
    *logits = teachers->logits;
    return ERR_OK;
}
