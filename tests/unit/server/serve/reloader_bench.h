/* reloader_bench.h - a reloader over a fake engine and real directories: a configuration file, the
 * directories that it names, and what a reload made of them. Like fakes.h, which it includes, for
 * one file of a test program.
 *
 *     struct bench bench;
 *     bench_open(&bench, "logs=text", ", \"inputs_max\": 5");
 *     configure(&bench, "logs=text-2 wafers=image:int8", "");
 *     ck_assert_int_eq(reload(&bench), ERR_OK);
 *     expect_changed(&bench, "models.logs models.wafers");
 *     bench_close(&bench);
 */
#ifndef ATTND_TESTS_UNIT_SERVER_SERVE_RELOADER_BENCH_H
#define ATTND_TESTS_UNIT_SERVER_SERVE_RELOADER_BENCH_H

#include "config/config_load.h"
#include "server/serve/reloader.h"
#include "server/serve/request.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/models.h"

#include <stdio.h>
#include <string.h>
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
    /* The last reload. */
    struct http_exchange exchange;
    struct request request;
    struct reloader_order order;
};

static inline void path_of(const struct bench *bench, const char *dir, char out[128])
{
    snprintf(out, 128, "%s/%s", bench->dir.path, dir);
}

static inline void write_dir(const struct bench *bench, const char *dir, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s/weights", bench->dir.path, dir);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* "logs=text wafers=image", and other options as JSON members, each behind a comma. */
static inline void configure(const struct bench *bench, const char *models, const char *options)
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

static inline void make_dirs(struct bench *bench)
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

static inline void remove_dirs(struct bench *bench)
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

static inline void open_snapshots(struct bench *bench)
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

/* Loads the models as the server does at its start. */
static inline enum err_code load(struct bench *bench, struct err *err)
{
    const struct snapshot *empty = snapshots_acquire(bench->snapshots);
    size_t bytes[CONFIG_MODELS_MAX];
    for (unsigned i = 0; i < empty->config.model_count; i++) {
        bytes[i] = MODELS_BYTES;
        ck_assert_int_eq(memory_hold(&bench->models.memory, bytes[i], err), ERR_OK);
    }
    reloader_load(bench->reloader, &empty->config, &empty->config, bytes, err);
    snapshots_release(bench->snapshots, empty);
    return err->code;
}

/* Loaded, but not started. */
static inline void bench_prepare(struct bench *bench, const char *models, const char *options)
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
        .plan = bench->models.plan};
    ck_assert_int_eq(reloader_open(&bench->reloader, &how, &err), ERR_OK);
    ck_assert_msg(load(bench, &err) == ERR_OK, "%s", err.text);
    log_set_level("warn");
    arena_init(&bench->exchange.arena);
}

static inline void bench_open(struct bench *bench, const char *models, const char *options)
{
    struct err err = {0};
    bench_prepare(bench, models, options);
    ck_assert_int_eq(reloader_start(bench->reloader, &err), ERR_OK);
}

static inline void bench_close(struct bench *bench)
{
    reloader_stop(bench->reloader);
    snapshots_close(bench->snapshots);
    reloader_free(bench->reloader);
    batcher_free(bench->batcher);
    arena_deinit(&bench->exchange.arena);
    remove_dirs(bench);
    models_close(&bench->models);
}

static inline enum err_code submit(struct bench *bench)
{
    bench->exchange.reply.close = false;
    bench->request = (struct request){.exchange = &bench->exchange};
    bench->order = (struct reloader_order){.request = &bench->request};
    struct err err = {0};
    return reloader_submit(bench->reloader, &bench->order, &err);
}

/* One whole reload; its error. */
static inline enum err_code reload(struct bench *bench)
{
    while (submit(bench) == ERR_CONFLICT) /* one that was signalled */
        sched_yield();
    fake_await_resumed(&bench->exchange);
    return bench->request.err.code;
}

/* "inputs_max models.logs": the options that the last reload changed and, behind a bar, those that
 * wait. */
static inline void expect_changed(const struct bench *bench, const char *expected)
{
    char text[512] = "";
    const struct reload_result *result = &bench->order.result;
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
static inline const struct snapshot *now(const struct bench *bench)
{
    const struct snapshot *snapshot = snapshots_acquire(bench->snapshots);
    snapshots_release(bench->snapshots, snapshot);
    return snapshot;
}

static inline void expect_reloads(const struct bench *bench, unsigned good, unsigned bad)
{
    char line[128];
    snprintf(line, sizeof line,
             "attnd_config_reloads_total{result=\"failure\"} %u\n"
             "attnd_config_reloads_total{result=\"success\"} %u\n",
             bad, good);
    while (!models_tell(&bench->models, line)) /* a request is resumed, or a log written, before */
        sched_yield();
}

#endif
