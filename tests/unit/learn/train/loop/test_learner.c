/* learner.h: parameters, network and optimiser as one, at one image size and then at another. */
#include "learn/train/loop/learner.h"
#include "learn/train/loop/run.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 7 };

static struct train_fixture f;
static struct run run;
static struct err err;
static struct learner *const learner = &run.learner;

static void open_run(void)
{
    static const struct corpus_progress nobody;
    err = (struct err){0};
    f.options.batch = BATCH;
    f.options.dropout = f.options.attention_dropout = 0;
    ck_assert_msg(!run_open(&run, &f.options, &nobody, &err), "%s", err.text);
}

static void close_run(void)
{
    run_close(&run);
    train_fixture_close(&f);
}

/* The first inputs to learn, as serving prepares them; words masked for masked words. */
static void prepare(unsigned count)
{
    struct data_loader_order order = {
        .view = &run.plan.judging, .masks = (run.task == TRAIN_MLM), .seed = 1};
    struct thread_pool *pool = network_pool(learner->network);
    ck_assert(!data_loader_prepare(&run.loader, pool, run.corpus.train.item, count, &order, &err));
}

/* dL/dvalues of the prepared batch; its loss. */
static double gradient_of(float *out, const float *teacher)
{
    const float *rows[BATCH];
    struct learner_targets targets = {.rows = rows, .teacher = teacher};
    size_t bytes = learner->parameters.numbers * sizeof(float);
    double value = -1;
    for (unsigned i = 0; i < BATCH; i++)
        rows[i] = run.corpus.train.targets + (size_t)i * run.corpus.labels.count;
    memset(network_gradient(learner->network), 0, bytes);
    ck_assert(!learner_batch(learner, &run.loader, &run.loss, &targets, 0, &value, &err));
    memcpy(out, network_gradient(learner->network), bytes);
    return value;
}

static float *room(void)
{
    return calloc(learner->parameters.numbers, sizeof(float));
}

/* ---- a batch ---- */

START_TEST(a_batch_has_the_mean_loss_of_its_rows)
{
    float logits[BATCH][2], teacher[BATCH][2], unused[2];
    double loss = 0, taught = 0, slopes[2] = {0};
    train_fixture_texts(&f);
    open_run();
    run.loss.teacher_share = 0.25f;
    prepare(BATCH);
    learner_logits(learner, &run.loader, logits[0]);
    numbers_fill(teacher[0], (size_t)BATCH * 2, 1, 5);
    for (unsigned i = 0; i < BATCH; i++) {
        const float *target = run.corpus.train.targets + (size_t)i * 2;
        loss += loss_run(&run.loss, logits[i], target, NULL, 1.0f / BATCH, unused);
        slopes[0] += (double)unused[0];
        slopes[1] += (double)unused[1];
        taught += loss_run(&run.loss, logits[i], target, teacher[i], 1, unused);
    }
    float *gradient = room();
    ck_assert_double_eq_tol(gradient_of(gradient, NULL), loss / BATCH, 1e-6);
    for (unsigned k = 0; k < 2; k++) /* of a bias: the sum of what reaches the logits */
        ck_assert_double_eq_tol((double)gradient[learner->parameters.map.classifier_bias + k],
                                slopes[k], 1e-6);
    ck_assert_double_eq_tol(gradient_of(gradient, teacher[0]), taught / BATCH, 1e-6);
    ck_assert_uint_eq(learner->dlogits_numbers, BATCH * 2);
    free(gradient);
    close_run();
}
END_TEST

/* Logits, loss and gradient, and those of masked words, do not depend on the cut. */
static void expect_same_in_parts(void)
{
    float logits[2][BATCH * 2], *gradient[2];
    double loss[2], words_loss[2] = {0};
    size_t words[2] = {0}, hits[2] = {0};
    open_run();
    prepare(BATCH);
    for (unsigned i = 0; i < 2; i++) {
        learner->setup.network.tokens_max = i == 0 ? learner->setup.network.tokens_max : 13;
        gradient[i] = room();
        loss[i] = gradient_of(gradient[i], NULL);
        if (run.task == TRAIN_MLM)
            ck_assert(!learner_words(learner, &run.loader, &words_loss[i], &words[i], &hits[i],
                                     NULL, &err));
        else
            learner_logits(learner, &run.loader, logits[i]);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-6);
    ck_assert_double_gt(loss[0], 0.1);
    ck_assert_double_lt(
        numbers_relative_difference(gradient[0], gradient[1], learner->parameters.numbers), 1e-4);
    if (run.task == TRAIN_MLM) {
        ck_assert(words[0] >= BATCH && words[0] == words[1] && hits[0] == hits[1]);
        ck_assert_double_eq_tol(words_loss[0], words_loss[1], 1e-5);
        ck_assert_double_eq_tol(words_loss[0] / (double)words[0], loss[0], 1e-5);
    } else {
        ck_assert_double_lt(numbers_difference(logits[0], logits[1], (size_t)BATCH * 2), 1e-6);
    }
    free(gradient[0]);
    free(gradient[1]);
    close_run();
}

