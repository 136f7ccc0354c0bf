#include "tests/bench/serve.h"

#include "tests/bench/runner.h"

#include <stdlib.h>
#include <string.h>

enum { MODELS_MAX = 8, BATCHES_MAX = 64, UNTIMED = 3, LINE_BYTES = 256, WORD_BYTES = 32 };

struct model {
    char dtype[WORD_BYTES];
    const char *dir;
    struct runner runner;
};

struct batch {
    struct model *model;
    char kind[WORD_BYTES];
    unsigned rows, tokens;
    struct inputs inputs;
};

struct serve {
    const struct serve_options *options;
    struct model models[MODELS_MAX];
    struct batch batches[BATCHES_MAX];
    unsigned model_count, batch_count;
};

struct question {
    char dtype[WORD_BYTES], kind[WORD_BYTES];
    unsigned rows, tokens;
};

static const char *dir_of(const struct serve *serve, const char *kind)
{
    return strcmp(kind, "vit") == 0 ? serve->options->vit : serve->options->bert;
}

static enum err_code check(const struct serve *serve, const struct question *question,
                           struct err *err)
{
    const char *kind = question->kind;
    if (strcmp(kind, "bert") != 0 && strcmp(kind, "vit") != 0 && strcmp(kind, "bert-mixed") != 0)
        return err_set(err, ERR_UNUSABLE, "kinds are bert, bert-mixed and vit");
    if (dir_of(serve, kind) == NULL)
        return err_set(err, ERR_UNUSABLE, "no directory was given for %s", kind);
    if (question->rows == 0 || question->rows > 1024)
        return err_set(err, ERR_UNUSABLE, "a batch has 1 to 1024 rows");
    if (strcmp(kind, "bert") == 0 && question->tokens == 0)
        return err_set(err, ERR_UNUSABLE, "a text has at least one token");
    return ERR_OK;
}

static struct model *find_model(struct serve *serve, const struct question *question,
                                struct err *err)
{
    const char *dir = dir_of(serve, question->kind);
    for (unsigned i = 0; i < serve->model_count; i++)
        if (serve->models[i].dir == dir && strcmp(serve->models[i].dtype, question->dtype) == 0)
            return &serve->models[i];
    struct model *model = &serve->models[serve->model_count];
    if (serve->model_count == MODELS_MAX)
        err_set(err, ERR_UNUSABLE, "at most %d models", MODELS_MAX);
    else if (runner_open(&model->runner, dir, question->dtype, serve->options->threads, err))
        runner_close(&model->runner);
    if (err->code != ERR_OK)
        return NULL;
    model->dir = dir;
    snprintf(model->dtype, sizeof model->dtype, "%s", question->dtype);
    serve->model_count++;
    return model;
}

static enum err_code make_inputs(struct batch *batch, const struct question *question,
                                 struct err *err)
{
    const struct engine_info *info = batch->model->runner.info;
    bool is_vit = strcmp(question->kind, "vit") == 0;
    bool is_mixed = strcmp(question->kind, "bert-mixed") == 0;
    if (is_vit != (info->kind == ENGINE_IMAGE))
        return err_set(err, ERR_UNUSABLE, "the directory of %s holds a %s", question->kind,
                       info->family);
    if (is_vit)
        inputs_images(&batch->inputs, info, question->rows, err);
    else
        inputs_texts(&batch->inputs, info, question->rows,
                     is_mixed ? INPUTS_MIXED : question->tokens, err);
    if (err->code == ERR_OK && batch->inputs.tokens > RUNNER_TOKENS_MAX)
        err_set(err, ERR_UNUSABLE, "%zu tokens; a batch has at most %d", batch->inputs.tokens,
                RUNNER_TOKENS_MAX);
    if (err->code != ERR_OK)
        inputs_free(&batch->inputs);
    return err->code;
}

static struct batch *find_batch(struct serve *serve, const struct question *question,
                                struct err *err)
{
    struct model *model = find_model(serve, question, err);
    if (model == NULL)
        return NULL;
    for (unsigned i = 0; i < serve->batch_count; i++) {
        struct batch *batch = &serve->batches[i];
        if (batch->model == model && strcmp(batch->kind, question->kind) == 0 &&
            batch->rows == question->rows && batch->tokens == question->tokens)
            return batch;
    }
    struct batch *batch = &serve->batches[serve->batch_count];
    if (serve->batch_count == BATCHES_MAX) {
        err_set(err, ERR_UNUSABLE, "at most %d different batches", BATCHES_MAX);
        return NULL;
    }
    *batch = (struct batch){.model = model, .rows = question->rows, .tokens = question->tokens};
    snprintf(batch->kind, sizeof batch->kind, "%s", question->kind);
    if (make_inputs(batch, question, err))
        return NULL;
    serve->batch_count++;
    for (unsigned i = 0; i < UNTIMED; i++)
        runner_run(&model->runner, &batch->inputs);
    return batch;
}

static void answer(struct serve *serve, const char *line, FILE *out)
{
    struct err err = {0};
    struct question question;
    struct batch *batch = NULL;
    if (sscanf(line, "%31s %31s %u %u", question.dtype, question.kind, &question.rows,
               &question.tokens) != 4)
        err_set(&err, ERR_UNUSABLE, "expected: DTYPE KIND BATCH TOKENS");
    else if (!check(serve, &question, &err))
        batch = find_batch(serve, &question, &err);
    if (batch == NULL) {
        fprintf(out, "refused %s\n", err.text);
        return;
    }
    fprintf(out, "%.3f", runner_run(&batch->model->runner, &batch->inputs));
    for (unsigned i = 0; i < batch->model->runner.info->label_count; i++)
        fprintf(out, " %.6f", (double)batch->inputs.logits[0][i]);
    fprintf(out, "\n");
}

enum err_code serve_run(const struct serve_options *options, FILE *in, FILE *out, struct err *err)
{
    char line[LINE_BYTES];
    struct serve *serve = calloc(1, sizeof *serve);
    if (serve == NULL)
        return err_no_memory(err, sizeof *serve);
    serve->options = options;
    while (fgets(line, sizeof line, in) != NULL && err->code == ERR_OK) {
        answer(serve, line, out);
        if (fflush(out) != 0)
            err_set(err, ERR_IO, "the answer cannot be written");
    }
    for (unsigned i = 0; i < serve->batch_count; i++)
        inputs_free(&serve->batches[i].inputs);
    for (unsigned i = 0; i < serve->model_count; i++)
        runner_close(&serve->models[i].runner);
    free(serve);
    return err->code;
}
