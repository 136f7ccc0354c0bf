#include "tests/bench/writing.h"

#include "engine/base/clock.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 128, ROWS_MAX = 64, WORDS_MAX = 1024, BATCH_TOKENS = 4096 };

struct question {
    unsigned rows, beams, words, tokens;
};

struct batch {
    struct engine_session *session;
    struct engine_input inputs[ROWS_MAX];
    struct engine_result results[ROWS_MAX];
    const struct engine_input *input_at[ROWS_MAX];
    struct engine_result *result_at[ROWS_MAX];
    unsigned rows;
};

static enum err_code prepare(struct batch *batch, const struct engine_model *model,
                             const struct question *question, struct arena *arena, struct err *err)
{
    struct engine_writing writing = {.asked = generation_request_empty};
    char text[2 * WORDS_MAX + 1] = "";
    for (unsigned i = 0; i < question->words; i++)
        memcpy(text + 2 * (size_t)i, i % 2 == 0 ? "a " : "b ", 3);
    writing.asked.num_beams = question->beams;
    writing.asked.min_new_tokens = writing.asked.max_new_tokens = question->tokens;
    const struct engine_source source = {
        .kind = ENGINE_TEXT, .bytes = text, .len = strlen(text), .writing = &writing};
    batch->rows = question->rows;
    for (unsigned r = 0; r < batch->rows && err->code == ERR_OK; r++) {
        batch->input_at[r] = &batch->inputs[r];
        batch->result_at[r] = &batch->results[r];
        batch->inputs[r] = (struct engine_input){0};
        if (!engine_prepare(model, &source, NULL, arena, &batch->inputs[r], err) &&
            !engine_result_init(&batch->results[r], model, arena, err))
            engine_result_rows(&batch->results[r], model, &batch->inputs[r], arena, err);
    }
    return err->code;
}

static void answer(struct batch *batch, const struct engine_model *model, const char *line,
                   FILE *out)
{
    struct question question;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (sscanf(line, "%u %u %u %u", &question.rows, &question.beams, &question.words,
               &question.tokens) != 4 ||
        question.rows == 0 || question.rows > ROWS_MAX || question.words > WORDS_MAX)
        err_set(&err, ERR_UNUSABLE, "expected: ROWS (1 to %d) BEAMS WORDS (to %d) TOKENS", ROWS_MAX,
                WORDS_MAX);
    else
        prepare(batch, model, &question, &arena, &err);
    if (err.code == ERR_OK) {
        const uint64_t began = clock_now_ns();
        engine_run(batch->session, batch->input_at, batch->rows, batch->result_at);
        const double ms = (double)(clock_now_ns() - began) * 1e-6;
        struct engine_result *first = &batch->results[0];
        if (!first->is_finite)
            err_set(&err, ERR_INTERNAL, "no text was written");
        else
            engine_result_texts(first, &arena, &err);
        fprintf(out, "%.3f %u", ms, batch->inputs[0].tokens);
        for (unsigned t = 0; err.code == ERR_OK && t < first->texts[0].count; t++)
            fprintf(out, " %d", first->texts[0].ids[t]);
        fprintf(out, "\n");
    } else {
        fprintf(out, "refused %s\n", err.text);
    }
    arena_deinit(&arena);
}

enum err_code writing_run(const struct writing_options *options, FILE *in, FILE *out,
                          struct err *err)
{
    const struct engine_options engine = {.dtype = options->dtype, .writes_texts = true};
    struct batch *batch = calloc(1, sizeof *batch);
    struct engine_model *model = NULL;
    char line[LINE_BYTES];
    if (batch == NULL)
        return err_no_memory(err, sizeof *batch);
    if (options->model == NULL)
        err_set(err, ERR_UNUSABLE, "writing needs --models DIR, a model that writes");
    else if (!engine_open(&model, options->model, &engine, err))
        engine_session_open(&batch->session, model, BATCH_TOKENS, options->threads, err);
    while (err->code == ERR_OK && fgets(line, sizeof line, in) != NULL) {
        answer(batch, model, line, out);
        if (fflush(out) != 0)
            err_set(err, ERR_IO, "the answer cannot be written");
    }
    engine_session_close(batch->session);
    engine_close(model);
    free(batch);
    return err->code;
}
