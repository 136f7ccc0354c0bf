#include "tools/batch/local.h"

#include "engine/answer.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "learn/eval/measure/input_reader.h"
#include "server/protocol/problem.h"

#include <stdlib.h>
#include <string.h>

/* As the server's (server/placement/plan.h): a larger batch is not faster. */
enum { BATCH_TOKENS = 256 };

/* One input of the batch that is being made. */
struct row {
    struct record_input input;
    struct engine_input prepared;
    const char *text; /* [text_len], what engine_phrases reads */
    size_t text_len;
    struct arena arena;
    struct err err;
};

struct local {
    const struct local_model *model;
    struct engine_session *session;
    struct input_reader reader;
    unsigned tokens_max; /* of a batch */
    float *scores;       /* [label_count] */
    float *logits;       /* [CHUNK_INPUTS][label_count] */
    struct row rows[CHUNK_INPUTS];
    unsigned row_count, tokens;
    FILE *file; /* of the chunk */
};

/* ---- open and close ---- */

enum err_code local_model_open(struct local_model *out, const struct local_options *options,
                               struct err *err)
{
    *out = (struct local_model){.options = options};
    file_last_part(options->dir, out->name);
    if (engine_open(&out->engine, options->dir, &options->engine, err) ||
        engine_digest(out->engine, NULL, out->digest, err))
        return err_prefix(err, "%s: ", options->dir);
    if (engine_describe(out->engine)->label_count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "%s: a zero-shot model has no labels of its own; attnd-predict takes "
                       "--candidate-labels",
                       options->dir);
    return ERR_OK;
}

void local_model_close(struct local_model *model)
{
    engine_close(model->engine);
    model->engine = NULL;
}

enum err_code local_open(struct local **out, const struct local_model *model, struct err *err)
{
    const struct engine_info *info = engine_describe(model->engine);
    struct local *local = calloc(1, sizeof *local);
    *out = local;
    if (local == NULL)
        return err_no_memory(err, sizeof *local);
    local->model = model;
    local->reader.model = model->engine;
    local->tokens_max = info->tokens_max > BATCH_TOKENS ? info->tokens_max : BATCH_TOKENS;
    local->scores = calloc(info->label_count, sizeof *local->scores);
    local->logits = calloc(CHUNK_INPUTS, info->label_count * sizeof *local->logits);
    if (local->scores == NULL || local->logits == NULL)
        return err_no_memory(err, CHUNK_INPUTS * info->label_count * sizeof *local->logits);
    return engine_session_open(&local->session, model->engine, local->tokens_max, 1, err);
}

void local_close(struct local *local)
{
    if (local == NULL)
        return;
    input_reader_close(&local->reader);
    engine_session_close(local->session);
    free(local->scores);
    free(local->logits);
    free(local);
}

/* ---- prepare ---- */

static enum err_code prepare(struct local *local, struct row *row, const struct record *record)
{
    const struct engine_model *engine = local->model->engine;
    bool is_image = engine_describe(engine)->kind == ENGINE_IMAGE;
    if (record_parse(record, is_image, &row->arena, &row->input, &row->err))
        return err_prefix(&row->err, "%s: line %u: ", row->input.listed.file, record->line);
    if (input_reader_prepare(&local->reader, &row->input.listed, &row->arena, &row->prepared,
                             &row->err))
        return row->err.code;
    row->text = local->reader.text;
    row->text_len = local->reader.text_len;
    if (local->model->options->explain)
        engine_capture(engine, &row->prepared, &local->model->options->how, &row->arena, &row->err);
    return row->err.code;
}

/* ---- run ---- */

/* Those of the rows that are good; a text in windows may be longer than the rest together. */
static void run(struct local *local)
{
    const struct engine_input *inputs[CHUNK_INPUTS];
    float *logits[CHUNK_INPUTS];
    unsigned good = 0;
    unsigned labels = engine_describe(local->model->engine)->label_count;
    for (unsigned i = 0; i < local->row_count; i++) {
        if (local->rows[i].err.code != ERR_OK)
            continue;
        logits[good] = local->logits + (size_t)good * labels;
        inputs[good++] = &local->rows[i].prepared;
    }
    if (good > 0)
        engine_run(local->session, inputs, good, logits);
}

