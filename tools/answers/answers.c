#include "tools/answers/answers.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/decide/extraction.h"
#include "wire/answer.h"
#include "wire/problem.h"

#include <stdlib.h>
#include <string.h>

/* The same as the server's (server/placement/plan.h): a larger batch is not faster. CACHES_MAX
 * bounds the keys and values of texts that are written at once: 64 of opus-mt-base's size with 512
 * new tokens take 0.9 GB, of which pages that no token reaches are never touched. */
enum { BATCH_TOKENS = 256, BATCH_ROWS = 64, CACHES_MAX = 1 << 30 };

struct answers {
    const struct answers_model *model;
    struct engine_session *session;
    unsigned tokens_max; /* of a batch */
    bool writes;         /* the model writes texts */
    struct engine_result results[BATCH_ROWS];
    struct arena arena; /* their room */
    struct answers_row rows[BATCH_ROWS];
    unsigned row_count, tokens;
    const struct answers_source *source; /* of this run */
};

/* ---- open and close ---- */

/* Once, in place of a problem for each input. */
static enum err_code check_prompt(const struct answers_model *model, struct err *err)
{
    const struct engine_info *info = engine_describe(model->engine);
    const char *name = model->options->prompt_name;
    unsigned i = 0;
    while (name != NULL && i < info->prompt_count && strcmp(info->prompts[i], name) != 0)
        i++;
    if (name == NULL || i < info->prompt_count)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s: the model has no prompt '%.80s'", model->options->dir,
                   name);
}

static enum err_code check_asking(struct answers_model *model, struct err *err)
{
    const struct engine_info *info = engine_describe(model->engine);
    const unsigned top = model->options->top_k;
    model->asking = model->options->asking;
    if (info->task == ENGINE_ANSWER) {
        if (top < 1 || top > EXTRACTION_TOP_MAX)
            return err_set(err, ERR_UNUSABLE, "%s: top_k: for answers it must be from 1 to %d",
                           model->options->dir, EXTRACTION_TOP_MAX);
        model->asking.question.top = top;
    }
    if (info->task == ENGINE_GENERATE && top != 1)
        return err_set(
            err, ERR_UNUSABLE,
            "%s: top_k: a model that writes has no labels; num_return_sequences says how "
            "many texts are answered",
            model->options->dir);
    if (info->task == ENGINE_GENERATE && model->options->explain)
        writing_options_give(&model->asking.write)->aligns = true;
    if (asking_check(&model->asking, 1u << info->task, err) ||
        vector_form_check(&model->asking.vector, info, err) ||
        (model->asking.write.is_given &&
         engine_check_writing(model->engine, &model->asking.write.writing, err)))
        return err_prefix(err, "%s: ", model->options->dir);
    return ERR_OK;
}

enum err_code answers_model_open(struct answers_model *out, const struct answers_options *options,
                                 struct err *err)
{
    struct engine_options engine = options->engine;
    engine.writes_texts = true;
    *out = (struct answers_model){.options = options};
    file_last_part(options->dir, out->name);
    if (engine_open(&out->engine, options->dir, &engine, err) ||
        engine_digest(out->engine, NULL, out->digest, err))
        return err_prefix(err, "%s: ", options->dir);
    if (engine_describe(out->engine)->needs_labels)
        return err_set(err, ERR_UNUSABLE,
                       "%s: a zero-shot model has no labels of its own; attnd-predict takes "
                       "--candidate-labels",
                       options->dir);
    return check_prompt(out, err) || check_asking(out, err) ? err->code : ERR_OK;
}

void answers_model_close(struct answers_model *model)
{
    engine_close(model->engine);
    model->engine = NULL;
}

enum err_code answers_open(struct answers **out, const struct answers_model *model, struct err *err)
{
    const struct engine_info *info = engine_describe(model->engine);
    struct answers *answers = calloc(1, sizeof *answers);
    *out = answers;
    if (answers == NULL)
        return err_no_memory(err, sizeof *answers);
    answers->model = model;
    answers->writes = info->task == ENGINE_GENERATE;
    answers->tokens_max = info->tokens_max > BATCH_TOKENS ? info->tokens_max : BATCH_TOKENS;
    arena_init(&answers->arena);
    for (unsigned i = 0; i < BATCH_ROWS; i++)
        if (engine_result_init(&answers->results[i], model->engine, &answers->arena, err))
            return err->code;
    return engine_session_open(&answers->session, model->engine, answers->tokens_max, 1, err);
}

