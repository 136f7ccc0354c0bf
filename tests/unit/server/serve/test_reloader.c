/* Changing what is served while it is served, over a fake engine and real directories: what applies,
 * what waits for a restart, what is opened anew and what is shared; and that a reload which fails
 * changes nothing. */
#include "config/config_load.h"
#include "server/serve/reloader.h"

#include "server/serve/request.h"
#include "tests/support/log_capture.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/models.h"

#include <sys/stat.h>
#include <unistd.h>

enum { QUEUE = 16 };

/* A configuration file and the directories that it names: text, text-2 and image. */
static const char *const dirs[] = {"text", "text-2", "image"};
enum { DIRS = sizeof dirs / sizeof dirs[0] };

struct bench {
    struct models models;
    struct batcher *batcher;
    struct snapshots *snapshots;
    struct reloader *reloader;
    struct tempdir dir;
    char file[128];
    char *argv[4];
    /* Of the last reload. */
    struct http_exchange exchange;
    struct request request;
};

static void path_of(const struct bench *bench, const char *dir, char out[128])
{
    snprintf(out, 128, "%s/%s", bench->dir.path, dir);
}

static void write_dir(const struct bench *bench, const char *dir, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s/weights", bench->dir.path, dir);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* "logs=text wafers=image", and other options as JSON members, each behind a comma. */
static void configure(const struct bench *bench, const char *models, const char *options)
{
    char text[2048], list[256], *rest = list;
    int len = snprintf(text, sizeof text, "{\"models\": [");
    snprintf(list, sizeof list, "%s", models);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        char *dir = strchr(word, '='), *dtype = strchr(word, ':');
        *dir++ = '\0';
        if (dtype != NULL)
            *dtype++ = '\0';
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "%s{\"name\": \"%s\", \"dir\": \"%s/%s\"%s%s%s}",
                        text[len - 1] == '[' ? "" : ", ", word, bench->dir.path, dir,
                        dtype != NULL ? ", \"dtype\": \"" : "", dtype != NULL ? dtype : "",
                        dtype != NULL ? "\"" : "");
    }
    len += snprintf(text + len, sizeof text - (size_t)len, "]%s}", options);
    tempdir_write(&bench->dir, "attnd.json", text, (size_t)len);
}

static void make_dirs(struct bench *bench)
{
    tempdir_open(&bench->dir);
    for (unsigned i = 0; i < DIRS; i++) {
        char path[128];
        path_of(bench, dirs[i], path);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        write_dir(bench, dirs[i], "first");
    }
    snprintf(bench->file, sizeof bench->file, "%s/attnd.json", bench->dir.path);
}

static void remove_dirs(struct bench *bench)
{
    for (unsigned i = 0; i < DIRS; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s/weights", bench->dir.path, dirs[i]);
        ck_assert_int_eq(unlink(path), 0);
        path_of(bench, dirs[i], path);
        ck_assert_int_eq(rmdir(path), 0);
    }
    tempdir_close(&bench->dir);
}

static void open_snapshots(struct bench *bench)
{
    struct snapshot *empty;
    struct config config;
    enum config_action action;
    struct err err = {0};
    ck_assert_msg(!config_load(&config, &action, 3, bench->argv, bench->argv + 3, &err), "%s",
                  err.text);
    ck_assert_int_eq(snapshot_create(&empty, 0, &config, &err), ERR_OK);
    ck_assert_int_eq(snapshots_open(&bench->snapshots, empty, &err), ERR_OK);
}

/* As the server loads what it starts with. */
static enum err_code load(struct bench *bench, struct err *err)
{
    const struct snapshot *empty = snapshots_acquire(bench->snapshots);
    size_t bytes[CONFIG_MODELS_MAX];
    for (unsigned i = 0; i < empty->config.model_count; i++) {
        bytes[i] = MODELS_BYTES;
        ck_assert_int_eq(memory_hold(&bench->models.memory, bytes[i], err), ERR_OK);
    }
    reloader_load(bench->reloader, &empty->config, bytes, err);
    snapshots_release(bench->snapshots, empty);
    return err->code;
}

