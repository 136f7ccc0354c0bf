/* The queue at its bounds, to the nanosecond and the token: the clock stands where the test puts
 * it, and a taker that waits goes on waiting. */
#include "engine/base/clock.h"
#include "server/serve/batcher.h"
#include "server/serve/served_model.h"
#include "tests/support/suite.h"
#include "tests/unit/server/lock_counter.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t now_ns = 5 * (uint64_t)CLOCK_NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_sec = (time_t)(now_ns / CLOCK_NS_PER_S) - CLOCK_AHEAD_S,
                              .tv_nsec = (long)(now_ns % CLOCK_NS_PER_S)};
    return 0;
}

enum { LIMIT = 8, PATIENCE_NS = BATCHER_PATIENCE_MS * CLOCK_NS_PER_MS };

static struct served_model models[3] = {{.name = "text", .batch_tokens = 1000},
                                        {.name = "image", .batch_tokens = 1000}};

struct bench {
    struct batcher *batcher;
    struct batch batch;
    struct row rows[LIMIT];
    unsigned count;
};

static void bench_open(struct bench *bench, unsigned capacity)
{
    struct err err = {0};
    *bench = (struct bench){0};
    ck_assert_int_eq(batcher_open(&bench->batcher, LIMIT, &err), ERR_OK);
    ck_assert_int_eq(batch_init(&bench->batch, capacity, &err), ERR_OK);
    ck_assert_uint_eq(bench->batch.capacity, capacity);
}

/* One more row; a deadline of 0 is none, else it is so long after now. */
static struct row *submit(struct bench *bench, unsigned model, unsigned tokens, uint64_t deadline)
{
    struct err err = {0};
    struct row *row = &bench->rows[bench->count++];
    *row = (struct row){.model = &models[model],
                        .input = {.tokens = tokens},
                        .deadline_ns = deadline > 0 ? now_ns + deadline : 0};
    ck_assert_int_eq(batcher_reserve(bench->batcher, 1, &err), ERR_OK);
    ck_assert(batcher_submit(bench->batcher, &row, 1));
    ck_assert_uint_eq(row->submitted_ns, now_ns);
    return row;
}

/* The rows of the next batch, in order, by their index: "01", and behind a bar the expired. */
static void expect_batch(struct bench *bench, const char *expected)
{
    char got[2 * LIMIT + 2] = "";
    ck_assert(batcher_take(bench->batcher, &bench->batch));
    size_t len = 0;
    unsigned tokens = 0;
    for (unsigned i = 0; i < bench->batch.row_count; i++) {
        got[len++] = (char)('0' + (bench->batch.rows[i] - bench->rows));
        tokens += bench->batch.rows[i]->input.tokens;
    }
    if (bench->batch.expired_count > 0)
        got[len++] = '|';
    for (unsigned i = 0; i < bench->batch.expired_count; i++)
        got[len++] = (char)('0' + (bench->batch.expired[i] - bench->rows));
    ck_assert_str_eq(got, expected);
    ck_assert_uint_eq(bench->batch.tokens, tokens);
}

static void expect_depths(struct bench *bench, unsigned texts, unsigned images)
{
    ck_assert_uint_eq(batcher_depth(bench->batcher, &models[0]), texts);
    ck_assert_uint_eq(batcher_depth(bench->batcher, &models[1]), images);
    ck_assert_uint_eq(batcher_depth(bench->batcher, &models[2]), 0);
}

static void bench_close(struct bench *bench)
{
    expect_depths(bench, 0, 0);
    batch_deinit(&bench->batch);
    batcher_free(bench->batcher);
}

START_TEST(a_row_expires_at_its_deadline_and_not_before)
{
    struct bench bench;
    bench_open(&bench, LIMIT);
    submit(&bench, 0, 1, 100);
    now_ns += 99;
    expect_batch(&bench, "0");
    submit(&bench, 0, 1, 100);
    now_ns += 100;
    expect_batch(&bench, "|1");
    ck_assert_int_eq(bench.rows[0].err.code, ERR_OK);
    ck_assert_int_eq(bench.rows[1].err.code, ERR_DEADLINE);
    ck_assert_str_eq(bench.rows[1].err.text,
                     "the deadline passed while the input waited in the queue");
    submit(&bench, 0, 1, 2ull * PATIENCE_NS); /* is due long before it expires */
    now_ns += 2ull * PATIENCE_NS;
    expect_batch(&bench, "|2");
    bench_close(&bench);
}
END_TEST

