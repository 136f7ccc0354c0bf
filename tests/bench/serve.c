#include "tests/bench/serve.h"

#include "tests/bench/runner.h"

#include <stdlib.h>
#include <string.h>

enum { UNTIMED = 3, LINE_BYTES = 256, WORD_BYTES = 32, PATH_BYTES = 512 };

struct question {
    char dtype[WORD_BYTES], kind[WORD_BYTES];
    unsigned rows, tokens;
};

/* The last question is kept with its model: a driver asks the same many times. */
struct serve {
    const struct serve_options *options;
    struct question question;
    struct runner runner;
    struct inputs inputs;
    bool has_model, has_inputs;
};

static void drop_inputs(struct serve *serve)
{
    if (serve->has_inputs)
        inputs_free(&serve->inputs);
    serve->has_inputs = false;
}

static void drop_model(struct serve *serve)
{
    drop_inputs(serve);
    if (serve->has_model)
        runner_close(&serve->runner);
    serve->has_model = false;
}

static enum err_code open_model(struct serve *serve, const struct question *question,
                                struct err *err)
{
    char dir[PATH_BYTES];
    const struct question *open = &serve->question;
    if (serve->has_model && strcmp(open->kind, question->kind) == 0 &&
        strcmp(open->dtype, question->dtype) == 0)
        return ERR_OK;
    drop_model(serve);
    snprintf(dir, sizeof dir, "%s/%s-base", serve->options->models, question->kind);
    serve->has_model = true;
    if (runner_open(&serve->runner, dir, question->dtype, serve->options->threads, err))
        drop_model(serve);
    return err->code;
}

static enum err_code make_inputs(struct serve *serve, const struct question *question,
                                 struct err *err)
{
    const struct engine_info *info = serve->runner.info;
    const struct question *open = &serve->question;
    if (serve->has_inputs && open->rows == question->rows && open->tokens == question->tokens)
        return ERR_OK;
    drop_inputs(serve);
    serve->has_inputs = true;
    if (question->rows == 0 || question->rows > 1024)
        err_set(err, ERR_UNUSABLE, "a batch has 1 to 1024 rows");
    else if (info->kind == ENGINE_IMAGE)
        inputs_images(&serve->inputs, info, question->rows, err);
    else
        inputs_texts(&serve->inputs, info, question->rows,
                     question->tokens > 0 ? question->tokens : INPUTS_MIXED, err);
    if (err->code == ERR_OK && serve->inputs.tokens > RUNNER_TOKENS_MAX)
        err_set(err, ERR_UNUSABLE, "%zu tokens; a batch has at most %d", serve->inputs.tokens,
                RUNNER_TOKENS_MAX);
    if (err->code != ERR_OK) {
        drop_inputs(serve);
        return err->code;
    }
    for (unsigned i = 0; i < UNTIMED; i++)
        runner_run(&serve->runner, &serve->inputs);
    return ERR_OK;
}

static void answer(struct serve *serve, const char *line, FILE *out)
{
    struct err err = {0};
    struct question question;
    if (sscanf(line, "%31s %31s %u %u", question.dtype, question.kind, &question.rows,
               &question.tokens) != 4)
        err_set(&err, ERR_UNUSABLE, "expected: DTYPE KIND BATCH TOKENS");
    else if (!open_model(serve, &question, &err) && !make_inputs(serve, &question, &err))
        serve->question = question;
    if (err.code != ERR_OK) {
        drop_model(serve);
        fprintf(out, "refused %s\n", err.text);
        return;
    }
    fprintf(out, "%.3f", runner_run(&serve->runner, &serve->inputs));
    for (unsigned i = 0; i < serve->runner.info->label_count; i++)
        fprintf(out, " %.6f", (double)serve->inputs.logits[0][i]);
    fprintf(out, "\n");
}

enum err_code serve_run(const struct serve_options *options, FILE *in, FILE *out, struct err *err)
{
    char line[LINE_BYTES];
    struct serve serve = {.options = options};
    if (options->models == NULL)
        return err_set(err, ERR_UNUSABLE, "serve needs --models DIR");
    while (fgets(line, sizeof line, in) != NULL && err->code == ERR_OK) {
        answer(&serve, line, out);
        if (fflush(out) != 0)
            err_set(err, ERR_IO, "the answer cannot be written");
    }
    drop_model(&serve);
    return err->code;
}
