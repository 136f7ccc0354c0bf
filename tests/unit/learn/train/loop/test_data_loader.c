/* data_loader.h: inputs drawn by seed and position, whoever prepares them, and the cut into
 * parts. */
#include "learn/train/loop/data_loader.h"
#include "learn/train/loop/run.h"
#include "learn/train/network/rng_streams.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

static struct train_fixture f;
static struct run run;
static struct err err;

static void open_run(void)
{
    static const struct corpus_progress nobody;
    err = (struct err){0};
    ck_assert_msg(!run_open(&run, &f.options, &nobody, &err), "%s", err.text);
}

static void expect_parts(const unsigned *tokens, unsigned rows, unsigned tokens_max,
                         const struct data_loader_part *parts, unsigned count)
{
    struct engine_input inputs[8] = {{0}};
    struct data_loader loader = {.inputs = inputs, .rows = rows};
    struct data_loader_part part;
    unsigned at = 0, next = 0;
    for (unsigned i = 0; i < rows; i++)
        inputs[i].tokens = tokens[i];
    for (unsigned i = 0; i < count; i++) {
        ck_assert(data_loader_next(&loader, &at, tokens_max, &part));
        ck_assert_mem_eq(&part, &parts[i], sizeof part);
        next += part.rows;
        ck_assert_uint_eq(at, next);
    }
    ck_assert(!data_loader_next(&loader, &at, tokens_max, &part));
    ck_assert(at == rows && part.rows == 0);
}

START_TEST(parts_are_as_large_as_fits)
{
    static const unsigned tokens[] = {3, 3, 4, 1, 2, 6};
    expect_parts(tokens, 6, 6,
                 (struct data_loader_part[]){{0, 2, 6}, {2, 2, 5}, {4, 1, 2}, {5, 1, 6}}, 4);
    expect_parts(tokens, 6, 7, (struct data_loader_part[]){{0, 2, 6}, {2, 3, 7}, {5, 1, 6}}, 3);
    expect_parts(tokens, 6, 19, (struct data_loader_part[]){{0, 6, 19}}, 1);
    expect_parts(tokens, 0, 19, NULL, 0);
}
END_TEST

START_TEST(a_row_that_is_too_long_goes_alone)
{
    static const unsigned tokens[] = {9, 1, 1, 9};
    expect_parts(tokens, 4, 6, (struct data_loader_part[]){{0, 1, 9}, {1, 2, 2}, {3, 1, 9}}, 3);
}
END_TEST

/* Row r of a batch at position p is what samples.h draws with the stream of p + r. */
static void expect_drawn(const struct data_loader_order *order, const size_t *items, unsigned count)
{
    for (unsigned row = 0; row < count; row++) {
        struct rng rng = rng_for(order->seed, STREAM_AUGMENT, order->position + row);
        struct engine_input want;
        struct samples_targets masked = {0};
        struct arena arena;
        const struct engine_input *found = &run.loader.inputs[row];
        arena_init(&arena);
        if (order->masks)
            samples_masked_input(run.loader.samples, items[row], order->view, &rng, &arena, &want,
                                 &masked, &err);
        else
            samples_input(run.loader.samples, items[row], order->view, order->draws ? &rng : NULL,
                          &arena, &want, &err);
        ck_assert_int_eq(err.code, ERR_OK);
        ck_assert_uint_eq(found->tokens, want.tokens);
        ck_assert_mem_eq(found->ids, want.ids, want.tokens * sizeof *want.ids);
        ck_assert_ptr_eq(run.loader.listed[row], found);
        if (order->masks) {
            ck_assert_uint_eq(run.loader.targets[row].count, masked.count);
            ck_assert_mem_eq(run.loader.targets[row].places, masked.places,
                             masked.count * sizeof *masked.places);
        }
        arena_deinit(&arena);
    }
}

START_TEST(inputs_are_drawn_by_their_position_in_the_run)
{
    static const size_t items[] = {7, 3, 3, 90, 0, 11, 5};
    struct samples_view view = {.word_dropout = 0.5f};
    struct data_loader_order order = {.view = &view, .seed = 4, .position = 1000};
    train_fixture_texts(&f);
    f.options.threads = 3;
    open_run();
    struct thread_pool *pool = network_pool(run.learner.network);
    for (unsigned i = 0; i < 3; i++) {
        order.draws = i == 1;
        order.masks = i == 2;
        order.position += i;
        ck_assert(!data_loader_prepare(&run.loader, pool, items, 7 - i, &order, &err));
        ck_assert_uint_eq(run.loader.rows, 7 - i);
        expect_drawn(&order, items, 7 - i);
    }
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

START_TEST(data_loader_tells_the_first_input_of_its_batch_that_fails)
{
    struct samples_view view = {.image_size = {16, 16}};
    struct data_loader_order order = {.view = &view};
    static const size_t items[] = {1, 2, 0}, fine[] = {1, 3};
    train_fixture_images(&f, "right");
    tempdir_write(&f.data, "00.png", "no", 2);
    tempdir_write(&f.data, "02.png", "", 0);
    open_run();
    struct thread_pool *pool = network_pool(run.learner.network);
    ck_assert_int_eq(data_loader_prepare(&run.loader, pool, items, 3, &order, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, samples_problem(run.loader.samples, 2));
    ck_assert_str_ne(err.text, samples_problem(run.loader.samples, 0));
    err = (struct err){0};
    ck_assert_int_eq(data_loader_prepare(&run.loader, pool, items + 2, 1, &order, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, samples_problem(run.loader.samples, 0));
    err = (struct err){0};
    ck_assert(!data_loader_prepare(&run.loader, pool, fine, 2, &order, &err));
    ck_assert_int_eq(err.code, ERR_OK);
    run_close(&run);
    ck_assert(run.loader.inputs == NULL && run.loader.rows_max == 0);
    train_fixture_close(&f);
}
END_TEST

SUITE("feed", parts_are_as_large_as_fits, a_row_that_is_too_long_goes_alone,
      inputs_are_drawn_by_their_position_in_the_run,
      data_loader_tells_the_first_input_of_its_batch_that_fails)