/* Due: at the deadline, or when its patience ends, whichever is sooner; else who came first. */
START_TEST(rows_leave_in_the_order_in_which_they_are_due)
{
    struct bench bench;
    bench_open(&bench, 1);
    submit(&bench, 0, 1, 0);
    submit(&bench, 0, 1, PATIENCE_NS + 5); /* no sooner than without a deadline */
    submit(&bench, 0, 1, PATIENCE_NS - 1);
    submit(&bench, 0, 1, PATIENCE_NS - 1);
    now_ns += 1;
    submit(&bench, 0, 1, PATIENCE_NS - 3);
    submit(&bench, 0, 1, 0);
    static const char *const order[] = {"4", "2", "3", "0", "1", "5"};
    for (int i = 0; i < 6; i++)
        expect_batch(&bench, order[i]);
    bench_close(&bench);
}
END_TEST

/* The batcher takes the row that is first and the row in haste by turns. A deadline at the end of
 * the patience is no haste. */
START_TEST(haste_is_a_deadline_before_the_end_of_the_patience)
{
    struct bench bench;
    bench_open(&bench, 1);
    for (unsigned i = 0; i < 2; i++)
        submit(&bench, 0, 1, 0);
    now_ns += 10;
    submit(&bench, 0, 1, PATIENCE_NS);     /* not in haste, whatever its turn */
    submit(&bench, 0, 1, PATIENCE_NS - 1); /* in haste, and due before the one above */
    static const char *const order[] = {"0", "3", "1", "2"};
    for (int i = 0; i < 4; i++)
        expect_batch(&bench, order[i]);
    bench_close(&bench);
}
END_TEST

START_TEST(batcher_takes_as_many_rows_as_a_batch_holds)
{
    struct bench bench;
    bench_open(&bench, 2);
    for (unsigned i = 0; i < 3; i++)
        submit(&bench, 0, 1, 50);
    for (unsigned i = 0; i < 3; i++)
        submit(&bench, 1, 1, 0);
    now_ns += 50;
    expect_batch(&bench, "34|01");
    expect_depths(&bench, 1, 1);
    expect_batch(&bench, "5|2");
    bench_close(&bench);
}
END_TEST

