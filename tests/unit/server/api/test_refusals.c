/* Between the fake edge and the fake engine of stage.h: threads that cannot be started, memory that
 * others hold, a queue that closes. */
#include "tests/unit/server/stage.h"

#include "wire/limits.h"

#include <unistd.h>

/* No address space holds such a stack, so pthread_create has no thread for anybody. */
static void deny_threads(bool denied)
{
    static size_t usual;
    pthread_attr_t attributes;
    ck_assert_int_eq(pthread_getattr_default_np(&attributes), 0);
    if (usual == 0)
        pthread_attr_getstacksize(&attributes, &usual);
    pthread_attr_setstacksize(&attributes, denied ? (size_t)1 << 47 : usual);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
}

#define NO_THREAD "Resource temporarily unavailable"

START_TEST(a_pool_without_threads_is_not_started)
{
    struct err err = {0};
    struct prepare *prepare;
    deny_threads(true);
    ck_assert_int_eq(prepare_start(&prepare, 2, predict_pool, NULL, &err), ERR_NO_MEMORY);
    deny_threads(false);
    ck_assert_ptr_null(prepare);
    ck_assert_str_eq(err.text, "cannot start a thread: " NO_THREAD);
}
END_TEST

START_TEST(workers_without_threads_are_not_started)
{
    struct stage stage;
    struct err err = {0};
    struct workers *workers;
    stage_open(&stage, 1);
    struct worker_options options = {2, 1, NULL, 64, stage.service.batcher, stage.service.metrics};
    deny_threads(true);
    ck_assert_int_eq(worker_start(&workers, &options, &err), ERR_NO_MEMORY);
    deny_threads(false);
    ck_assert_ptr_null(workers);
    ck_assert_str_eq(err.text, "cannot start a thread: " NO_THREAD);
    check_call(&stage, "{\"text\": \"a\"}", 503, "stopping"); /* the queue is closed */
    stage_close(&stage);
}
END_TEST

START_TEST(digests_without_a_thread_are_not_started)
{
    struct stage stage;
    struct err err = {0};
    stage_open(&stage, 1);
    deny_threads(true);
    ck_assert_int_eq(snapshots_start_digests(stage.service.snapshots, &err), ERR_NO_MEMORY);
    deny_threads(false);
    ck_assert_str_eq(err.text, "cannot start a thread: " NO_THREAD);
    snapshots_stop_digests(stage.service.snapshots);
    stage_close(&stage);
}
END_TEST

/* The log of the digests of both models, whose hashing this deed disturbs. */
static void log_of_digests(char log[4096], void (*deed)(const struct engine_model *, struct err *))
{
    struct stage stage;
    struct err err = {0};
    FILE *file = tmpfile();
    stage_open(&stage, 1);
    fake_digest_deed = deed;
    int saved = dup(STDERR_FILENO);
    ck_assert(file != NULL && dup2(fileno(file), STDERR_FILENO) >= 0);
    ck_assert_int_eq(snapshots_start_digests(stage.service.snapshots, &err), ERR_OK);
    for (ssize_t len = 0; len < 4096; usleep(1000)) { /* a line for each of the two */
        len = pread(fileno(file), log, 4095, 0);
        log[len > 0 ? len : 0] = '\0';
        const char *first = strchr(log, '\n');
        if (first != NULL && strchr(first + 1, '\n') != NULL)
            break;
    }
    dup2(saved, STDERR_FILENO);
    close(saved);
    fclose(file);
    snapshots_stop_digests(stage.service.snapshots);
    fake_digest_deed = NULL;
    ck_assert_ptr_null(served_model_digest(stage.snapshot->models[1]));
    stage_close(&stage);
}

static void deny_the_next_thread(const struct engine_model *model, struct err *err)
{
    (void)model;
    (void)err;
    deny_threads(true);
}

static void lose_the_images(const struct engine_model *model, struct err *err)
{
    if (model->info.kind == ENGINE_IMAGE)
        err_set(err, ERR_IO, "model.safetensors: gone");
}