START_TEST(parts_give_the_gradient_of_the_whole)
{
    train_fixture_texts(&f);
    f.options.entropy = 0.5f; /* counts by each part's share */
    expect_same_in_parts();
    train_fixture_texts(&f);
    f.options.task = "mlm";
    expect_same_in_parts();
}
END_TEST

/* Every word's loss and whether it is found, one input at a time, from the network itself. */
START_TEST(masked_words_are_counted_where_they_are)
{
    double expected = 0, loss = 0, slopes[9] = {0};
    size_t judged = 0, found = 0, words = 0, hits = 0;
    train_fixture_texts(&f);
    f.options.task = "mlm";
    open_run();
    float *values = learner->parameters.values;
    for (size_t i = 0; i < learner->parameters.numbers; i++)
        values[i] *= 20;
    network_repack(learner->network, values);
    prepare(BATCH);
    for (unsigned row = 0; row < BATCH; row++) {
        const struct samples_targets *masked = &run.loader.targets[row];
        struct network_batch batch = {.inputs = run.loader.listed + row,
                                      .rows = 1,
                                      .kept = masked->places,
                                      .kept_count = masked->count};
        network_forward(learner->network, &batch);
        for (unsigned i = 0; i < masked->count; i++) {
            const float *logits = network_logits(learner->network) + (size_t)i * 9;
            double sum = 0;
            unsigned above = 0;
            for (unsigned k = 0; k < 9; k++)
                sum += exp(logits[k] - logits[masked->ids[i]]);
            for (unsigned k = 0; k < 9; k++) {
                slopes[k] += exp(logits[k] - logits[masked->ids[i]]) / sum;
                above += logits[k] > logits[masked->ids[i]];
            }
            slopes[masked->ids[i]] -= 1;
            expected += log(sum);
            found += above == 0;
        }
        judged += masked->count;
    }
    loss = 100;
    words = 10;
    hits = 20;
    ck_assert(!learner_words(learner, &run.loader, &loss, &words, &hits, NULL, &err));
    ck_assert_double_eq_tol(loss, 100 + expected, 1e-4); /* added up */
    ck_assert(words == 10 + judged && hits == 20 + found && found > 0 && found < judged);
    float *gradient = room();
    ck_assert_double_eq_tol(gradient_of(gradient, NULL), expected / (double)judged, 1e-5);
    for (unsigned k = 0; k < 9; k++)
        ck_assert_double_eq_tol((double)gradient[learner->parameters.map.mlm_bias + k],
                                slopes[k] / (double)judged, 1e-5);
    free(gradient);
    close_run();
}
END_TEST

/* A text of special tokens alone has no word to mask: there is nothing to learn. */
START_TEST(a_batch_without_words_is_nothing)
{
    static const char list[] = "{\"text\":\"[SEP]\"}\n{\"text\":\"red\"}\n";
    double loss = 0;
    size_t words = 0, hits = 0;
    train_fixture_texts(&f);
    tempdir_write(&f.data, "list.jsonl", list, strlen(list));
    f.options.task = "mlm";
    f.options.validation = f.list;
    open_run();
    float *gradient = room(), *zeros = room();
    prepare(1);
    ck_assert_uint_eq(run.loader.targets[0].count, 0);
    ck_assert_double_eq(gradient_of(gradient, NULL), 0);
    ck_assert_mem_eq(gradient, zeros, learner->parameters.numbers * sizeof(float));
    ck_assert(!learner_words(learner, &run.loader, &loss, &words, &hits, NULL, &err));
    ck_assert(loss == 0 && words == 0 && hits == 0);
    prepare(2);
    ck_assert_double_gt(gradient_of(gradient, NULL), 0);
    free(gradient);
    free(zeros);
    close_run();
}
END_TEST

