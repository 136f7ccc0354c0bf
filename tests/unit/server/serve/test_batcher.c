/* The queue alone: rows are made here, no engine and no sockets. */
#include "engine/base/clock.h"
#include "server/serve/batcher.h"
#include "server/serve/served_model.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct served_model models[2] = {
    {.name = "text", .batch_tokens = 100},
    {.name = "image", .batch_tokens = 100},
};

static struct row make_row(unsigned model, unsigned tokens, uint64_t deadline_ns)
{
    return (struct row){
        .model = &models[model], .input = {.tokens = tokens}, .deadline_ns = deadline_ns};
}

static struct batcher *open_batcher(unsigned limit)
{
    struct err err = {0};
    struct batcher *batcher;
    ck_assert_int_eq(batcher_open(&batcher, limit, &err), ERR_OK);
    return batcher;
}

static struct batch open_batch(void)
{
    struct err err = {0};
    struct batch batch;
    ck_assert_int_eq(batch_init(&batch, 100, &err), ERR_OK);
    return batch;
}

static bool is_full(struct batcher *batcher)
{
    struct err err = {0};
    return batcher_admit(batcher, 1, &err) == ERR_QUEUE_FULL;
}

/* Reserves and submits rows one after the other. */
static void submit_all(struct batcher *batcher, struct row *rows, unsigned count)
{
    struct err err = {0};
    ck_assert_int_eq(batcher_reserve(batcher, count, &err), ERR_OK);
    for (unsigned i = 0; i < count; i++)
        ck_assert(batcher_submit(batcher, (struct row *[]){&rows[i]}, 1));
}

static uint64_t in_ms(unsigned ms)
{
    return clock_now_ns() + (uint64_t)ms * CLOCK_NS_PER_MS;
}

START_TEST(batcher_returns_the_nearest_deadline_first)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row rows[] = {make_row(0, 100, in_ms(990)), make_row(0, 100, in_ms(970)),
                         make_row(0, 100, in_ms(980))};
    submit_all(batcher, rows, 3);
    static const unsigned expected[] = {1, 2, 0};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(batcher_take(batcher, &batch));
        ck_assert_uint_eq(batch.row_count, 1);
        ck_assert_ptr_eq(batch.rows[0], &rows[expected[i]]);
    }
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_keeps_the_order_of_arrival_without_deadlines)
{
    struct batcher *batcher = open_batcher(64);
    struct batch batch = open_batch();
    struct row rows[64];
    for (unsigned i = 0; i < 64; i++)
        rows[i] = make_row(0, 100, 0);
    submit_all(batcher, rows, 64);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert(batcher_take(batcher, &batch));
        ck_assert_ptr_eq(batch.rows[0], &rows[i]);
    }
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_does_not_starve_rows_without_deadlines)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row rows[] = {make_row(0, 100, 0), make_row(0, 100, in_ms(3 * BATCHER_PATIENCE_MS)),
                         make_row(0, 100, in_ms(900))};
    submit_all(batcher, rows, 3);
    static const unsigned expected[] = {2, 0, 1}; /* a far deadline is no haste */
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(batcher_take(batcher, &batch));
        ck_assert_ptr_eq(batch.rows[0], &rows[expected[i]]);
    }
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