void answers_close(struct answers *answers)
{
    if (answers == NULL)
        return;
    engine_session_close(answers->session);
    arena_deinit(&answers->arena);
    free(answers);
}

/* ---- prepare ---- */

static enum err_code prepare(struct answers *answers, struct answers_row *row)
{
    const struct answers_model *model = answers->model;
    answers->source->prepare(answers->source->context, row);
    if (row->err.code == ERR_OK && model->options->explain)
        engine_capture(model->engine, &row->prepared, &model->options->how, &row->arena, &row->err);
    return row->err.code;
}

/* ---- run ---- */

static enum err_code explain(const struct answers *answers, struct answers_row *row,
                             const struct engine_result *result, struct explanation *out)
{
    const struct answers_model *model = answers->model;
    const struct engine_source source = {
        .kind = ENGINE_TEXT, .bytes = row->text, .len = row->text_len};
    if (!answers->writes)
        return engine_explain(model->engine, &source, &row->prepared, &model->options->how,
                              result->label, &row->arena, out, &row->err);
    return engine_align(model->engine, &row->prepared, result->texts, &row->arena, out, &row->err);
}

/* The answer of a row that was run; NULL with the row's error. */
static struct json_t *answer_of(const struct answers *answers, struct answers_row *row)
{
    const struct answers_model *model = answers->model;
    const struct engine_info *info = engine_describe(model->engine);
    const struct engine_result *result = &answers->results[row - answers->rows];
    const bool explains = model->options->explain && (!answers->writes || result->text_count > 0);
    struct explanation explanation;
    struct answer answer = {.model_name = model->name,
                            .model_version = info->version,
                            .model_digest = model->digest,
                            .info = info,
                            .result = *result,
                            .vector = model->asking.vector,
                            .input = &row->prepared,
                            .explanation = explains ? &explanation : NULL,
                            .text = row->text,
                            .text_len = row->text_len};
    if (!result->is_finite) {
        err_set(&row->err, ERR_INTERNAL, "the model gave a score that is not a finite number");
        return NULL;
    }
    vector_form_scale(&model->asking.vector, info, &row->prepared, &answer.result);
    if (explains && explain(answers, row, result, &explanation))
        return NULL;
    struct json_t *object = answer_prediction(&answer, model->options->top_k);
    if (object == NULL)
        err_set(&row->err, ERR_NO_MEMORY, "no memory for an answer");
    return object;
}

/* ---- hand over ---- */

static enum err_code give_row(struct answers *answers, struct answers_row *row, struct err *err)
{
    struct json_t *object = NULL;
    if (row->err.code == ERR_OK)
        object = answer_of(answers, row);
    if (err_is_of_system(row->err.code))
        return err_set(err, row->err.code, "%s", row->err.text);
    if (row->err.code != ERR_OK)
        object = problem_document(&row->err, NULL);
    if (object == NULL)
        return err_no_memory(err, 0);
    answers->source->take(answers->source->context, object, row, err);
    doc_free(object);
    return err->code;
}

/* Runs the good rows; a text in windows may be longer than the rest together. */
static void run_rows(struct answers *answers, struct answers_row *const *rows, unsigned count)
{
    const struct engine_input *inputs[BATCH_ROWS];
    struct engine_result *results[BATCH_ROWS];
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++) {
        struct engine_result *result = &answers->results[rows[i] - answers->rows];
        if (engine_result_rows(result, answers->model->engine, &rows[i]->prepared, &rows[i]->arena,
                               &rows[i]->err))
            continue;
        results[good] = result;
        inputs[good++] = &rows[i]->prepared;
    }
    if (good > 0)
        engine_run(answers->session, inputs, good, results);
}

/* Texts that are being written. */
struct written {
    unsigned count;
    struct answers_row *rows[BATCH_ROWS];
    const struct engine_input *inputs[BATCH_ROWS];
    struct engine_result *results[BATCH_ROWS];
    struct arena caches[BATCH_ROWS]; /* of each one, freed when it is done */
    size_t bytes;                    /* of them all */
};

/* Makes room for a text; a failure is the row's. */
static void begin_text(struct answers *answers, struct written *open, struct answers_row *row)
{
    struct engine_result *result = &answers->results[row - answers->rows];
    struct arena *cache = &open->caches[open->count];
    arena_init(cache);
    *result = (struct engine_result){0};
    open->rows[open->count] = row;
    open->inputs[open->count] = &row->prepared;
    open->results[open->count] = result;
    if (engine_result_rows(result, answers->model->engine, &row->prepared, cache, &row->err)) {
        arena_deinit(cache);
        return;
    }
    open->bytes += cache->bytes;
    open->count++;
}

