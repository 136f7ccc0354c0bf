/* Changing the served models while they are served: changes that apply, changes that wait for a
 * restart, models that are opened anew or shared. A reload which fails changes nothing.
 * test_reloader_asked.c has the clients that may ask for one, and when. */
#include "tests/unit/server/serve/reloader_bench.h"

#include "tests/support/log_capture.h"

/* ---- what changes ---- */

START_TEST(the_first_snapshot_holds_the_models_that_are_configured)
{
    struct bench bench;
    bench_open(&bench, "logs=text wafers=image:int8", ", \"inputs_max\": 5");
    const struct snapshot *snapshot = now(&bench);
    ck_assert_uint_eq(snapshot->generation, 1);
    ck_assert_uint_eq(snapshot->config.inputs_max, 5);
    ck_assert_uint_eq(snapshot->model_count, 2);
    ck_assert_str_eq(snapshot->models[0]->name, "logs");
    ck_assert_str_eq(snapshot->models[1]->dtype, "int8");
    ck_assert_uint_eq(snapshot->models[1]->generation, 1);
    ck_assert_uint_eq(snapshot->models[1]->bytes,
                      MODELS_BYTES);                     /* as planned, not measured again */
    ck_assert_int_eq(fake_seen.run_policy, SCHED_OTHER); /* nobody is served yet */
    ck_assert_uint_eq(memory_taken(&bench.models.memory), 0);
    bench_close(&bench);
}
END_TEST

START_TEST(a_reload_of_the_same_shares_every_model)
{
    struct bench bench;
    bench_open(&bench, "logs=text wafers=image", "");
    struct served_model *before[] = {now(&bench)->models[0], now(&bench)->models[1]};
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "");
    ck_assert_uint_eq(bench.order.result.generation, 2);
    ck_assert_uint_eq(now(&bench)->generation, 2);
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_eq(now(&bench)->models[i], before[i]);
    ck_assert_uint_eq(fake_seen.opened, 2);
    expect_reloads(&bench, 1, 0);
    bench_close(&bench);
}
END_TEST

START_TEST(a_live_option_applies_and_one_of_the_start_waits)
{
    struct bench bench;
    bench_open(&bench, "logs=text", ", \"inputs_max\": 5, \"queue_limit\": 10");
    struct served_model *before = now(&bench)->models[0];
    configure(&bench, "logs=text",
              ", \"inputs_max\": 6, \"queue_limit\": 20, \"log_level\": \"error\"");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "inputs_max log_level | queue_limit");
    ck_assert_uint_eq(now(&bench)->config.inputs_max, 6);
    ck_assert_uint_eq(now(&bench)->config.queue_limit, 10);
    ck_assert(!log_enabled(LOG_WARN));
    ck_assert_ptr_eq(now(&bench)->models[0], before);
    ck_assert_int_eq(reload(&bench), ERR_OK); /* it still waits */
    expect_changed(&bench, "| queue_limit");
    bench_close(&bench);
}
END_TEST

START_TEST(a_model_is_opened_anew_when_its_entry_changes)
{
    static const struct {
        const char *models, *changed;
    } cases[] = {{"logs=text-2 wafers=image", "models.logs"},
                 {"logs=text-2:bf16 wafers=image", "models.logs"},
                 {"logs=text-2:bf16 wafers=image:f32", ""},   /* which it was */
                 {"wafers=image logs=text-2:bf16", "models"}, /* their order */
                 {"wafers=image logs=text-2", "models.logs"}};
    struct bench bench;
    bench_open(&bench, "logs=text wafers=image", "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct snapshot *old = snapshots_acquire(bench.snapshots);
        configure(&bench, cases[i].models, "");
        ck_assert_int_eq(reload(&bench), ERR_OK);
        expect_changed(&bench, cases[i].changed);
        const struct snapshot *next = now(&bench);
        ck_assert_ptr_eq(snapshot_find(next, "wafers"), snapshot_find(old, "wafers"));
        bool is_new = snapshot_find(next, "logs") != snapshot_find(old, "logs");
        ck_assert_int_eq(is_new, strcmp(cases[i].changed, "models.logs") == 0);
        if (is_new)
            ck_assert_uint_eq(snapshot_find(next, "logs")->generation, next->generation);
        snapshots_release(bench.snapshots, old);
    }
    ck_assert_str_eq(now(&bench)->models[0]->name, "wafers");
    bench_close(&bench);
}
END_TEST