/* The images are due before the text: they have waited. */
START_TEST(batcher_passes_a_hurried_text_through_eight_images)
{
    struct batcher *batcher = open_batcher(16);
    struct batch batch = open_batch();
    struct row images[8];
    for (unsigned i = 0; i < 8; i++)
        images[i] = make_row(1, 100, 0);
    submit_all(batcher, images, 8);
    usleep(30000);
    struct row texts[] = {make_row(0, 10, in_ms(BATCHER_PATIENCE_MS - 10)), make_row(0, 10, 0)};
    submit_all(batcher, texts, 2);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_ptr_eq(batch.rows[0], &images[0]);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_ptr_eq(batch.rows[0], &texts[0]);
    ck_assert_uint_eq(batch.row_count, 2); /* the second text comes along */
    for (unsigned i = 1; i < 8; i++) {
        ck_assert(batcher_take(batcher, &batch));
        ck_assert_ptr_eq(batch.rows[0], &images[i]);
    }
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_gives_either_kind_every_other_batch_when_both_wait)
{
    struct batcher *batcher = open_batcher(16);
    struct batch batch = open_batch();
    struct row calm[3], hurried[4];
    for (unsigned i = 0; i < 3; i++)
        calm[i] = make_row(1, 100, 0);
    submit_all(batcher, calm, 3);
    usleep(30000);
    for (unsigned i = 0; i < 4; i++)
        hurried[i] = make_row(0, 100, in_ms(BATCHER_PATIENCE_MS - 10));
    submit_all(batcher, hurried, 4);
    struct row *const expected[] = {&calm[0], &hurried[0], &calm[1],   &hurried[1],
                                    &calm[2], &hurried[2], &hurried[3]};
    for (unsigned i = 0; i < 7; i++) {
        ck_assert(batcher_take(batcher, &batch));
        ck_assert_ptr_eq(batch.rows[0], expected[i]);
    }
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_admits_by_the_time_that_what_waits_will_take)
{
    struct err err = {0};
    struct batcher *batcher = open_batcher(16);
    struct row texts[] = {make_row(0, 80, 0), make_row(0, 80, 0)}, image = make_row(1, 99, 0);
    struct batch batch = open_batch();
    batcher_limit_wait(batcher, 10000, 2);
    submit_all(batcher, texts, 2);
    ck_assert(!is_full(batcher)); /* nothing is known of the throughput */
    batcher_computed(batcher, &models[0], 100, 10 * (uint64_t)CLOCK_NS_PER_S); /* 0.1 s a token */
    submit_all(batcher, &image, 1); /* 8 s for two takers */
    batcher_computed(batcher, &models[1], 100, 20 * (uint64_t)CLOCK_NS_PER_S); /* 9.9 s more */
    ck_assert(is_full(batcher));
    ck_assert_uint_eq(batcher_retry_after_s(batcher), 8);
    ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_QUEUE_FULL);
    ck_assert_str_eq(err.text, "the queue holds about 17.9 s of work, more than its 10.0 s");
    ck_assert_int_eq(batcher_reserve(batcher, 0, &(struct err){0}), ERR_OK);
    ck_assert(batcher_take(batcher, &batch)); /* one text: 13.9 s are left */
    ck_assert_uint_eq(batcher_retry_after_s(batcher), 4);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert(!is_full(batcher));
    ck_assert_uint_eq(batcher_retry_after_s(batcher), 1);
    ck_assert_uint_eq(batcher_flush(batcher, batch.rows, 1), 1);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_flush_leaves_nothing_of_what_it_takes)
{
    struct batcher *batcher = open_batcher(4);
    struct row rows[] = {make_row(0, 10, 0), make_row(1, 10, 0), make_row(0, 10, 0)}, *taken[4];
    batcher_limit_wait(batcher, 1, 1);
    batcher_computed(batcher, &models[0], 100, 10 * (uint64_t)CLOCK_NS_PER_S);
    submit_all(batcher, rows, 3);
    ck_assert(is_full(batcher));
    ck_assert_uint_eq(batcher_flush(batcher, taken, 1), 1);
    ck_assert_ptr_eq(taken[0], &rows[0]);
    ck_assert_uint_eq(batcher_depth(batcher, &models[0]), 1);
    ck_assert_uint_eq(batcher_depth(batcher, &models[1]), 1);
    ck_assert_uint_eq(batcher_flush(batcher, taken, 4), 2);
    ck_assert_uint_eq(batcher_depth(batcher, &models[0]) + batcher_depth(batcher, &models[1]), 0);
    ck_assert(!is_full(batcher)); /* nor its time */
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_does_not_bound_the_time_unless_told)
{
    struct batcher *batcher = open_batcher(4);
    struct row row = make_row(0, 100, 0), *taken[1];
    batcher_computed(batcher, &models[0], 100, UINT64_C(1000) * CLOCK_NS_PER_S);
    submit_all(batcher, &row, 1);
    ck_assert(!is_full(batcher));
    ck_assert_uint_eq(batcher_flush(batcher, taken, 1), 1);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_fills_the_budget_with_the_first_rows_model_only)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row rows[] = {make_row(0, 40, 0), make_row(1, 50, 0), make_row(0, 61, 0),
                         make_row(0, 35, 0), make_row(1, 50, 0), make_row(0, 25, 0)};
    submit_all(batcher, rows, 6);
    ck_assert_uint_eq(batcher_depth(batcher, &models[0]), 4);
    ck_assert(batcher_take(batcher, &batch)); /* 61 does not fit beside 40, 35 and 25 do */
    ck_assert_uint_eq(batch.row_count, 3);
    ck_assert_ptr_eq(batch.rows[0], &rows[0]);
    ck_assert_ptr_eq(batch.rows[1], &rows[3]);
    ck_assert_ptr_eq(batch.rows[2], &rows[5]);
    ck_assert_uint_eq(batch.tokens, 100);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_uint_eq(batch.row_count, 2);
    ck_assert_ptr_eq(batch.rows[0], &rows[1]);
    ck_assert_ptr_eq(batch.rows[1], &rows[4]);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_ptr_eq(batch.rows[0], &rows[2]);
    ck_assert_uint_eq(batcher_depth(batcher, &models[0]) + batcher_depth(batcher, &models[1]), 0);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_takes_a_row_that_alone_exceeds_the_budget)
{
    struct batcher *batcher = open_batcher(2);
    struct batch batch = open_batch();
    struct row rows[] = {make_row(0, 500, 0), make_row(0, 1, 0)};
    submit_all(batcher, rows, 2);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_uint_eq(batch.row_count, 1);
    ck_assert_uint_eq(batch.tokens, 500);
    batcher_flush(batcher, batch.rows, 1);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_reserves_all_or_nothing_up_to_the_limit)
{
    struct err err = {0};
    struct batcher *batcher = open_batcher(4);
    struct row row = make_row(0, 1, 0);
    struct row *taken[4];
    ck_assert_int_eq(batcher_reserve(batcher, 5, &err), ERR_QUEUE_FULL);
    err = (struct err){0};
    ck_assert_int_eq(batcher_reserve(batcher, 3, &err), ERR_OK);
    ck_assert(!is_full(batcher));
    ck_assert_int_eq(batcher_reserve(batcher, 2, &err), ERR_QUEUE_FULL);
    err = (struct err){0};
    ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_OK);
    ck_assert(is_full(batcher));
    ck_assert(batcher_submit(batcher, (struct row *[]){&row}, 1));
    ck_assert(is_full(batcher));
    ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_QUEUE_FULL);
    err = (struct err){0};
    batcher_release(batcher, 3);
    ck_assert_int_eq(batcher_reserve(batcher, 3, &err), ERR_OK);
    ck_assert_uint_eq(batcher_flush(batcher, taken, 4), 1);
    ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_OK);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_hands_out_expired_rows_apart_and_free_of_charge)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row rows[] = {make_row(1, 100, clock_now_ns()), make_row(0, 60, 0),
                         make_row(0, 60, clock_now_ns()), make_row(0, 40, 0)};
    submit_all(batcher, rows, 4);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_uint_eq(batch.expired_count, 2);
    ck_assert_int_eq(rows[0].err.code, ERR_DEADLINE);
    ck_assert_int_eq(rows[2].err.code, ERR_DEADLINE);
    ck_assert_uint_eq(batch.row_count, 2);
    ck_assert_ptr_eq(batch.rows[0], &rows[1]);
    ck_assert_ptr_eq(batch.rows[1], &rows[3]);
    ck_assert_int_eq(rows[1].err.code, ERR_OK);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_drains_after_close_and_takes_no_more)
{
    struct err err = {0};
    struct batcher *batcher = open_batcher(4);
    struct batch batch = open_batch();
    struct row rows[] = {make_row(0, 60, 0), make_row(0, 60, 0), make_row(0, 1, 0)};
    submit_all(batcher, rows, 2);
    ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_OK);
    batcher_close(batcher);
    ck_assert(!batcher_submit(batcher, (struct row *[]){&rows[2]}, 1));
    ck_assert_int_eq(batcher_reserve(batcher, 1, &err), ERR_NOT_READY);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert(batcher_take(batcher, &batch));
    ck_assert(!batcher_take(batcher, &batch));
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

