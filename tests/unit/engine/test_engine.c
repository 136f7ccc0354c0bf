#include "engine/base/thread_pool.h"
#include "engine/engine.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <string.h>

static struct checkpoint_writer writer;
static struct err err;

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"num_labels\": 3}";

/* Opens a small BERT. The caller sets its faults in `writer` beforehand. */
static struct engine_model *open_bert(const char *leave_out, const char *misshape,
                                      const char *mistype, const char *extra)
{
    struct engine_model *model;
    err = (struct err){0};
    checkpoint_writer_open(&writer);
    writer.leave_out = leave_out;
    writer.misshape = misshape;
    writer.mistype = mistype;
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, 3);
    if (extra != NULL)
        checkpoint_writer_add(&writer, extra, 5, 0);
    checkpoint_writer_finish(&writer);
    enum err_code code = engine_open(&model, writer.dir, &(struct engine_options){0}, &err);
    ck_assert_int_eq(code, err.code);
    checkpoint_writer_close(&writer);
    return model;
}

static void ck_refused(const char *word)
{
    ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, word) != NULL, "'%s' does not name '%s'", err.text, word);
}

START_TEST(engine_refuses_a_missing_tensor_by_name)
{
    static const char *const names[] = {"bert.embeddings.word_embeddings.weight",
                                        "bert.embeddings.LayerNorm.weight",
                                        "bert.embeddings.LayerNorm.bias",
                                        "bert.encoder.layer.0.attention.self.query.weight",
                                        "classifier.weight",
                                        "bert.encoder.layer.1.attention.self.key.bias",
                                        "bert.encoder.layer.0.output.dense.weight",
                                        "bert.pooler.dense.weight",
                                        "classifier.bias"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ck_assert_ptr_null(open_bert(names[i], NULL, NULL, NULL));
        ck_refused(names[i]);
    }
}
END_TEST

START_TEST(engine_refuses_a_tensor_of_the_wrong_shape_with_both_shapes)
{
    ck_assert_ptr_null(open_bert(NULL, "classifier.weight", NULL, NULL));
    ck_refused("classifier.weight");
    ck_refused("[4, 16]");
    ck_refused("[3, 16]");
}
END_TEST

START_TEST(engine_refuses_a_bound_tensor_of_the_wrong_dtype)
{
    ck_assert_ptr_null(open_bert(NULL, NULL, "bert.pooler.dense.bias", NULL));
    ck_refused("bert.pooler.dense.bias");
    ck_refused("I32");
}
END_TEST

START_TEST(engine_ignores_and_lists_tensors_that_nothing_binds)
{
    struct engine_model *model = open_bert(NULL, NULL, NULL, "bert.embeddings.position_ids");
    ck_assert_msg(model != NULL, "%s", err.text);
    ck_assert_uint_eq(engine_describe(model)->unbound_count, 1);
    ck_assert_str_eq(engine_describe(model)->unbound[0], "bert.embeddings.position_ids");
    engine_close(model);
}
END_TEST

START_TEST(engine_describes_what_it_opened)
{
    struct engine_model *model = open_bert(NULL, NULL, NULL, NULL);
    ck_assert_msg(model != NULL, "%s", err.text);
    const struct engine_info *info = engine_describe(model);
    ck_assert_int_eq(info->kind, ENGINE_TEXT);
    ck_assert_str_eq(info->family, "bert");
    ck_assert_ptr_nonnull(info->kernels);
    ck_assert_uint_eq(info->tokens_max, 32);
    ck_assert_uint_eq(info->label_count, 3);
    size_t layer = 4 * (16 * 16 + 16) + 2 * 16 * 24 + 24 + 16 + 4 * 16;
    size_t rest = (40 + 32 + 2) * 16 + 32 + 16 * 16 + 16 + 3 * 16 + 3;
    ck_assert_uint_eq(info->parameters, 2 * layer + rest);
    engine_close(model);
}
END_TEST

START_TEST(engine_refuses_unknown_backends_and_dtypes)
{
    struct engine_model *model;
    struct engine_options backend = {.linear_backend = "cuda"}, dtype = {.dtype = "fp4"};
    err = (struct err){0};
    ck_assert_int_eq(engine_open(&model, "nowhere", &backend, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "cuda"));
    err = (struct err){0};
    ck_assert_int_eq(engine_open(&model, "nowhere", &dtype, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "fp4"));
}
END_TEST

START_TEST(engine_refuses_a_text_without_a_token)
{
    struct engine_model *model = open_bert(NULL, NULL, NULL, NULL);
    ck_assert_msg(model != NULL, "%s", err.text);
    static const char *const blanks[] = {"", " ", "\t\n", "\x01\x02"};
    for (size_t i = 0; i < 4; i++) {
        struct arena arena;
        struct engine_input input;
        arena_init(&arena);
        err = (struct err){0};
        engine_prepare(model, text_source(blanks[i]), NULL, &arena, &input, &err);
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        arena_deinit(&arena);
    }
    engine_close(model);
}
END_TEST

/* The logits of one text, on whatever pool the session has. */
static void run_text(struct engine_session *session, const struct engine_model *model,
                     float logits[3])
{
    struct arena arena;
    struct engine_input input = {0};
    struct err why = {0};
    arena_init(&arena);
    ck_assert_msg(!engine_prepare(model, text_source("a b c"), NULL, &arena, &input, &why), "%s",
                  why.text);
    run_logits_one(session, &input, logits);
    arena_deinit(&arena);
}

/* The session gives the same logits as on a pool of its own. The pools still are the lender's when
 * it is closed. */
START_TEST(engine_runs_a_session_on_the_pool_that_it_is_lent)
{
    struct engine_model *model = open_bert(NULL, NULL, NULL, NULL);
    struct engine_session *own, *others[2];
    struct thread_pool *pools[2];
    float expected[3], logits[3];
    ck_assert_msg(model != NULL, "%s", err.text);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(thread_pool_open(&pools[i], 3 - i, &err), ERR_OK);
    ck_assert_int_eq(engine_session_open(&own, model, 32, 3, &err), ERR_OK);
    for (unsigned i = 0; i < 2; i++) /* they share one, and run in turn */
        ck_assert_int_eq(engine_session_open_on(&others[i], model, 32, pools[0], &err), ERR_OK);
    run_text(own, model, expected);
    for (unsigned i = 0; i < 2; i++) {
        run_text(others[i], model, logits);
        ck_assert_mem_eq(logits, expected, sizeof expected);
    }
    engine_session_lend(others[0], pools[1]); /* a smaller one */
    engine_session_close(others[1]);
    thread_pool_close(pools[0]);
    run_text(others[0], model, logits);
    ck_assert_mem_eq(logits, expected, sizeof expected);
    engine_session_close(others[0]);
    ck_assert_uint_eq(thread_pool_size(pools[1]), 2);
    thread_pool_close(pools[1]);
    engine_session_close(own);
    engine_session_close(NULL);
    engine_close(model);
}
END_TEST

SUITE("engine", engine_refuses_a_missing_tensor_by_name,
      engine_refuses_a_tensor_of_the_wrong_shape_with_both_shapes,
      engine_refuses_a_bound_tensor_of_the_wrong_dtype,
      engine_ignores_and_lists_tensors_that_nothing_binds, engine_describes_what_it_opened,
      engine_refuses_unknown_backends_and_dtypes, engine_refuses_a_text_without_a_token,
      engine_runs_a_session_on_the_pool_that_it_is_lent)