START_TEST(a_model_is_opened_anew_when_a_file_of_it_changes)
{
    struct bench bench;
    bench_open(&bench, "logs=text wafers=image", "");
    const struct snapshot *old = snapshots_acquire(bench.snapshots);
    batcher_computed(bench.batcher, old->models[0], 64, UINT64_C(64) * CLOCK_NS_PER_S);
    write_dir(&bench, "text", "the second");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "models.logs");
    const struct snapshot *next = now(&bench);
    ck_assert_ptr_ne(next->models[0], old->models[0]);
    ck_assert_ptr_eq(next->models[1], old->models[1]);
    ck_assert_uint_eq(next->models[0]->generation, 2);
    ck_assert_int_eq(fake_seen.run_policy, SCHED_IDLE); /* others are served meanwhile */
    /* The first estimate of its pace is what was measured of the one before. */
    ck_assert_double_gt(throughput_ns(&old->models[0]->lane.throughput, 10), 0);
    ck_assert_double_eq(throughput_ns(&next->models[0]->lane.throughput, 10),
                        throughput_ns(&old->models[0]->lane.throughput, 10));
    ck_assert_int_eq(fake_models_open, 3); /* the earlier holder still has the old one */
    snapshots_release(bench.snapshots, old);
    while (fake_models_open != 2)
        sched_yield();
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "");
    bench_close(&bench);
}
END_TEST

START_TEST(models_come_and_go)
{
    struct bench bench;
    bench_open(&bench, "logs=text", "");
    configure(&bench, "logs=text wafers=image", "");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "models.wafers");
    ck_assert_uint_eq(now(&bench)->model_count, 2);
    ck_assert(models_tell(&bench.models, "attnd_model_generation{model=\"wafers\"} 2\n"));
    configure(&bench, "wafers=image", "");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "models.logs");
    ck_assert_uint_eq(now(&bench)->model_count, 1);
    while (models_tell(&bench.models, "model=\"logs\"") || fake_models_open != 1)
        sched_yield(); /* its engine is closed after it has left the list */
    bench_close(&bench);
}
END_TEST

START_TEST(another_order_of_models_is_a_change)
{
    struct bench bench;
    bench_open(&bench, "logs=text more=text-2", "");
    configure(&bench, "more=text-2 logs=text", "");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "models");
    ck_assert_str_eq(now(&bench)->models[0]->name, "more");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "");
    bench_close(&bench);
}
END_TEST

START_TEST(the_memory_of_a_model_is_taken_when_it_comes_and_given_back_when_it_goes)
{
    const size_t measured = FAKE_MODEL_BYTES + 2 * FAKE_SESSION_BYTES;
    struct bench bench;
    bench_open(&bench, "logs=text", "");
    struct memory *memory = &bench.models.memory;
    ck_assert_uint_eq(atomic_load(&memory->held), MODELS_BYTES);
    const struct snapshot *old = snapshots_acquire(bench.snapshots);
    configure(&bench, "logs=text-2", "");
    ck_assert_int_eq(reload(&bench), ERR_OK);
    ck_assert_uint_eq(atomic_load(&memory->held), MODELS_BYTES + measured);
    snapshots_release(bench.snapshots, old);
    while (atomic_load(&memory->held) != measured)
        sched_yield();
    bench_close(&bench);
}
END_TEST

/* ---- what fails ---- */

/* The snapshot has not changed, and the request and the counter say so. */
static void expect_failure(struct bench *bench, const struct snapshot *before, const char *text)
{
    static unsigned failures;
    ck_assert_int_eq(reload(bench), ERR_UNUSABLE);
    ck_assert_msg(strstr(bench->request.err.text, text) != NULL, "%s lacks %s",
                  bench->request.err.text, text);
    ck_assert_ptr_eq(now(bench), before);
    ck_assert_int_eq(fake_models_open, (int)before->model_count);
    ck_assert_uint_eq(fake_sessions_open, 2 * before->model_count);
    ck_assert_uint_eq(atomic_load(&bench->models.memory.held), MODELS_BYTES * before->model_count);
    expect_reloads(bench, 0, ++failures);
}