/* Masks are drawn by the batch's place in the run and by the seed. */
START_TEST(dropout_is_drawn_by_position_and_seed)
{
    double value[4];
    const float *rows[BATCH];
    struct learner_targets targets = {.rows = rows};
    train_fixture_texts(&f);
    f.options.batch = BATCH;
    open_run();
    run_close(&run);
    f.options.dropout = 0.4f;
    static const struct corpus_progress nobody;
    ck_assert(!run_open(&run, &f.options, &nobody, &err));
    for (size_t i = 0; i < learner->parameters.numbers; i++)
        learner->parameters.values[i] *= 20;
    network_repack(learner->network, learner->parameters.values);
    prepare(BATCH);
    for (unsigned i = 0; i < BATCH; i++)
        rows[i] = run.corpus.train.targets + (size_t)i * 2;
    for (unsigned i = 0; i < 4; i++) {
        learner->setup.seed = i == 3 ? 1 : 0;
        ck_assert(!learner_batch(learner, &run.loader, &run.loss, &targets, i == 1 ? 8 : 0,
                                 &value[i], &err));
    }
    ck_assert_double_eq(value[0], value[2]);
    ck_assert(value[0] != value[1] && value[0] != value[3]);
    close_run();
}
END_TEST

/* ---- steps, and what is best ---- */

START_TEST(a_step_moves_the_weights_and_what_is_computed_with_them)
{
    float before[BATCH][2], after[BATCH][2], paused[BATCH][2];
    train_fixture_texts(&f);
    f.options.average = 0.5f;
    open_run();
    size_t bytes = learner->parameters.numbers * sizeof(float);
    float *gradient = room(), *start = room();
    memcpy(start, learner->parameters.values, bytes);
    ck_assert_mem_eq(learner->best, start, bytes);
    prepare(BATCH);
    learner_logits(learner, &run.loader, before[0]);
    gradient_of(gradient, NULL);
    struct optimizer_report report = learner_step(learner, 0.05f);
    ck_assert(report.norm > 0 && !report.skipped && learner->optimizer.steps == 1);
    ck_assert_mem_ne(learner->parameters.values, start, bytes);
    ck_assert_mem_eq(learner->best, start, bytes);
    learner_logits(learner, &run.loader, after[0]);
    ck_assert_mem_ne(before, after, sizeof before);
    learner_pause(learner); /* the average is between the two */
    learner_logits(learner, &run.loader, paused[0]);
    ck_assert_mem_ne(paused, after, sizeof paused);
    ck_assert_mem_ne(paused, before, sizeof paused);
    learner_resume(learner);
    learner_logits(learner, &run.loader, paused[0]);
    ck_assert_mem_eq(paused, after, sizeof paused);
    learner_keep(learner);
    ck_assert_mem_eq(learner->best, learner->optimizer.average, bytes);
    free(gradient);
    free(start);
    close_run();
}
END_TEST

START_TEST(learner_leaves_frozen_parameters_unchanged)
{
    train_fixture_texts(&f);
    open_run();
    size_t bytes = learner->parameters.numbers * sizeof(float);
    float *gradient = room(), *start = room();
    memcpy(start, learner->parameters.values, bytes);
    const struct network *network = learner->network;
    ck_assert(!learner_freeze(learner, 0, &err));
    ck_assert_ptr_eq(learner->network, network); /* nothing changes: nothing is opened */
    ck_assert(!learner_freeze(learner, 3, &err));
    ck_assert_uint_eq(learner->setup.network.frozen_depth, 3);
    prepare(BATCH);
    gradient_of(gradient, NULL);
    learner_step(learner, 0.05f);
    for (unsigned i = 0; i < learner->parameters.count; i++) {
        const struct parameter *tensor = &learner->parameters.list[i];
        bool same = memcmp(start + tensor->offset, learner->parameters.values + tensor->offset,
                           tensor->row.count * sizeof(float)) == 0;
        ck_assert_msg(same == (tensor->row.depth < 3), "%s", tensor->row.name);
    }
    free(gradient);
    free(start);
    close_run();
}
END_TEST

/* ---- another image size ---- */

