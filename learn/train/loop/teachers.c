#include "learn/train/loop/teachers.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static enum err_code open_list(struct logit_list *out, const char *path,
                               const struct corpus *corpus, struct err *err)
{
    const struct labels *labels = &corpus->labels;
    if (logit_list_open(out, path, &corpus->train.part->dataset, labels->name, labels->count,
                        err) == ERR_OK)
        check_list(out, corpus, err);
    return err->code != ERR_OK ? err_prefix(err, "teacher logits %s: ", path) : ERR_OK;
}

static enum err_code open_room(struct teachers *teachers, const struct teachers_setup *setup,
                               struct err *err)
{
    size_t numbers = (size_t)setup->rows_max * teachers->labels;
    teachers->models = calloc(setup->options->teacher.count + 1, sizeof *teachers->models);
    teachers->lists = calloc(setup->options->teacher_logits.count + 1, sizeof *teachers->lists);
    teachers->logits = calloc(numbers, sizeof *teachers->logits);
    teachers->mean = calloc(teachers->labels, sizeof *teachers->mean);
    if (teachers->models == NULL || teachers->lists == NULL || teachers->logits == NULL ||
        teachers->mean == NULL)
        return err_no_memory(err, numbers * sizeof *teachers->logits);
    return ERR_OK;
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
    if (open_room(out, setup, err))
        return err->code;
    for (unsigned i = 0; i < lists->count; i++)
        if (open_list(&out->lists[out->list_count++], lists->path[i], setup->corpus, err))
            return err->code;
    for (unsigned i = 0; i < models->count; i++)
        if (teacher_open(&out->models[out->model_count++], models->path[i], setup->corpus,
                         setup->view, setup->vocab_size, setup->rows_max, setup->threads, err))
            return err->code;
    return ERR_OK;
}

void teachers_close(struct teachers *teachers)
{
    for (unsigned i = 0; i < teachers->model_count; i++)
        teacher_close(&teachers->models[i]);
    for (unsigned i = 0; i < teachers->list_count; i++)
        logit_list_close(&teachers->lists[i]);
    free(teachers->models);
    free(teachers->lists);
    free(teachers->logits);
    free(teachers->mean);
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
        if (teacher_run(&teachers->models[i], pool, items, count, order, &model_logits[i], err))
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
