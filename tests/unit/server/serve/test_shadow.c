/* Copies for shadow versions: which requests give them, what becomes of them, that they run where
 * nobody waits for them, and that nothing of them is left. */
#include "server/serve/shadow.h"

#include "engine/base/clock.h"
#include "server/serve/versions.h"
#include "tests/support/results.h"
#include "tests/unit/server/models.h"

#include <sys/resource.h>

/* A snapshot of "logs": a primary, and two more with the shares of the test. */
struct bench {
    struct models models;
    struct batcher *batcher;
    struct snapshot *snapshot;
    struct shadow *shadow;
    struct observers observers;
    struct config_model entries[3];
};

static struct {
    atomic_uint calls;
    struct shadow_record last;
    char id[64], label[16];
    int priority;
} told;

static void note(void *context, const struct shadow_record *record)
{
    (void)context;
    told.last = *record;
    snprintf(told.id, sizeof told.id, "%s", record->id);
    snprintf(told.label, sizeof told.label, "%s", record->label != NULL ? record->label : "");
    told.priority = getpriority(PRIO_PROCESS, 0);
    atomic_fetch_add(&told.calls, 1);
}

static void bench_open(struct bench *bench, double shadow, double other, unsigned workers)
{
    struct err err = {0};
    *bench = (struct bench){
        .entries = {{.name = "logs", .dir = "text"},
                    {.name = "logs", .dir = "text2", .shadow = shadow},
                    {.name = "logs", .dir = "text3", .shadow = other, .split = 0.5}}};
    memset(&told, 0, sizeof told);
    models_open(&bench->models, 1);
    struct config config = {.models = bench->entries, .model_count = 3, .image_pixels_max = 9};
    ck_assert_int_eq(batcher_open(&bench->batcher, 8, &err), ERR_OK);
    ck_assert_int_eq(snapshot_create(&bench->snapshot, 1, &config, &err), ERR_OK);
    for (unsigned i = 0; i < 3; i++) {
        snapshot_add(bench->snapshot, models_make(&bench->models, "logs", "text", i + 1));
        ck_assert_int_eq(served_model_open_shadow(bench->snapshot->models[i], &err), ERR_OK);
    }
    observers_add(&bench->observers, (struct observer){.shadow = note});
    const struct shadow_options options = {.batcher = bench->batcher,
                                           .workers = workers,
                                           .memory = &bench->models.memory,
                                           .observers = &bench->observers};
    ck_assert_int_eq(shadow_start(&bench->shadow, &options, &err), ERR_OK);
}

static void bench_close(struct bench *bench)
{
    shadow_stop(bench->shadow);
    ck_assert_uint_eq(memory_taken(&bench->models.memory), 0);
    snapshot_discard(bench->snapshot);
    batcher_free(bench->batcher);
    models_close(&bench->models);
}

static uint64_t count(const struct bench *bench, unsigned model, enum shadow_result result)
{
    return atomic_load(&bench->snapshot->models[model]->shadowed[result]);
}

static float answered_factor = 1; /* of a regression's answer over the shadow's */

/* A request of one text that the at-th model has answered: its letter decides the label. */
static void offer(const struct bench *bench, unsigned at, const char *text, enum err_code failure)
{
    float scores[2] = {(float)text[0] / 256, 1 - (float)text[0] / 256};
    struct http_exchange exchange = {.reply.request_id = "the-id"};
    struct predict_item item = {
        .source = {.kind = ENGINE_TEXT, .bytes = text, .len = strlen(text), .is_utf8 = true}};
    struct row row = {.model = bench->snapshot->models[at], .key = "lot", .err.code = failure};
    row.answer.info = row.model->info;
    row.answer.result = result_of(scores, 2);
    row.answer.result.task = fake_task;
    if (fake_task == ENGINE_REGRESS) {
        row.answer.result.label = 0;
        row.answer.result.number = scores[0] * answered_factor;
    }
    struct row *good[] = {&row};
    struct request request = {.exchange = &exchange,
                              .snapshot = bench->snapshot,
                              .call = {.items = &item, .item_count = 1},
                              .rows = &row,
                              .good = good,
                              .good_count = 1};
    shadow_offer(bench->shadow, &request);
}

static void await(const struct bench *bench, unsigned model, enum shadow_result result,
                  uint64_t wanted)
{
    while (count(bench, model, result) != wanted)
        sched_yield();
}