static void expect_resized(const float *now, const struct parameters *from, const float *was)
{
    float *want = room();
    ck_assert(!parameters_resize(from, was, &learner->parameters, want, &err));
    ck_assert_mem_eq(now, want, learner->parameters.numbers * sizeof(float));
    free(want);
}

static void fill_arrays(void)
{
    size_t numbers = learner->parameters.numbers;
    float *arrays[] = {learner->parameters.values, learner->optimizer.m, learner->optimizer.v,
                       learner->optimizer.average, learner->best};
    for (unsigned i = 0; i < 5; i++)
        numbers_fill(arrays[i], numbers, 1, i + 1);
}

START_TEST(learner_keeps_its_state_at_another_image_size)
{
    struct parameters from = {0};
    float *was[5];
    train_fixture_images(&f, "right");
    f.options.average = 0.5f;
    open_run();
    fill_arrays();
    learner->optimizer.steps = 9;
    learner->loaded.found = 4;
    ck_assert(!parameters_open(&from, &learner->setup.spec, HEAD_CLASSIFIER, &err));
    for (unsigned i = 0; i < 5; i++) {
        was[i] = calloc(from.numbers, sizeof(float));
        numbers_fill(was[i], from.numbers, 1, i + 1);
    }
    const struct network *network = learner->network;
    ck_assert(!learner_resize(learner, 16, &err));
    ck_assert_ptr_eq(learner->network, network);
    ck_assert(!learner_resize(learner, 24, &err));
    ck_assert(learner->setup.spec.image_size.width == 24 && learner->setup.spec.patches == 36);
    ck_assert(learner->optimizer.steps == 9 && learner->loaded.found == 4);
    ck_assert_ptr_eq(learner->optimizer.parameters, &learner->parameters);
    expect_resized(learner->parameters.values, &from, was[0]);
    expect_resized(learner->optimizer.average, &from, was[3]);
    expect_resized(learner->best, &from, was[4]);
    const struct parameters_map *map = &learner->parameters.map;
    double sum = 0;
    size_t old = 17 * 24, new = 37 * 24;
    for (size_t i = 0; i < old; i++)
        sum += was[2][from.map.position + i];
    for (size_t i = 0; i < new; i++) {
        ck_assert_float_eq(learner->optimizer.m[map->position + i], 0);
        ck_assert_float_eq(learner->optimizer.v[map->position + i], (float)(sum / (double)old));
    }
    ck_assert_mem_eq(learner->optimizer.m + map->classifier_weight,
                     was[1] + from.map.classifier_weight, 48 * sizeof(float));
    ck_assert_mem_eq(learner->optimizer.v + map->classifier_weight,
                     was[2] + from.map.classifier_weight, 48 * sizeof(float));
    run.plan.judging.image_size = extent_square(24); /* its network runs at once */
    float logits[BATCH][2];
    prepare(BATCH);
    learner_logits(learner, &run.loader, logits[0]);
    for (unsigned i = 0; i < BATCH; i++)
        ck_assert(isfinite(logits[i][0]) && logits[i][0] != 0);
    for (unsigned i = 0; i < 5; i++)
        free(was[i]);
    parameters_close(&from);
    close_run();
}
END_TEST

START_TEST(a_structured_beginning_is_also_the_averages)
{
    train_fixture_images(&f, "right");
    f.options.init = "structured";
    f.options.average = 0.5f;
    open_run();
    size_t bytes = learner->parameters.numbers * sizeof(float);
    ck_assert_mem_eq(learner->best, learner->parameters.values, bytes);
    ck_assert_mem_eq(learner->optimizer.average, learner->parameters.values, bytes);
    run.loader.rows = 0; /* no input: nothing is fitted, nothing changes */
    learner->best[0] = 123;
    learner_sharpen(learner, &run.loader);
    ck_assert_float_eq(learner->best[0], 123);
    close_run();
}
END_TEST

SUITE("learner", a_batch_has_the_mean_loss_of_its_rows, parts_give_the_gradient_of_the_whole,
      masked_words_are_counted_where_they_are, a_batch_without_words_is_nothing,
      dropout_is_drawn_by_position_and_seed,
      a_step_moves_the_weights_and_what_is_computed_with_them,
      learner_leaves_frozen_parameters_unchanged, learner_keeps_its_state_at_another_image_size,
      a_structured_beginning_is_also_the_averages)
