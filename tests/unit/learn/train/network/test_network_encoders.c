/* The trainer's network on the encoders of tests/data/encoders: the reference's logits, the loss of
 * their cases and every tensor's gradient as PyTorch computes them (tests/reference/
 * encoder_gradients.py), and what an export of changed weights answers. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "learn/train/checkpoint/export.h"
#include "learn/train/network/network.h"
#include "tests/support/encoder_model.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/step.h"
#include "tests/support/suite.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 12, TOKENS_MAX = 900 };

struct learning {
    struct encoder_model files;
    struct spec spec;
    struct parameters parameters;
    struct network *network;
    struct arena arena;
    struct network_batch batch;
    const struct engine_input *inputs[ROWS_MAX];
};

static struct encoder_case cases[ROWS_MAX];

static void must(const struct err *err)
{
    ck_assert_msg(err->code == ERR_OK, "%s", err->text);
}

/* The pad token of the checkpoint's config.json. */
static long long pad_of(const struct learning *learning)
{
    char path[PATH_MAX];
    struct json_t *config;
    struct err err = {0};
    long long pad = -1;
    file_path(path, learning->files.dir.path, "config.json", &err);
    doc_parse_file(&config, path, 1 << 20, &err);
    must(&err);
    doc_get_integer(config, "$", "pad_token_id", 0, INT_MAX, &pad, &err);
    doc_free(config);
    ck_assert_int_ge(pad, 0);
    return pad;
}

static bool has_pad(long long pad, const struct encoder_case *one)
{
    for (unsigned t = 0; t < one->input.tokens; t++)
        if (one->ids[t] == pad)
            return true;
    return false;
}

static void open_network(struct learning *learning)
{
    struct err err = {0};
    struct checkpoint *checkpoint;
    struct parameters_loaded loaded;
    const struct network_options options = {.threads = 2, .tokens_max = TOKENS_MAX};
    spec_read(&learning->spec, learning->files.dir.path, &learning->arena, &err);
    must(&err);
    parameters_open(&learning->parameters, &learning->spec, HEAD_CLASSIFIER, &err);
    checkpoint_open(&checkpoint, learning->files.dir.path, &err);
    must(&err);
    parameters_load(&learning->parameters, checkpoint, &loaded, &err);
    must(&err);
    ck_assert_uint_eq(loaded.missing, 0);
    checkpoint_close(checkpoint);
    network_open(&learning->network, &learning->parameters, &options, &err);
    must(&err);
    network_repack(learning->network, learning->parameters.values);
}

/* The cases without a pad token are the batch. */
static void learning_open(struct learning *learning, const char *name)
{
    *learning = (struct learning){.batch = {.training = true}};
    arena_init(&learning->arena);
    encoder_model_open(&learning->files, name);
    open_network(learning);
    unsigned rows = 0;
    const long long pad = pad_of(learning);
    for (unsigned i = 0; encoder_model_case(&learning->files, i, &cases[rows]); i++)
        if (!has_pad(pad, &cases[rows])) {
            learning->inputs[rows] = &cases[rows].input;
            ck_assert_uint_lt(++rows, ROWS_MAX);
        }
    learning->batch.inputs = learning->inputs;
    learning->batch.rows = rows;
}

static void learning_close(struct learning *learning)
{
    network_close(learning->network);
    parameters_close(&learning->parameters);
    encoder_model_close(&learning->files);
    arena_deinit(&learning->arena);
}

START_TEST(the_network_answers_as_the_reference_does)
{
    for (int m = 0; m < ENCODER_MODELS - 2; m++) {
        struct learning learning;
        learning_open(&learning, encoder_models[m]);
        network_forward(learning.network, &learning.batch);
        const float *logits = network_logits(learning.network);
        for (unsigned r = 0; r < learning.batch.rows; r++, logits += learning.spec.label_count)
            for (unsigned l = 0; l < learning.spec.label_count; l++)
                ck_assert_double_eq_tol((double)logits[l], cases[r].logits[l],
                                        1e-4 * (1 + fabs(cases[r].logits[l])));
        learning_close(&learning);
    }
}
END_TEST

START_TEST(loss_and_gradients_of_a_step_are_pytorchs)
{
    for (int m = 0; m < ENCODER_MODELS - 2; m++) {
        char dir[256];
        struct learning learning;
        snprintf(dir, sizeof dir, "tests/data/encoders/%s", encoder_models[m]);
        struct json_t *expected = step_open(dir);
        learning_open(&learning, encoder_models[m]);
        step_check(encoder_models[m], learning.network, &learning.parameters, &learning.batch,
                   expected);
        learning_close(&learning);
        doc_free(expected);
    }
}
END_TEST

/* A step of plain gradient descent, written, and asked of the engine. */
START_TEST(exported_encoders_answer_as_the_trained_network)
{
    for (int m = 0; m < ENCODER_MODELS - 2; m++) {
        struct learning learning;
        struct tempdir out;
        struct engine_model *model;
        struct engine_session *session;
        struct err err = {0};
        float dlogits[ROWS_MAX * ENCODER_LABELS], logits[ENCODER_LABELS];
        learning_open(&learning, encoder_models[m]);
        unsigned labels = learning.spec.label_count;
        float *values = learning.parameters.values;
        network_forward(learning.network, &learning.batch);
        double before = step_loss(network_logits(learning.network), learning.batch.rows,
                                  learning.spec.label_count, dlogits);
        network_backward(learning.network, dlogits, 1);
        for (size_t i = 0; i < learning.parameters.numbers; i++)
            values[i] -= 1e-3f * network_gradient(learning.network)[i];
        network_repack(learning.network, values);
        network_forward(learning.network, &learning.batch);
        const float *learnt = network_logits(learning.network);
        ck_assert_double_lt(
            step_loss(learnt, learning.batch.rows, learning.spec.label_count, dlogits), before);
        tempdir_open(&out);
        const struct export what = {.parameters = &learning.parameters,
                                    .values = values,
                                    .dtype = DTYPE_F32,
                                    .source_dir = learning.files.dir.path};
        export_checkpoint(out.path, &what, &err);
        must(&err);
        engine_open(&model, out.path, &(struct engine_options){0}, &err);
        must(&err);
        engine_session_open(&session, model, 0, 1, &err);
        for (unsigned r = 0; r < learning.batch.rows; r++) {
            run_logits_one(session, learning.inputs[r], logits);
            ck_assert_msg(numbers_difference(logits, learnt + (size_t)r * labels, labels) < 2e-5,
                          "%s row %u", encoder_models[m], r);
        }
        engine_session_close(session);
        engine_close(model);
        tempdir_close(&out);
        learning_close(&learning);
    }
}
END_TEST

SUITE("network_encoders", the_network_answers_as_the_reference_does,
      loss_and_gradients_of_a_step_are_pytorchs, exported_encoders_answer_as_the_trained_network)