START_TEST(shadow_copies_are_judged_by_a_thread_of_lowest_priority)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    offer(&bench, 0, "p", ERR_OK);
    await(&bench, 1, SHADOW_AGREES, 1);
    while (atomic_load(&told.calls) < 1)
        sched_yield();
    ck_assert_str_eq(told.id, "the-id");
    ck_assert_str_eq(told.label, "pass"); /* 144 of 256: see fakes.h */
    ck_assert(told.last.agrees);
    ck_assert_uint_eq(told.last.label_count, 2);
    ck_assert_int_eq(told.priority, 19);
    ck_assert_int_eq(fake_seen.run_policy, SCHED_IDLE);
    ck_assert_uint_eq(fake_seen.threads, 1);
    ck_assert_uint_eq(count(&bench, 2, SHADOW_AGREES), 0); /* it is none */
    bench_close(&bench);
}
END_TEST

START_TEST(shadow_numbers_of_a_regression_agree_within_a_hundredth)
{
    static const float factors[] = {1, 1.0099f, 0.9901f, 1.011f, 0.98f, -1};
    struct bench bench;
    fake_task = ENGINE_REGRESS;
    bench_open(&bench, 1, 0, 0);
    for (unsigned i = 0; i < 6; i++) {
        answered_factor = factors[i];
        offer(&bench, 0, "p", ERR_OK);
        await(&bench, 1, i < 3 ? SHADOW_AGREES : SHADOW_DISAGREES, i < 3 ? i + 1 : i - 2);
    }
    while (atomic_load(&told.calls) < 6)
        sched_yield();
    ck_assert_ptr_null(told.last.label);
    ck_assert(!told.last.agrees);
    bench_close(&bench);
    fake_task = ENGINE_CLASSIFY;
    answered_factor = 1;
}
END_TEST

START_TEST(shadow_skips_vectors)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    fake_task = ENGINE_EMBED;
    offer(&bench, 0, "p", ERR_OK);
    fake_task = ENGINE_CLASSIFY;
    ck_assert_uint_eq(count(&bench, 1, SHADOW_SKIPPED), 1);
    bench_close(&bench);
}
END_TEST

START_TEST(shadow_copies_go_to_every_shadow_except_the_answering_version)
{
    struct bench bench;
    bench_open(&bench, 1, 1, 0);
    offer(&bench, 2, "p", ERR_OK);
    await(&bench, 1, SHADOW_AGREES, 1);
    ck_assert_uint_eq(count(&bench, 2, SHADOW_AGREES), 0);
    offer(&bench, 0, "p", ERR_OK);
    await(&bench, 1, SHADOW_AGREES, 2);
    await(&bench, 2, SHADOW_AGREES, 1);
    bench_close(&bench);
}
END_TEST

START_TEST(shadow_copies_only_answered_requests)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    offer(&bench, 0, "p", ERR_DEADLINE);
    offer(&bench, 0, "p", ERR_OK);
    await(&bench, 1, SHADOW_AGREES, 1);
    suite_await(atomic_load(&told.calls) > 0);
    ck_assert_uint_eq(atomic_load(&told.calls), 1);
    bench_close(&bench);
}
END_TEST

START_TEST(a_copy_that_cannot_be_judged_has_failed)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    offer(&bench, 0, "N", ERR_OK); /* a score that is no number */
    await(&bench, 1, SHADOW_FAILED, 1);
    fake_fails.prepare = ERR_NO_MEMORY;
    offer(&bench, 0, "p", ERR_OK);
    await(&bench, 1, SHADOW_FAILED, 2);
    fake_fails.prepare = ERR_OK;
    ck_assert_uint_eq(atomic_load(&told.calls), 0);
    bench_close(&bench);
}
END_TEST

/* The queue of copies is full, and one copy runs. */
START_TEST(shadow_skips_copies_without_a_place)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    fake_gate(true);
    offer(&bench, 0, "p", ERR_OK);
    fake_await_inside(1);
    for (unsigned i = 0; i < SHADOW_JOBS_MAX + 5; i++)
        offer(&bench, 0, "p", ERR_OK);
    ck_assert_uint_eq(count(&bench, 1, SHADOW_SKIPPED), 5);
    ck_assert_uint_eq(atomic_load(&bench.snapshot->models[1]->shadow_waiting), SHADOW_JOBS_MAX + 1);
    ck_assert_uint_gt(memory_taken(&bench.models.memory), 0);
    fake_gate(false);
    await(&bench, 1, SHADOW_AGREES, SHADOW_JOBS_MAX + 1);
    bench_close(&bench);
}
END_TEST