START_TEST(a_digest_that_fails_is_told_and_the_others_are_made)
{
    char log[4096];
    const char *made = "\"level\":\"info\",\"event\":\"model_digest\",\"model\":\"logs\","
                       "\"digest\":\"sha256:00";
    log_of_digests(log, lose_the_images);
    ck_assert_msg(strstr(log, made) != NULL, "%s", log);
    ck_assert_msg(strstr(log, "\"level\":\"warn\",\"event\":\"digest_failed\",\"model\":\"wafers\","
                              "\"error\":\"model.safetensors: gone\"}\n") != NULL,
                  "%s", log);
    log_of_digests(log, deny_the_next_thread);
    deny_threads(false);
    ck_assert_msg(strstr(log, made) != NULL, "%s", log);
    ck_assert_msg(strstr(log, "\"event\":\"digest_failed\",\"model\":\"wafers\",\"error\":\"cannot "
                              "start a thread: " NO_THREAD "\"}\n") != NULL,
                  "%s", log);
}
END_TEST

/* A call that a thread of the pool prepares, its text of this byte; yours to free. */
static char *heavy(char byte)
{
    enum { BYTES = LIMIT_PREPARE_INLINE_BYTES };
    char *body = malloc(BYTES + 64), *at = body;
    ck_assert_ptr_nonnull(body);
    at += sprintf(at, "{\"text\": \"");
    memset(at, byte, BYTES);
    strcpy(at + BYTES, "\"}");
    return body;
}

/* All of the pool is held by others: a reply, a short and a long body are refused at once, and are
 * served when it is given back. */
START_TEST(requests_without_memory_are_refused_while_others_hold_it)
{
    struct stage stage;
    struct err err = {0};
    char *long_body = heavy('a');
    stage_open(&stage, 1);
    struct memory *memory = &stage.service.memory;
    for (int held = 1; held >= 0; held--) {
        struct http_exchange exchange;
        if (held)
            ck_assert_int_eq(memory_take(memory, memory->pool_bytes, MEMORY_SMALL, &err), ERR_OK);
        exchange_init(&exchange, "");
        exchange.method = HTTP_GET;
        exchange.path = "/metrics";
        ck_assert_int_eq(stage.app.head(&stage.service, &exchange) == HTTP_REPLY ||
                             stage.app.begin(&stage.service, &exchange) == HTTP_REPLY,
                         true);
        ck_assert_uint_eq(exchange.reply.status, held ? 429 : 200);
        ck_assert_msg(strstr(exchange.reply.body, held ? "\"queue_full\"" : "attnd_queue_") != NULL,
                      "%s", exchange.reply.body);
        exchange_done(&stage, &exchange);
        check_call(&stage, "{\"text\": \"a\"}", held ? 429 : 200,
                   held ? "\"queue_full\"" : "\"label\"");
        check_call(&stage, long_body, held ? 429 : 200, held ? "\"queue_full\"" : "\"label\"");
        if (held)
            memory_give(memory, memory->pool_bytes);
    }
    stage_close(&stage);
    free(long_body);
}
END_TEST

START_TEST(requests_to_a_closed_queue_are_told_that_the_server_stops)
{
    struct stage stage;
    stage_open(&stage, 1);
    batcher_close(stage.service.batcher);
    check_call(&stage, "{\"text\": \"a\"}", 503, "the server is stopping");
    check_call(&stage, "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}]}", 503,
               "the server is stopping");
    stage_close(&stage);
}
END_TEST

/* The request has its place when preparing begins. The queue closes before preparing ends. */
START_TEST(requests_in_preparation_are_told_that_the_server_stops)
{
    struct stage stage;
    struct http_exchange exchange;
    char *body = heavy('G');
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &exchange, body));
    fake_await_inside(1);
    batcher_close(stage.service.batcher);
    fake_gate(false);
    fake_await_resumed(&exchange);
    stage.app.finish(&stage.service, &exchange);
    ck_assert_uint_eq(exchange.reply.status, 503);
    ck_assert_msg(strstr(exchange.reply.body, "the server is stopping") != NULL, "%s",
                  exchange.reply.body);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
    free(body);
}
END_TEST

SUITE("refusals", a_pool_without_threads_is_not_started, workers_without_threads_are_not_started,
      digests_without_a_thread_are_not_started, a_digest_that_fails_is_told_and_the_others_are_made,
      requests_without_memory_are_refused_while_others_hold_it,
      requests_to_a_closed_queue_are_told_that_the_server_stops,
      requests_in_preparation_are_told_that_the_server_stops)
