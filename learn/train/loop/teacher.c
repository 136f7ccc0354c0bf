#include "learn/train/loop/teacher.h"

#include <stdlib.h>
#include <string.h>

/* ---- open ---- */

static enum err_code map_labels(struct teacher *teacher, const struct engine_info *info,
                                const struct labels *labels, struct err *err)
{
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
    return ERR_OK;
}

static enum err_code open_model(struct teacher *teacher, const char *dir,
                                const struct corpus *corpus, unsigned vocab_size, unsigned threads,
                                struct err *err)
{
    if (engine_open(&teacher->model, dir, &(struct engine_options){0}, err))
        return err->code;
    const struct engine_info *info = engine_describe(teacher->model);
    teacher->tokens_max = info->tokens_max > TEACHER_TOKENS ? info->tokens_max : TEACHER_TOKENS;
    if (info->kind != corpus->train.part->dataset.kind)
        return err_set(err, ERR_UNSUPPORTED, "it does not read this kind of input");
    if (info->kind == ENGINE_IMAGE)
        teacher->image_tokens = info->tokens_max;
    else if (info->vocab_size != vocab_size)
        return err_set(err, ERR_UNSUPPORTED, "its vocabulary has %u words, the model's has %u",
                       info->vocab_size, vocab_size);
    if (map_labels(teacher, info, &corpus->labels, err))
        return err->code;
    return engine_session_open(&teacher->session, teacher->model, teacher->tokens_max, threads,
                               err);
}

enum err_code teacher_open(struct teacher *out, const char *dir, const struct corpus *corpus,
                           const struct samples_view *view, unsigned vocab_size, unsigned rows_max,
                           unsigned threads, struct err *err)
{
    size_t labels = corpus->labels.count;
    *out = (struct teacher){.view = *view, .labels = corpus->labels.count};
    out->label_of = calloc(labels, sizeof *out->label_of);
    out->logits = calloc(rows_max * labels, sizeof *out->logits);
    out->own = calloc(rows_max * labels, sizeof *out->own);
    if (out->label_of == NULL || out->logits == NULL || out->own == NULL)
        return err_no_memory(err, rows_max * labels * sizeof *out->logits);
    if (open_model(out, dir, corpus, vocab_size, threads, err))
        return err_prefix(err, "teacher %s: ", dir);
    const struct engine_info *info = engine_describe(out->model);
    out->view.image_size = info->image_width;
    out->view.patch = info->patch_size;
    return data_loader_open(&out->loader, corpus->train.part->samples, rows_max, err);
}

void teacher_close(struct teacher *teacher)
{
    data_loader_close(&teacher->loader);
    engine_session_close(teacher->session);
    engine_close(teacher->model);
    free(teacher->label_of);
    free(teacher->logits);
    free(teacher->own);
    *teacher = (struct teacher){0};
}

/* ---- run ---- */

static void run_part(struct teacher *teacher, const struct data_loader_part *part)
{
    struct engine_result results[TEACHER_TOKENS] = {0}, *listed[TEACHER_TOKENS];
    for (unsigned first = 0, count; first < part->rows; first += count) {
        count = part->rows - first < TEACHER_TOKENS ? part->rows - first : TEACHER_TOKENS;
        unsigned row = part->first + first;
        for (unsigned i = 0; i < count; i++) {
            results[i].logits = teacher->own + (size_t)(row + i) * teacher->labels;
            listed[i] = &results[i];
        }
        engine_run(teacher->session, teacher->loader.listed + row, count, listed);
    }
}

enum err_code teacher_run(struct teacher *teacher, struct thread_pool *pool, const size_t *items,
                          unsigned count, const struct data_loader_order *order,
                          const float **logits, struct err *err)
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