static enum err_code explain(const struct local *local, struct row *row, struct explanation *out)
{
    const struct engine_model *engine = local->model->engine;
    unsigned best = engine_argmax(engine, local->scores);
    if (engine_explain(engine, &row->prepared, &local->model->options->how, best, &row->arena, out,
                       &row->err) ||
        row->prepared.kind != ENGINE_TEXT)
        return row->err.code;
    return engine_phrases(engine, row->text, row->text_len, best, &row->arena, out, &row->err);
}

/* Of the good-th row that was run; NULL with the row's error. */
static struct json_t *answer_of(const struct local *local, struct row *row, unsigned good)
{
    const struct local_model *model = local->model;
    const struct engine_info *info = engine_describe(model->engine);
    const float *logits = local->logits + (size_t)good * info->label_count;
    struct explanation explanation;
    struct answer answer = {.model_name = model->name,
                            .model_version = info->version,
                            .model_digest = model->digest,
                            .info = info,
                            .scores = local->scores,
                            .truncated = row->prepared.truncated,
                            .windows = row->prepared.windows};
    if (!engine_scores(model->engine, logits, local->scores)) {
        err_set(&row->err, ERR_INTERNAL, "the model gave a score that is not a finite number");
        return NULL;
    }
    engine_judge(model->engine, logits, local->scores, engine_features(local->session, good),
                 row->prepared.truncated, &answer.judgement);
    if (model->options->explain && explain(local, row, &explanation) != ERR_OK)
        return NULL;
    answer.explanation = model->options->explain ? &explanation : NULL;
    struct json_t *object = answer_prediction(&answer, model->options->format.top_k);
    if (object == NULL)
        err_set(&row->err, ERR_NO_MEMORY, "no memory for an answer");
    return object;
}

/* ---- write ---- */

static enum err_code write_row(struct local *local, struct row *row, unsigned *good,
                               struct chunk *chunk, struct err *err)
{
    struct json_t *object = NULL;
    if (row->err.code == ERR_OK)
        object = answer_of(local, row, (*good)++);
    if (err_is_of_system(row->err.code))
        return err_set(err, row->err.code, "%s", row->err.text);
    if (row->err.code != ERR_OK) {
        object = problem_document(&row->err, NULL);
        chunk->failed++;
    }
    result_write(&local->model->options->format, object, &row->input, local->file, err);
    doc_free(object);
    return err->code;
}

/* Runs what is prepared and writes it; then there is room for the next batch. */
static enum err_code finish_batch(struct local *local, struct chunk *chunk, struct err *err)
{
    unsigned good = 0;
    run(local);
    for (unsigned i = 0; i < local->row_count; i++) {
        struct row *row = &local->rows[i];
        if (err->code == ERR_OK)
            write_row(local, row, &good, chunk, err);
        arena_deinit(&row->arena);
    }
    local->row_count = local->tokens = 0;
    return err->code;
}

/* The row that did not fit becomes the first of the next batch. */
static enum err_code finish_all_but(struct local *local, struct row *last, struct chunk *chunk,
                                    struct err *err)
{
    struct row kept = *last;
    local->row_count--;
    if (finish_batch(local, chunk, err)) {
        arena_deinit(&kept.arena);
        return err->code;
    }
    local->rows[local->row_count++] = kept;
    return ERR_OK;
}

static enum err_code add(struct local *local, const struct record *record, struct chunk *chunk,
                         struct err *err)
{
    struct row *row = &local->rows[local->row_count++];
    *row = (struct row){0};
    arena_init(&row->arena);
    if (prepare(local, row, record) != ERR_OK)
        return ERR_OK;
    unsigned tokens = row->prepared.tokens;
    if (local->tokens > 0 && local->tokens + tokens > local->tokens_max &&
        finish_all_but(local, row, chunk, err))
        return err->code;
    local->tokens += tokens;
    return ERR_OK;
}

enum err_code local_answer(struct local *local, struct chunk *chunk, struct err *err)
{
    local->file = open_memstream(&chunk->lines, &chunk->lines_len);
    if (local->file == NULL)
        return err_no_memory(err, 0);
    for (unsigned i = 0; i < chunk->count && err->code == ERR_OK; i++)
        add(local, &chunk->records[i], chunk, err);
    struct err rest = {0};
    finish_batch(local, chunk, err->code == ERR_OK ? err : &rest);
    if (fclose(local->file) != 0)
        err_no_memory(err, chunk->lines_len);
    return err->code;
}