/* Takes the texts that are done, from the first-th on. */
static void take_texts(struct written *open, unsigned first)
{
    unsigned kept = first;
    for (unsigned i = first; i < open->count; i++) {
        struct engine_result *result = open->results[i];
        if (!result->is_done) {
            open->rows[kept] = open->rows[i];
            open->inputs[kept] = open->inputs[i];
            open->caches[kept] = open->caches[i];
            open->results[kept++] = result;
            continue;
        }
        if (result->is_finite)
            engine_result_texts(result, &open->rows[i]->arena, &open->rows[i]->err);
        open->bytes -= open->caches[i].bytes;
        arena_deinit(&open->caches[i]);
    }
    open->count = kept;
}

/* Writes the texts of the rows. All that there is room for go on together, a token each step; those
 * that begin are read before, as many at a time as fit a batch of tokens. So most steps have many
 * rows, which read the weights once. ERR_NOT_READY if it was stopped. */
static enum err_code write_rows(struct answers *answers, struct answers_row *const *rows,
                                unsigned count, struct err *err)
{
    const atomic_bool *stop = answers->model->options->stop;
    struct written open = {0};
    for (unsigned next = 0; (next < count || open.count > 0) && err->code == ERR_OK;) {
        unsigned first = open.count, tokens = 0;
        while (next < count && (open.count == 0 || open.bytes < CACHES_MAX) &&
               (tokens == 0 || tokens + rows[next]->prepared.tokens <= answers->tokens_max)) {
            tokens += rows[next]->prepared.tokens;
            begin_text(answers, &open, rows[next++]);
        }
        if (first == open.count)
            first = 0;
        if (open.count > 0)
            engine_step(answers->session, open.inputs + first, open.count - first,
                        open.results + first);
        take_texts(&open, first);
        if (stop != NULL && atomic_load(stop))
            err_set(err, ERR_NOT_READY, "stopped while texts were written");
    }
    while (open.count > 0)
        arena_deinit(&open.caches[--open.count]);
    return err->code;
}

/* Runs what is prepared and hands it over; then there is room for the next batch. */
static enum err_code finish_batch(struct answers *answers, struct err *err)
{
    struct answers_row *good[BATCH_ROWS];
    unsigned count = 0;
    for (unsigned i = 0; i < answers->row_count; i++)
        if (answers->rows[i].err.code == ERR_OK)
            good[count++] = &answers->rows[i];
    if (answers->writes && err->code == ERR_OK)
        write_rows(answers, good, count, err);
    else if (!answers->writes)
        run_rows(answers, good, count);
    for (unsigned i = 0; i < answers->row_count; i++) {
        struct answers_row *row = &answers->rows[i];
        if (err->code == ERR_OK)
            give_row(answers, row, err);
        arena_deinit(&row->arena);
    }
    answers->row_count = answers->tokens = 0;
    return err->code;
}

/* The row that did not fit becomes the first of the next batch. */
static enum err_code finish_all_but(struct answers *answers, struct answers_row *last,
                                    struct err *err)
{
    struct answers_row kept = *last;
    answers->row_count--;
    if (finish_batch(answers, err)) {
        arena_deinit(&kept.arena);
        return err->code;
    }
    answers->rows[answers->row_count++] = kept;
    return ERR_OK;
}

static enum err_code add(struct answers *answers, unsigned index, struct err *err)
{
    if (answers->row_count == BATCH_ROWS && finish_batch(answers, err))
        return err->code;
    struct answers_row *row = &answers->rows[answers->row_count++];
    *row = (struct answers_row){.index = index};
    arena_init(&row->arena);
    if (prepare(answers, row) != ERR_OK)
        return ERR_OK;
    unsigned tokens = row->prepared.tokens;
    if (!answers->writes && answers->tokens > 0 && answers->tokens + tokens > answers->tokens_max &&
        finish_all_but(answers, row, err))
        return err->code;
    answers->tokens += tokens;
    return ERR_OK;
}

enum err_code answers_run(struct answers *answers, unsigned first, unsigned count,
                          const struct answers_source *source, struct err *err)
{
    answers->source = source;
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
        add(answers, first + i, err);
    struct err rest = *err; /* what is prepared is given back */
    finish_batch(answers, err->code == ERR_OK ? err : &rest);
    return err->code;
}