START_TEST(a_batch_is_filled_up_to_its_tokens_and_no_further)
{
    static const struct {
        unsigned tokens[3];
        const char *batches[3];
    } cases[] = {{{400, 599, 1}, {"012"}},
                 {{400, 599, 2}, {"01", "2"}},
                 {{400, 601, 600}, {"02", "1"}},
                 {{1000, 1, 1}, {"0", "12"}},
                 {{2000, 1, 1000}, {"0", "1", "2"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench, LIMIT);
        for (unsigned k = 0; k < 3; k++)
            submit(&bench, 0, cases[i].tokens[k], 0);
        for (unsigned k = 0; k < 3 && cases[i].batches[k] != NULL; k++)
            expect_batch(&bench, cases[i].batches[k]);
        bench_close(&bench);
    }
}
END_TEST

static void *wait_for_rows(void *context)
{
    struct batcher *batcher = context;
    struct err err = {0};
    struct batch batch;
    if (batch_init(&batch, LIMIT, &err) == ERR_OK)
        while (batcher_take(batcher, &batch))
            continue;
    batch_deinit(&batch);
    return NULL;
}

/* The share that a taker may have while another taker is idle. The other one hears no signal. */
START_TEST(a_share_is_its_part_of_the_models_tokens_but_some_in_any_case)
{
    static const struct {
        unsigned batch_tokens, count;
        struct {
            unsigned model, tokens;
        } rows[4];
        const char *batch;
    } cases[] = {{1000, 3, {{0, 100}, {0, 100}, {0, 100}}, "0"},
                 {1000, 3, {{0, 100}, {0, 50}, {0, 100}}, "0"},  /* 126 */
                 {1000, 3, {{0, 100}, {0, 26}, {0, 124}}, "01"}, /* 126 */
                 {1000, 3, {{0, 100}, {0, 27}, {0, 123}}, "0"},  /* 126 */
                 {1000, 3, {{0, 100}, {0, 27}, {0, 124}}, "0"},  /* 126, rounded down */
                 {1000, 4, {{0, 100}, {0, 20}, {1, 300}, {1, 300}}, "0"},
                 {1000, 2, {{0, 30}, {0, 34}}, "01"}, /* 64 at least */
                 {1000, 2, {{0, 30}, {0, 35}}, "0"},
                 {50, 2, {{0, 30}, {0, 20}}, "01"}, /* the most that a batch may have */
                 {50, 2, {{0, 30}, {0, 21}}, "0"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        pthread_t idle;
        bench_open(&bench, LIMIT);
        models[0].batch_tokens = cases[i].batch_tokens;
        ck_assert_int_eq(pthread_create(&idle, NULL, wait_for_rows, bench.batcher), 0);
        while (batcher_idle(bench.batcher) < 1)
            sched_yield();
        atomic_store(&lock_counter_deaf, true);
        for (unsigned k = 0; k < cases[i].count; k++)
            submit(&bench, cases[i].rows[k].model, cases[i].rows[k].tokens, 0);
        expect_batch(&bench, cases[i].batch);
        atomic_store(&lock_counter_deaf, false);
        batcher_close(bench.batcher);
        pthread_join(idle, NULL);
        bench_close(&bench);
    }
    models[0].batch_tokens = 1000;
}
END_TEST

/* A row of several windows counts with its next one, so two of them are two shares; the room that a
 * share leaves is filled with further windows of its own rows. */
START_TEST(a_share_counts_the_next_window_of_a_row)
{
    static const unsigned offset[] = {0, 100, 200, 300, 400};
    struct bench bench;
    pthread_t idle;
    struct row *rows[2];
    struct err err = {0};
    bench_open(&bench, LIMIT);
    ck_assert_int_eq(pthread_create(&idle, NULL, wait_for_rows, bench.batcher), 0);
    while (batcher_idle(bench.batcher) < 1)
        sched_yield();
    atomic_store(&lock_counter_deaf, true);
    for (unsigned i = 0; i < 2; i++) {
        rows[i] = &bench.rows[bench.count++];
        *rows[i] = (struct row){.model = &models[0],
                                .input = {.tokens = 400, .windows = 4, .window_offset = offset}};
    }
    ck_assert_int_eq(batcher_reserve(bench.batcher, 2, &err), ERR_OK);
    ck_assert(batcher_submit(bench.batcher, rows, 2));
    expect_batch(&bench, "0");
    ck_assert_uint_eq(rows[0]->answer.result.step, 4);
    expect_batch(&bench, "1");
    batcher_release(bench.batcher, 2);
    atomic_store(&lock_counter_deaf, false);
    batcher_close(bench.batcher);
    pthread_join(idle, NULL);
    bench_close(&bench);
}
END_TEST

/* A submission wakes one taker; whoever leaves rows behind wakes the next, if any waits. */
START_TEST(batcher_wakes_takers_only_for_remaining_rows)
{
    struct bench bench;
    pthread_t idle;
    bench_open(&bench, 1);
    lock_counter = (struct lock_counter){0};
    submit(&bench, 0, 1, 0);
    submit(&bench, 0, 1, 0);
    ck_assert_uint_eq(lock_counter.signals, 2);
    expect_batch(&bench, "0"); /* nobody waits */
    ck_assert_uint_eq(lock_counter.signals, 2);
    expect_batch(&bench, "1");
    ck_assert_int_eq(pthread_create(&idle, NULL, wait_for_rows, bench.batcher), 0);
    while (batcher_idle(bench.batcher) < 1)
        sched_yield();
    atomic_store(&lock_counter_deaf, true);
    submit(&bench, 0, 1, 0);
    submit(&bench, 0, 1, 0);
    lock_counter.signals = 0;
    expect_batch(&bench, "2"); /* one is left */
    ck_assert_uint_eq(lock_counter.signals, 1);
    expect_batch(&bench, "3"); /* none is */
    ck_assert_uint_eq(lock_counter.signals, 1);
    atomic_store(&lock_counter_deaf, false);
    batcher_close(bench.batcher);
    pthread_join(idle, NULL);
    bench_close(&bench);
}
END_TEST

START_TEST(the_queue_is_looked_at_and_changed_under_its_lock)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench, LIMIT);
    struct batcher *batcher = bench.batcher;
    struct row *row = &bench.rows[0];
    *row = (struct row){.model = &models[0], .input = {.tokens = 1}};
    LOCK_COUNTER_EXPECT_ONE(batcher_admit(batcher, 1, &err), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_admit(batcher, LIMIT + 1, &err), 0);
    err = (struct err){0};
    LOCK_COUNTER_EXPECT_ONE(batcher_reserve(batcher, 3, &err), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_reserve(batcher, LIMIT, &err), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_release(batcher, 1), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_retry_after_s(batcher), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_computed(batcher, &models[0], 1, 1), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_submit(batcher, &row, 1), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_idle(batcher), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_depth(batcher, &models[0]), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_take(batcher, &bench.batch), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_submit(batcher, &row, 1), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_flush(batcher, &row, 1), 0);
    LOCK_COUNTER_EXPECT_ONE(batcher_close(batcher), 1);
    bench_close(&bench);
}
END_TEST