/* Loaded, but not started. */
static void bench_prepare(struct bench *bench, const char *models, const char *options)
{
    struct err err = {0};
    *bench = (struct bench){0};
    models_open(&bench->models, 2);
    make_dirs(bench);
    configure(bench, models, options);
    static char program[] = "attnd", flag[] = "--config";
    bench->argv[0] = program;
    bench->argv[1] = flag;
    bench->argv[2] = bench->file;
    ck_assert_int_eq(batcher_open(&bench->batcher, QUEUE, &err), ERR_OK);
    open_snapshots(bench);
    const struct reloader_options how = {
        .source = {.argc = 3, .argv = bench->argv, .environment = bench->argv + 3},
        .snapshots = bench->snapshots,
        .batcher = bench->batcher,
        .memory = &bench->models.memory,
        .metrics = bench->models.metrics,
        .pools = bench->models.pools,
        .workers = 2,
        .threads = MODELS_THREADS,
        .batch_tokens = MODELS_TOKENS};
    ck_assert_int_eq(reloader_open(&bench->reloader, &how, &err), ERR_OK);
    ck_assert_msg(load(bench, &err) == ERR_OK, "%s", err.text);
    log_set_level("warn");
    arena_init(&bench->exchange.arena);
}

static void bench_open(struct bench *bench, const char *models, const char *options)
{
    struct err err = {0};
    bench_prepare(bench, models, options);
    ck_assert_int_eq(reloader_start(bench->reloader, &err), ERR_OK);
}

static void bench_close(struct bench *bench)
{
    reloader_stop(bench->reloader);
    snapshots_close(bench->snapshots);
    reloader_free(bench->reloader);
    batcher_free(bench->batcher);
    arena_deinit(&bench->exchange.arena);
    remove_dirs(bench);
    models_close(&bench->models);
}

static enum err_code submit(struct bench *bench)
{
    bench->exchange.reply.close = false;
    bench->request = (struct request){.exchange = &bench->exchange};
    struct err err = {0};
    return reloader_submit(bench->reloader, &bench->request, &err);
}

/* One whole reload; its error. */
static enum err_code reload(struct bench *bench)
{
    while (submit(bench) == ERR_CONFLICT) /* one that was signalled */
        sched_yield();
    fake_await_resumed(&bench->exchange);
    return bench->request.err.code;
}

/* "inputs_max models.logs": what the last reload changed, and behind a bar what waits. */
static void expect_changed(const struct bench *bench, const char *expected)
{
    char text[512] = "";
    const struct reload_result *result = bench->request.reload;
    ck_assert_msg(bench->request.err.code == ERR_OK, "%s", bench->request.err.text);
    for (unsigned i = 0; i < result->changed_count + result->restart_count; i++) {
        const unsigned of_restart = i - result->changed_count;
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%s%s", i > 0 ? " " : "",
                 i == result->changed_count ? "| " : "",
                 i < result->changed_count ? result->changed[i] : result->restart[of_restart]);
    }
    ck_assert_str_eq(text, expected);
}

/* The snapshot of now, borrowed: nobody publishes meanwhile. */
static const struct snapshot *now(const struct bench *bench)
{
    const struct snapshot *snapshot = snapshots_acquire(bench->snapshots);
    snapshots_release(bench->snapshots, snapshot);
    return snapshot;
}

static void expect_reloads(const struct bench *bench, unsigned good, unsigned bad)
{
    char line[128];
    snprintf(line, sizeof line,
             "attnd_config_reloads_total{result=\"failure\"} %u\n"
             "attnd_config_reloads_total{result=\"success\"} %u\n",
             bad, good);
    while (!models_tell(&bench->models, line)) /* a request is resumed, or a log written, before */
        sched_yield();
}

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
    ck_assert_uint_eq(bench.request.reload->generation, 2);
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
    ck_assert_int_eq(fake_models_open, 3); /* who came before still has the old one */
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
    while (models_tell(&bench.models, "model=\"logs\""))
        sched_yield();
    ck_assert_int_eq(fake_models_open, 1);
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

/* Nothing has changed, and the request and the counter say so. */
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

/* ---- who asks, and when ---- */

START_TEST(a_reload_is_heard_between_start_and_stop)
{
    struct bench bench;
    struct err err = {0};
    bench_prepare(&bench, "logs=text", "");
    ck_assert_int_eq(submit(&bench), ERR_NOT_READY);
    ck_assert_int_eq(reloader_start(bench.reloader, &err), ERR_OK);
    ck_assert_int_eq(reload(&bench), ERR_OK);
    reloader_stop(bench.reloader);
    ck_assert_int_eq(submit(&bench), ERR_NOT_READY);
    reloader_signal(bench.reloader); /* nobody hears it */
    ck_assert_uint_eq(now(&bench)->generation, 2);
    expect_reloads(&bench, 1, 0);
    reloader_stop(NULL);
    reloader_free(NULL);
    bench_close(&bench);
}
END_TEST

