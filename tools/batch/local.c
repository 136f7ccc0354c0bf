#include "tools/batch/batch_run.h"

#include "learn/eval/measure/input_reader.h"

#include <stdlib.h>

struct local {
    const struct local_model *model;
    struct answers *answers;
    struct input_reader reader;
    struct record_input inputs[CHUNK_INPUTS]; /* strings are the records' or their rows' */
    struct chunk *chunk;
    FILE *file; /* of the chunk */
};

enum err_code local_model_open(struct local_model *out, const struct local_options *options,
                               struct err *err)
{
    *out = (struct local_model){.options = options};
    return answers_model_open(&out->answers, &options->answers, err);
}

void local_model_close(struct local_model *model)
{
    answers_model_close(&model->answers);
}

enum err_code local_open(struct local **out, const struct local_model *model, struct err *err)
{
    struct local *local = calloc(1, sizeof *local);
    *out = local;
    if (local == NULL)
        return err_no_memory(err, sizeof *local);
    local->model = model;
    local->reader.model = model->answers.engine;
    local->reader.prompt_name = model->options->answers.prompt_name;
    local->reader.reading.aggregation = model->answers.asking.aggregation;
    local->reader.reading.vectors = model->answers.asking.vector.chunks;
    if (model->answers.asking.write.is_given)
        local->reader.writing = &model->answers.asking.write.writing;
    return answers_open(&local->answers, &model->answers, err);
}

void local_close(struct local *local)
{
    if (local == NULL)
        return;
    input_reader_close(&local->reader);
    answers_close(local->answers);
    free(local);
}

static void prepare(void *context, struct answers_row *row)
{
    struct local *local = context;
    const struct record *record = &local->chunk->records[row->index];
    struct record_input *input = &local->inputs[row->index];
    const struct engine_info *info = engine_describe(local->reader.model);
    local->reader.question = local->model->answers.asking.question;
    if (record_parse(record, info->kind == ENGINE_IMAGE, info->task == ENGINE_ANSWER, &row->arena,
                     input, &row->err)) {
        err_prefix(&row->err, "%s: line %u: ", input->listed.file, record->line);
        return;
    }
    if (input->question != NULL) {
        local->reader.question.text = input->question;
        local->reader.question.len = input->question_len;
    }
    input_reader_prepare(&local->reader, &input->listed, &row->arena, &row->prepared, &row->err);
    row->text = local->reader.text;
    row->text_len = local->reader.text_len;
}

static enum err_code take(void *context, struct json_t *object, const struct answers_row *row,
                          struct err *err)
{
    struct local *local = context;
    if (row->err.code != ERR_OK)
        chunk_fail(local->chunk, row->err.text);
    return result_write(&local->model->options->format, object, &local->inputs[row->index],
                        local->file, err);
}

enum err_code local_answer(struct local *local, struct chunk *chunk, struct err *err)
{
    const struct answers_source source = {.context = local, .prepare = prepare, .take = take};
    local->chunk = chunk;
    local->file = open_memstream(&chunk->lines, &chunk->lines_len);
    if (local->file == NULL)
        return err_no_memory(err, 0);
    answers_run(local->answers, 0, chunk->count, &source, err);
    if (fclose(local->file) != 0)
        err_no_memory(err, chunk->lines_len);
    return err->code;
}