struct pair {
    struct batcher *batcher;
    atomic_uint most_rows; /* of any batch */
    atomic_uint rows;      /* taken in all */
};

static void *pair_main(void *context)
{
    struct pair *pair = context;
    struct batch batch = open_batch();
    while (batcher_take(pair->batcher, &batch)) {
        if (batch.row_count > atomic_load(&pair->most_rows))
            atomic_store(&pair->most_rows, batch.row_count);
        atomic_fetch_add(&pair->rows, batch.row_count);
    }
    batch_deinit(&batch);
    return NULL;
}

START_TEST(batcher_leaves_an_idle_taker_its_share)
{
    struct err err = {0};
    struct served_model wide = {.batch_tokens = 1000};
    struct pair pair = {.batcher = open_batcher(8)};
    struct row rows[2] = {make_row(0, 100, 0), make_row(0, 100, 0)};
    pthread_t first, second;
    struct batch batch = open_batch();
    rows[0].model = rows[1].model = &wide;
    /* Two rows without an idle taker are one batch ... */
    submit_all(pair.batcher, rows, 2);
    ck_assert(batcher_take(pair.batcher, &batch));
    ck_assert_uint_eq(batch.row_count, 2);
    /* ... with two idle takers, two batches, whichever of them runs first. */
    ck_assert_int_eq(pthread_create(&first, NULL, pair_main, &pair), 0);
    ck_assert_int_eq(pthread_create(&second, NULL, pair_main, &pair), 0);
    while (batcher_idle(pair.batcher) < 2)
        sched_yield();
    ck_assert_int_eq(batcher_reserve(pair.batcher, 2, &err), ERR_OK);
    ck_assert(batcher_submit(pair.batcher, (struct row *[]){&rows[0], &rows[1]}, 2));
    while (atomic_load(&pair.rows) < 2)
        sched_yield();
    batcher_close(pair.batcher);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    ck_assert_uint_eq(pair.most_rows, 1);
    batch_deinit(&batch);
    batcher_free(pair.batcher);
}
END_TEST

