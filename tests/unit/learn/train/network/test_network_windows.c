/* A text in windows, in training: its logits are the engine's, and its gradients those of its
 * windows alone where they add up, or a directional derivative's. */
#include "engine/engine.h"
#include "learn/train/network/network_state.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/golden/bert-3"
enum { WINDOWS = 3, LABELS_MAX = 12, IDS_MAX = 128 };

struct fixture {
    struct engine_model *model;
    struct spec spec;
    struct parameters parameters;
    struct network *network;
    struct arena arena;
    struct engine_input parts[WINDOWS]; /* the windows as inputs of their own */
    struct engine_input text;           /* all but the last, as one */
    int32_t ids[IDS_MAX];
    unsigned offset[WINDOWS + 1];
    struct err err;
};

static void prepare(struct fixture *f)
{
    static const char *const texts[WINDOWS] = {"supply current above limit on bin 7",
                                               "memory bist: repairable", "pin 7"};
    for (unsigned i = 0; i < WINDOWS; i++) {
        struct engine_input *part = &f->parts[i];
        ck_assert(!engine_prepare(f->model, text_source(texts[i]), NULL, &f->arena, part, &f->err));
        f->offset[i + 1] = f->offset[i] + part->tokens;
        ck_assert_uint_le(f->offset[i + 1], IDS_MAX);
        memcpy(f->ids + f->offset[i], part->ids, part->tokens * sizeof *f->ids);
    }
    f->text = (struct engine_input){.kind = ENGINE_TEXT,
                                    .tokens = f->offset[WINDOWS - 1],
                                    .ids = f->ids,
                                    .windows = WINDOWS - 1,
                                    .window_offset = f->offset};
}

static void setup(struct fixture *f, enum window_pooling pooling)
{
    const struct network_options options = {.threads = 2, .tokens_max = IDS_MAX};
    struct checkpoint *checkpoint;
    struct parameters_loaded loaded;
    *f = (struct fixture){0};
    arena_init(&f->arena);
    ck_assert(!engine_open(&f->model, MODEL, &(struct engine_options){0}, &f->err));
    ck_assert(!spec_read(&f->spec, MODEL, &f->arena, &f->err));
    f->spec.long_text.pooling = pooling;
    ck_assert(!parameters_open(&f->parameters, &f->spec, HEAD_CLASSIFIER, &f->err));
    ck_assert(!checkpoint_open(&checkpoint, MODEL, &f->err));
    ck_assert(!parameters_load(&f->parameters, checkpoint, &loaded, &f->err));
    checkpoint_close(checkpoint);
    ck_assert(!network_open(&f->network, &f->parameters, &options, &f->err));
    network_repack(f->network, f->parameters.values);
    prepare(f);
}

static void drop(struct fixture *f)
{
    network_close(f->network);
    parameters_close(&f->parameters);
    engine_close(f->model);
    arena_deinit(&f->arena);
}

static const float *forward(struct fixture *f, const struct engine_input *const *inputs,
                            unsigned rows)
{
    network_forward(f->network,
                    &(struct network_batch){.inputs = inputs, .rows = rows, .training = true});
    return network_logits(f->network);
}

/* The text in windows, and a plain one beside it. */
static const float *forward_both(struct fixture *f)
{
    const struct engine_input *const inputs[] = {&f->text, &f->parts[WINDOWS - 1]};
    return forward(f, inputs, 2);
}

static float *copy_gradient(struct fixture *f, const float *dlogits)
{
    const size_t bytes = f->parameters.numbers * sizeof(float);
    float *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    network_backward(f->network, dlogits, 1);
    memcpy(copy, network_gradient(f->network), bytes);
    memset(network_gradient(f->network), 0, bytes);
    return copy;
}

START_TEST(logits_and_features_of_windows_are_the_engines)
{
    struct fixture f;
    struct engine_session *session;
    float logits[2][LABELS_MAX];
    setup(&f, WINDOW_MAX); /* as the engine, which reads no attnd.json here */
    ck_assert(!engine_session_open(&session, f.model, IDS_MAX, 1, &f.err));
    run_logits(session, (const struct engine_input *[]){&f.text, &f.parts[WINDOWS - 1]}, 2,
               (float *[]){logits[0], logits[1]});
    const float *found = forward_both(&f), *features = f.network->head.features.x;
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_double_lt(numbers_relative_difference(found + i * f.spec.label_count, logits[i],
                                                        f.spec.label_count),
                            1e-5);
        ck_assert_double_lt(numbers_relative_difference(features + (size_t)i * f.spec.hidden,
                                                        run_features[i], f.spec.hidden),
                            1e-5);
    }
    engine_session_close(session);
    drop(&f);
}
END_TEST

/* The mean of features has the mean of logits, so each window gets half of what the text gets. */
START_TEST(the_mean_shares_the_gradient_out_to_its_windows)
{
    struct fixture f;
    setup(&f, WINDOW_MEAN);
    const unsigned labels = f.spec.label_count;
    float *dlogits = numbers_new((size_t)WINDOWS * labels, 1, 3);
    const struct engine_input *const all[] = {&f.parts[0], &f.parts[1], &f.parts[2]};
    forward_both(&f);
    float *found = copy_gradient(&f, dlogits);
    memmove(dlogits + 2 * labels, dlogits + labels, labels * sizeof *dlogits);
    for (unsigned i = 0; i < labels; i++)
        dlogits[i] = dlogits[labels + i] = dlogits[i] / 2;
    forward(&f, all, WINDOWS);
    float *expected = copy_gradient(&f, dlogits);
    ck_assert_double_lt(numbers_relative_difference(found, expected, f.parameters.numbers), 1e-5);
    free(found);
    free(expected);
    free(dlogits);
    drop(&f);
}
END_TEST

static double loss_of(struct fixture *f, const float *dlogits)
{
    network_repack(f->network, f->parameters.values);
    const float *logits = forward_both(f);
    double loss = 0;
    for (size_t i = 0; i < 2 * (size_t)f->spec.label_count; i++)
        loss += (double)dlogits[i] * logits[i];
    return loss;
}

static void move(struct fixture *f, const float *direction, double step)
{
    for (size_t i = 0; i < f->parameters.numbers; i++)
        f->parameters.values[i] += (float)(step * direction[i]);
}

/* Along the gradient a loss rises by the gradient's square. */
START_TEST(the_gradient_of_either_pooling_is_the_slope_along_it)
{
    for (unsigned pooling = WINDOW_MAX; pooling <= WINDOW_MEAN; pooling++) {
        struct fixture f;
        double square = 0, loss[2];
        setup(&f, (enum window_pooling)pooling);
        float *dlogits = numbers_new(2 * (size_t)f.spec.label_count, 1, 3);
        loss_of(&f, dlogits);
        float *gradient = copy_gradient(&f, dlogits);
        for (size_t i = 0; i < f.parameters.numbers; i++)
            square += (double)gradient[i] * gradient[i];
        const double step = 1e-3 / sqrt(square);
        move(&f, gradient, step);
        loss[0] = loss_of(&f, dlogits);
        move(&f, gradient, -2 * step);
        loss[1] = loss_of(&f, dlogits);
        ck_assert_double_lt(fabs((loss[0] - loss[1]) / (2 * step) / square - 1), 2e-2);
        free(gradient);
        free(dlogits);
        drop(&f);
    }
}
END_TEST

SUITE("network_windows", logits_and_features_of_windows_are_the_engines,
      the_mean_shares_the_gradient_out_to_its_windows,
      the_gradient_of_either_pooling_is_the_slope_along_it)