START_TEST(shadow_copies_nothing_without_memory)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench, 1, 0, 0);
    size_t all = bench.models.memory.pool_bytes - memory_taken(&bench.models.memory) -
                 atomic_load(&bench.models.memory.held);
    ck_assert_int_eq(memory_take(&bench.models.memory, all, MEMORY_SMALL, &err), ERR_OK);
    offer(&bench, 0, "p", ERR_OK);
    ck_assert_uint_eq(count(&bench, 1, SHADOW_SKIPPED), 1);
    memory_give(&bench.models.memory, all);
    bench_close(&bench);
}
END_TEST

/* The test has no worker, so none sleeps. */
START_TEST(a_copy_waits_while_a_worker_is_busy_and_a_stop_drops_it)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 1);
    offer(&bench, 0, "p", ERR_OK);
    offer(&bench, 0, "p", ERR_OK);
    const struct timespec rest = {.tv_nsec = 20 * CLOCK_NS_PER_MS};
    nanosleep(&rest, NULL);
    ck_assert_uint_eq(fake_seen.runs[0], 3); /* the three models were warmed */
    bench_close(&bench);
    ck_assert_uint_eq(atomic_load(&told.calls), 0);
}
END_TEST

/* Takes a batch as a worker does: it counts as one more batch. */
static void take_a_batch(struct bench *bench)
{
    struct err err = {0};
    struct batch batch;
    struct row row = {.model = bench->snapshot->models[0], .input.tokens = 1};
    ck_assert_int_eq(batch_init(&batch, 4, &err), ERR_OK);
    ck_assert_int_eq(batcher_reserve(bench->batcher, 1, &err), ERR_OK);
    ck_assert(batcher_submit(bench->batcher, (struct row *[]){&row}, 1));
    ck_assert(batcher_take(bench->batcher, &batch));
    batch_deinit(&batch);
}

START_TEST(after_a_copy_that_met_an_answer_the_next_one_waits_for_a_thousand)
{
    struct bench bench;
    unsigned answers = 0;
    bench_open(&bench, 1, 0, 0);
    fake_gate(true);
    offer(&bench, 0, "p", ERR_OK);
    offer(&bench, 0, "p", ERR_OK);
    fake_await_inside(1);
    take_a_batch(&bench);
    fake_gate(false);
    await(&bench, 1, SHADOW_AGREES, 1);
    for (; count(&bench, 1, SHADOW_AGREES) < 2; answers++)
        take_a_batch(&bench);
    ck_assert_uint_ge(answers, SHADOW_ANSWERS);
    bench_close(&bench);
}
END_TEST

START_TEST(a_stop_does_not_wait_for_the_thousand)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    fake_gate(true);
    offer(&bench, 0, "p", ERR_OK);
    offer(&bench, 0, "p", ERR_OK);
    fake_await_inside(1);
    take_a_batch(&bench);
    fake_gate(false);
    await(&bench, 1, SHADOW_AGREES, 1);
    bench_close(&bench);
    ck_assert_uint_eq(atomic_load(&told.calls), 1);
}
END_TEST

START_TEST(a_model_lives_until_its_last_copy_is_done)
{
    struct bench bench;
    bench_open(&bench, 1, 0, 0);
    fake_gate(true);
    offer(&bench, 0, "p", ERR_OK);
    fake_await_inside(1);
    struct served_model *model = bench.snapshot->models[1];
    ck_assert_uint_eq(atomic_load(&model->users), 2);
    fake_gate(false);
    bench_close(&bench);
}
END_TEST

SUITE("shadow", shadow_copies_are_judged_by_a_thread_of_lowest_priority,
      shadow_copies_go_to_every_shadow_except_the_answering_version,
      shadow_numbers_of_a_regression_agree_within_a_hundredth, shadow_skips_vectors,
      shadow_copies_only_answered_requests, a_copy_that_cannot_be_judged_has_failed,
      shadow_skips_copies_without_a_place, shadow_copies_nothing_without_memory,
      a_copy_waits_while_a_worker_is_busy_and_a_stop_drops_it,
      after_a_copy_that_met_an_answer_the_next_one_waits_for_a_thousand,
      a_stop_does_not_wait_for_the_thousand, a_model_lives_until_its_last_copy_is_done)