START_TEST(a_reload_that_fails_changes_nothing_and_says_why)
{
    struct bench bench;
    bench_open(&bench, "logs=text wafers=image", ", \"inputs_max\": 5");
    const struct snapshot *before = now(&bench);
    configure(&bench, "logs=text-2 wafers=image more=nowhere", ", \"inputs_max\": 6");
    expect_failure(&bench, before, "model more: config.json: no such file");
    configure(&bench, "logs=text-2 wafers=image", ", \"inputs_max\": \"many\"");
    expect_failure(&bench, before, "inputs_max");
    configure(&bench, "", "");
    expect_failure(&bench, before, "no model to serve; the models of before go on serving");
    tempdir_write(&bench.dir, "attnd.json", "{", 1);
    expect_failure(&bench, before, "attnd.json");
    ck_assert_int_eq(unlink(bench.file), 0);
    expect_failure(&bench, before, "attnd.json");
    configure(&bench, "logs=text-2 wafers=image", "");
    fake_fails.open = ERR_MALFORMED;
    expect_failure(&bench, before, "model logs: model.safetensors: is too short");
    fake_fails.open = ERR_OK;
    fake_fails.prepare = ERR_UNUSABLE;
    expect_failure(&bench, before, "model logs: the vocabulary is empty");
    fake_fails.prepare = ERR_OK;
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "inputs_max models.logs");
    bench_close(&bench);
}
END_TEST

/* The first of two is opened already when there is no memory for the second. */
START_TEST(a_reload_without_memory_changes_nothing)
{
    struct bench bench;
    bench_open(&bench, "logs=text", "");
    const struct snapshot *before = now(&bench);
    struct memory *memory = &bench.models.memory;
    struct err err = {0};
    size_t rest = memory->pool_bytes - MEMORY_REQUESTS_MIN - MODELS_BYTES -
                  (FAKE_MODEL_BYTES + 2 * FAKE_SESSION_BYTES);
    ck_assert_int_eq(memory_take(memory, rest, MEMORY_SMALL, &err), ERR_OK);
    configure(&bench, "logs=text-2 wafers=image", "");
    expect_failure(&bench, before, "model wafers: memory: the model needs 1200 bytes");
    ck_assert_uint_eq(memory_taken(memory), rest);
    memory_give(memory, rest);
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_changed(&bench, "models.logs models.wafers");
    bench_close(&bench);
}
END_TEST

/* The first of two was opened for it, and is closed again. */
START_TEST(a_reload_that_fails_leaves_what_the_metrics_tell_of_models)
{
    static const char told[] = "attnd_model_info{model=\"logs\",version=\"1\",digest=\"sha256:ab\"";
    struct bench bench;
    bench_open(&bench, "logs=text", "");
    metrics_set_digest(bench.models.metrics, now(&bench)->models[0]->slot, 1, "sha256:ab");
    ck_assert(models_tell(&bench.models, told));
    configure(&bench, "logs=text-2 more=nowhere", "");
    ck_assert_int_eq(reload(&bench), ERR_UNUSABLE);
    ck_assert(models_tell(&bench.models, "attnd_model_generation{model=\"logs\"} 1\n"));
    ck_assert(models_tell(&bench.models, told));
    bench_close(&bench);
}
END_TEST

START_TEST(the_log_says_how_a_reload_went)
{
    struct bench bench;
    bench_open(&bench, "logs=text", ", \"inputs_max\": 5, \"queue_limit\": 10");
    configure(&bench, "logs=text", ", \"inputs_max\": 5, \"queue_limit\": 20, \"deadline_ms\": 7");
    log_capture_start();
    ck_assert_int_eq(reload(&bench), ERR_OK);
    expect_reloads(&bench, 1, 0);
    configure(&bench, "", "");
    reloader_signal(bench.reloader);
    expect_reloads(&bench, 1, 1);
    const char *text = log_capture_end();
    ck_assert_str_eq(log_capture_fields(text, "reloaded"),
                     ",\"generation\":2,\"changed\":1,\"wait_for_restart\":1}");
    ck_assert_str_eq(log_capture_fields(text, "reload_changed"), ",\"key\":\"deadline_ms\"}");
    ck_assert_str_eq(log_capture_fields(text, "reload_waits_for_restart"),
                     ",\"key\":\"queue_limit\"}");
    ck_assert_str_eq(log_capture_fields(text, "reload_failed"),
                     ",\"error\":\"no model to serve; the models of before go on serving\"}");
    bench_close(&bench);
}
END_TEST

SUITE("reloader", the_first_snapshot_holds_the_models_that_are_configured,
      a_reload_of_the_same_shares_every_model, a_live_option_applies_and_one_of_the_start_waits,
      a_model_is_opened_anew_when_its_entry_changes,
      a_model_is_opened_anew_when_a_file_of_it_changes, models_come_and_go,
      another_order_of_models_is_a_change,
      the_memory_of_a_model_is_taken_when_it_comes_and_given_back_when_it_goes,
      a_reload_that_fails_changes_nothing_and_says_why, a_reload_without_memory_changes_nothing,
      a_reload_that_fails_leaves_what_the_metrics_tell_of_models, the_log_says_how_a_reload_went)