/* The model that the first reload opens is held at the gate while it is warmed. */
static void hold_a_reload(struct bench *bench)
{
    fake_gate(true);
    write_dir(bench, "text", "held at the gate");
    ck_assert_int_eq(submit(bench), ERR_OK);
    fake_await_inside(1);
}

START_TEST(one_reload_at_a_time_is_taken)
{
    struct bench bench;
    struct http_exchange other = {0};
    struct request second = {.exchange = &other};
    struct err err = {0};
    bench_open(&bench, "logs=text", "");
    hold_a_reload(&bench);
    ck_assert_int_eq(reloader_submit(bench.reloader, &second, &err), ERR_CONFLICT);
    ck_assert(!other.reply.close); /* the caller still has it */
    ck_assert_uint_eq(now(&bench)->generation, 1);
    fake_gate(false);
    fake_await_resumed(&bench.exchange);
    expect_changed(&bench, "models.logs");
    ck_assert_uint_eq(now(&bench)->generation, 2);
    bench_close(&bench);
}
END_TEST

/* The configuration changes after the first has read it. */
START_TEST(a_signal_while_a_reload_runs_brings_another)
{
    struct bench bench;
    struct http_exchange other = {0};
    struct request second = {.exchange = &other};
    struct err err = {0};
    bench_open(&bench, "logs=text", ", \"inputs_max\": 5");
    hold_a_reload(&bench);
    configure(&bench, "logs=text", ", \"inputs_max\": 6");
    for (int i = 0; i < 3; i++) /* one more reload suffices for all of them */
        reloader_signal(bench.reloader);
    ck_assert_int_eq(reloader_submit(bench.reloader, &second, &err), ERR_CONFLICT);
    fake_gate(false);
    fake_await_resumed(&bench.exchange);
    expect_changed(&bench, "models.logs");
    expect_reloads(&bench, 2, 0);
    ck_assert_uint_eq(now(&bench)->config.inputs_max, 6);
    ck_assert_uint_eq(now(&bench)->generation, 3);
    bench_close(&bench);
}
END_TEST

static struct {
    struct reloader *reloader;
    struct request request;
    enum err_code code;
    unsigned calls;
} again;

/* On the thread that gives the first reply. */
static void ask_again(struct http_exchange *exchange)
{
    (void)exchange;
    fake_resume_deed = NULL;
    again.calls++;
    again.code = reloader_submit(again.reloader, &again.request, &(struct err){0});
}

START_TEST(who_has_the_reply_may_ask_for_another_reload)
{
    struct bench bench;
    struct http_exchange other = {0};
    bench_open(&bench, "logs=text", "");
    arena_init(&other.arena);
    again.reloader = bench.reloader;
    again.request.exchange = &other;
    fake_resume_deed = ask_again;
    ck_assert_int_eq(reload(&bench), ERR_OK);
    ck_assert_uint_eq(again.calls, 1);
    ck_assert_int_eq(again.code, ERR_OK);
    fake_await_resumed(&other);
    ck_assert_uint_eq(now(&bench)->generation, 3);
    arena_deinit(&other.arena);
    bench_close(&bench);
}
END_TEST

static void *stop_main(void *context)
{
    reloader_stop(context);
    return NULL;
}

START_TEST(who_waits_for_a_reload_is_resumed_before_the_stop_returns)
{
    struct bench bench;
    pthread_t stopper;
    bench_open(&bench, "logs=text", "");
    hold_a_reload(&bench);
    ck_assert_int_eq(pthread_create(&stopper, NULL, stop_main, bench.reloader), 0);
    struct http_exchange other = {0};
    struct request second = {.exchange = &other};
    while (reloader_submit(bench.reloader, &second, &(struct err){0}) != ERR_NOT_READY)
        sched_yield();
    reloader_signal(bench.reloader); /* none begins after it */
    ck_assert(!bench.exchange.reply.close);
    fake_gate(false);
    pthread_join(stopper, NULL);
    ck_assert(bench.exchange.reply.close);
    expect_changed(&bench, "models.logs");
    expect_reloads(&bench, 1, 0);
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
      a_reload_that_fails_leaves_what_the_metrics_tell_of_models, the_log_says_how_a_reload_went,
      a_reload_is_heard_between_start_and_stop, one_reload_at_a_time_is_taken,
      who_has_the_reply_may_ask_for_another_reload, a_signal_while_a_reload_runs_brings_another,
      who_waits_for_a_reload_is_resumed_before_the_stop_returns)
