/* Answers of a model that writes, in this process: what a stop leaves. */
#include "engine/base/doc.h"
#include "tests/support/suite.h"
#include "tests/support/writing_model.h"
#include "tools/answers/answers.h"

#include <stdio.h>
#include <string.h>

enum { INPUTS = 70 };

static struct answers_model model;
static unsigned taken;

static void prepare(void *context, struct answers_row *row)
{
    char text[64];
    const int len = snprintf(text, sizeof text, "Die %u of lot %u", row->index, 31 * row->index);
    const struct engine_source source = {
        .kind = ENGINE_TEXT, .bytes = text, .len = (size_t)len, .writing = context};
    engine_prepare(model.engine, &source, NULL, &row->arena, &row->prepared, &row->err);
}

static enum err_code take(void *context, struct json_t *object, const struct answers_row *row,
                          struct err *err)
{
    (void)context;
    ck_assert_uint_eq(row->index, taken++);
    ck_assert_ptr_nonnull(doc_as_string(doc_member(object, "output")));
    return err->code;
}

/* The threads of a program share the flag; whoever looks first gives up first. */
START_TEST(answers_that_are_stopped_while_they_are_written_are_not_taken)
{
    struct tempdir dir;
    struct answers *answers;
    struct err err = {0};
    atomic_bool stop = false;
    struct engine_writing writing = {.asked = generation_request_empty};
    writing.asked.max_new_tokens = 8;
    const struct answers_source source = {.context = &writing, .prepare = prepare, .take = take};
    writing_model_open(&dir, "marian-0");
    const struct answers_options options = {.dir = dir.path, .top_k = 1, .stop = &stop};
    ck_assert_msg(!answers_model_open(&model, &options, &err), "%s", err.text);
    ck_assert_msg(!answers_open(&answers, &model, &err), "%s", err.text);
    ck_assert_msg(!answers_run(answers, 0, INPUTS, &source, &err), "%s", err.text);
    ck_assert_uint_eq(taken, INPUTS);
    atomic_store(&stop, true);
    ck_assert_int_eq(answers_run(answers, 0, INPUTS, &source, &err), ERR_NOT_READY);
    ck_assert_uint_eq(taken, INPUTS);
    answers_close(answers);
    answers_model_close(&model);
    tempdir_close(&dir);
}
END_TEST

SUITE("answers", answers_that_are_stopped_while_they_are_written_are_not_taken)