START_TEST(the_queue_says_why_it_refuses)
{
    static const struct {
        unsigned reserved, wanted;
        const char *text;
    } cases[] = {
        {0, LIMIT, NULL},
        {0, LIMIT + 1, "the queue has room for 8 more inputs of its 8, this request needs 9"},
        {3, 5, NULL},
        {3, 6, "the queue has room for 5 more inputs of its 8, this request needs 6"},
        {8, 1, "the queue has room for 0 more inputs of its 8, this request needs 1"},
        {8, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench, 1);
        ck_assert_int_eq(batcher_reserve(bench.batcher, cases[i].reserved, &(struct err){0}),
                         ERR_OK);
        for (int way = 0; way < 2; way++) {
            struct err err = {0};
            enum err_code code = way == 0 ? batcher_admit(bench.batcher, cases[i].wanted, &err)
                                          : batcher_reserve(bench.batcher, cases[i].wanted, &err);
            ck_assert_int_eq(code, cases[i].text != NULL ? ERR_QUEUE_FULL : ERR_OK);
            ck_assert_str_eq(err.text, cases[i].text != NULL ? cases[i].text : "");
        }
        batcher_close(bench.batcher);
        struct err err = {0};
        ck_assert_int_eq(batcher_admit(bench.batcher, 0, &err), ERR_NOT_READY);
        ck_assert_str_eq(err.text, "the server is stopping");
        bench_close(&bench);
    }
}
END_TEST

/* The text that waits is three seconds of work at a second a token, for either of two takers. */
START_TEST(the_time_that_waits_is_shared_by_the_takers)
{
    static const struct {
        unsigned takers, wait_ms_max, retry_s;
        const char *text;
    } cases[] = {{1, 3000, 1, NULL},
                 {1, 2999, 1, "the queue holds about 3.0 s of work, more than its 3.0 s"},
                 {0, 1000, 2, "the queue holds about 3.0 s of work, more than its 1.0 s"},
                 {2, 1500, 1, NULL},
                 {2, 100, 2, "the queue holds about 1.5 s of work, more than its 0.1 s"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        struct err err = {0};
        bench_open(&bench, LIMIT);
        batcher_limit_wait(bench.batcher, cases[i].wait_ms_max, cases[i].takers);
        submit(&bench, 0, 3, 0);
        batcher_computed(bench.batcher, &models[0], 64, UINT64_C(64) * CLOCK_NS_PER_S);
        batcher_computed(bench.batcher, &models[1], 64, UINT64_C(64) * CLOCK_NS_PER_S);
        enum err_code code = batcher_admit(bench.batcher, 1, &err);
        ck_assert_int_eq(code, cases[i].text != NULL ? ERR_QUEUE_FULL : ERR_OK);
        ck_assert_str_eq(err.text, cases[i].text != NULL ? cases[i].text : "");
        ck_assert_uint_eq(batcher_retry_after_s(bench.batcher), cases[i].retry_s);
        ck_assert_int_eq(batcher_admit(bench.batcher, 0, &(struct err){0}), ERR_OK);
        expect_batch(&bench, "0");
        bench_close(&bench);
    }
}
END_TEST

START_TEST(batcher_flush_takes_as_many_rows_as_allowed)
{
    struct bench bench;
    struct row *taken[LIMIT];
    bench_open(&bench, LIMIT);
    for (unsigned i = 0; i < 5; i++)
        submit(&bench, i % 2, 1 + i, 0);
    ck_assert_uint_eq(batcher_flush(bench.batcher, taken, 2), 2);
    ck_assert(taken[0] == &bench.rows[0] && taken[1] == &bench.rows[1]);
    expect_depths(&bench, 2, 1);
    expect_batch(&bench, "24");
    ck_assert_uint_eq(batcher_flush(bench.batcher, taken, LIMIT), 1);
    ck_assert_ptr_eq(taken[0], &bench.rows[3]);
    ck_assert_uint_eq(batcher_flush(bench.batcher, taken, LIMIT), 0);
    bench_close(&bench);
    batcher_free(NULL);
}
END_TEST

SUITE("batcher_bounds", a_row_expires_at_its_deadline_and_not_before,
      rows_leave_in_the_order_in_which_they_are_due,
      haste_is_a_deadline_before_the_end_of_the_patience,
      batcher_takes_as_many_rows_as_a_batch_holds,
      a_batch_is_filled_up_to_its_tokens_and_no_further,
      a_share_is_its_part_of_the_models_tokens_but_some_in_any_case,
      a_share_counts_the_next_window_of_a_row, batcher_wakes_takers_only_for_remaining_rows,
      the_queue_is_looked_at_and_changed_under_its_lock, the_queue_says_why_it_refuses,
      the_time_that_waits_is_shared_by_the_takers, batcher_flush_takes_as_many_rows_as_allowed)