/* The bound only tells linear from quadratic, whatever the machine does meanwhile; the figure to
 * quote is the one printed. */
START_TEST(batcher_takes_from_a_thousand_rows_in_microseconds)
{
    enum { ROWS = 1024 };
    struct batcher *batcher = open_batcher(ROWS);
    struct batch batch = open_batch();
    struct row *rows = calloc(ROWS, sizeof *rows);
    uint64_t base = in_ms(900), start = clock_now_ns();
    for (unsigned i = 0; i < ROWS; i++)
        rows[i] = make_row(i % 2, 50, base - i); /* each in front of all others: the worst order */
    submit_all(batcher, rows, ROWS);
    double submit_us = clock_ms_between(start, clock_now_ns()) * 1000 / ROWS, best_us = 1e9;
    for (unsigned i = 0;
         batcher_depth(batcher, &models[0]) + batcher_depth(batcher, &models[1]) > 0; i++) {
        start = clock_now_ns();
        ck_assert(batcher_take(batcher, &batch));
        double us = clock_ms_between(start, clock_now_ns()) * 1000;
        best_us = i < 32 && us < best_us ? us : best_us; /* while the queue is still full */
    }
    printf("1024 rows: %.2f us a submit, %.2f us a take (best of 32)\n", submit_us, best_us);
    ck_assert_double_lt(best_us, 1000);
    free(rows);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

/* Windows of 20 tokens each. */
static struct row make_long_row(unsigned windows)
{
    static const unsigned offset[] = {0, 20, 40, 60, 80, 100, 120, 140};
    struct row row = make_row(0, offset[windows], 0);
    row.input.windows = windows;
    row.input.window_offset = offset;
    return row;
}

/* Takes the next batch, as a worker does, and submits the long row again unless it is done. */
static void step(struct batcher *batcher, struct batch *batch, struct row *row)
{
    ck_assert(batcher_take(batcher, batch));
    ck_assert_ptr_eq(batch->rows[0], row);
    row->answer.result.windows_done += row->answer.result.step;
    if (row->answer.result.windows_done < row->input.windows)
        ck_assert(batcher_submit(batcher, &row, 1));
    else
        batcher_release(batcher, 1);
}

/* A row that was submitted again is only behind those whose time has come. */
START_TEST(batcher_lets_others_in_between_the_steps_of_a_long_text)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row text = make_long_row(7), others[] = {make_row(0, 100, 0), make_row(0, 100, 0)};
    submit_all(batcher, &text, 1);
    submit_all(batcher, others, 2);
    const uint64_t submitted = text.submitted_ns;
    step(batcher, &batch, &text);
    ck_assert_uint_eq(text.answer.result.windows_done, 5);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert(batcher_take(batcher, &batch));
        ck_assert_uint_eq(batch.row_count, 1);
        ck_assert_ptr_eq(batch.rows[0], &others[i]);
    }
    step(batcher, &batch, &text);
    ck_assert_uint_eq(text.answer.result.windows_done, 7);
    ck_assert_uint_eq(batch.tokens, 40);
    ck_assert_uint_eq(text.submitted_ns, submitted);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_gives_long_texts_the_room_that_others_leave)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row rows[] = {make_long_row(7), make_row(0, 30, 0), make_long_row(1)};
    submit_all(batcher, rows, 3);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_uint_eq(batch.row_count, 3);
    ck_assert_uint_eq(batch.tokens, 3 * 20 + 30);
    ck_assert_uint_eq(rows[0].answer.result.step, 2);
    ck_assert_uint_eq(rows[2].answer.result.step, 1);
    batcher_release(batcher, 2);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_keeps_the_place_of_a_text_between_its_steps)
{
    struct batcher *batcher = open_batcher(2);
    struct batch batch = open_batch();
    struct row text = make_long_row(7), other = make_row(0, 100, 0);
    submit_all(batcher, &text, 1);
    ck_assert(batcher_take(batcher, &batch));
    submit_all(batcher, &other, 1);
    ck_assert(is_full(batcher));
    text.answer.result.windows_done = text.answer.result.step;
    ck_assert(batcher_submit(batcher, (struct row *[]){&text}, 1));
    ck_assert(is_full(batcher));
    ck_assert_uint_eq(batcher_depth(batcher, &models[0]), 2);
    struct row *taken[2];
    batcher_flush(batcher, taken, 2);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

START_TEST(batcher_makes_no_step_due_after_its_deadline)
{
    struct batcher *batcher = open_batcher(8);
    struct batch batch = open_batch();
    struct row rows[] = {make_long_row(5), make_long_row(5)};
    rows[0].deadline_ns = in_ms(1100);
    rows[1].deadline_ns = in_ms(1050);
    for (unsigned i = 0; i < 2; i++) {
        rows[i].submitted_ns = in_ms(0);
        rows[i].answer.result.windows_done = 3 - i;
    }
    submit_all(batcher, rows, 2);
    ck_assert(batcher_take(batcher, &batch));
    ck_assert_ptr_eq(batch.rows[0], &rows[1]);
    batch_deinit(&batch);
    batcher_free(batcher);
}
END_TEST

SUITE("batcher", batcher_lets_others_in_between_the_steps_of_a_long_text,
      batcher_gives_long_texts_the_room_that_others_leave,
      batcher_keeps_the_place_of_a_text_between_its_steps,
      batcher_makes_no_step_due_after_its_deadline, batcher_returns_the_nearest_deadline_first,
      batcher_keeps_the_order_of_arrival_without_deadlines,
      batcher_does_not_starve_rows_without_deadlines,
      batcher_passes_a_hurried_text_through_eight_images,
      batcher_gives_either_kind_every_other_batch_when_both_wait,
      batcher_admits_by_the_time_that_what_waits_will_take,
      batcher_flush_leaves_nothing_of_what_it_takes, batcher_does_not_bound_the_time_unless_told,
      batcher_fills_the_budget_with_the_first_rows_model_only,
      batcher_takes_a_row_that_alone_exceeds_the_budget,
      batcher_reserves_all_or_nothing_up_to_the_limit,
      batcher_hands_out_expired_rows_apart_and_free_of_charge,
      batcher_drains_after_close_and_takes_no_more, batcher_leaves_an_idle_taker_its_share,
      batcher_takes_from_a_thousand_rows_in_microseconds)
