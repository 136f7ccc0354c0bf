/* The plan of the memory to the byte, over models whose cost the test names. */
#include "engine/engine.h"
#include "server/api/routes.h"
#include "server/feedback/feedback.h"
#include "server/http/http.h"
#include "server/memory_plan.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "server/observe/metrics.h"
#include "tests/support/log_capture.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *dirs[4], *dtypes[4];
    unsigned count, batch_tokens, threads;
    bool fails;
} asked;

/* The first model costs 1000 and 10 a session, with 3 labels; the next the double, and so on. */
enum err_code engine_measure(struct engine_cost *out, const char *dir,
                             const struct engine_options *options, unsigned batch_tokens_max,
                             unsigned threads, struct err *err)
{
    asked.dirs[asked.count] = dir;
    asked.dtypes[asked.count++] = options->dtype;
    asked.batch_tokens = batch_tokens_max;
    asked.threads = threads;
    *out = (struct engine_cost){.model_bytes = 1000 * asked.count,
                                .session_bytes = 10 * asked.count,
                                .label_count = 3 * asked.count};
    return asked.fails ? err_set(err, ERR_NOT_FOUND, "config.json: no such file") : ERR_OK;
}

static struct config_model models[] = {{.name = "a", .dir = "dir-a"},
                                       {.name = "b", .dir = "dir-b", .dtype = "int8"}};
static const struct plan plan = {
    .workers = 2, .threads_per_worker = 3, .batch_tokens = 256, .copies = 1};

enum { MIB = 1024 * 1024, IO_THREADS = 5, MAX_BYTES = 512 * MIB };

static struct config config_of(size_t memory_max)
{
    return (struct config){.models = models,
                           .model_count = 2,
                           .queue_limit = 100,
                           .connections_max = 50,
                           .feedback_window = 10,
                           .drift_window = 300,
                           .memory_max = memory_max};
}

static struct memory_plan made(void)
{
    struct memory_plan out;
    struct err err = {0};
    struct config config = config_of(MAX_BYTES);
    ck_assert_msg(memory_plan_make(&out, &config, &plan, IO_THREADS, &err) == ERR_OK, "%s",
                  err.text);
    ck_assert_int_eq(err.code, ERR_OK);
    return out;
}

/* Two workers of three threads, whatever the number of models, and five others. */
static void expected_items(size_t items[MEMORY_ITEMS])
{
    items[MEMORY_PROCESS] = 24 * MIB + (2 * 3 + IO_THREADS) * (size_t)256 * 1024;
    items[MEMORY_MODELS] = 1000 + 2000;
    items[MEMORY_SESSIONS] = 2 * (10 + 20);
    items[MEMORY_CONNECTIONS] = 50 * (HTTP_CONNECTION_BYTES + (size_t)24 * 1024);
    items[MEMORY_QUEUE] = 100 * (size_t)128;
    items[MEMORY_METRICS] =
        metrics_bytes(routes_path_count(), 2, 3 + 6) + drift_bytes(300) + label_shares_bytes();
    items[MEMORY_FEEDBACK] = feedback_bytes(10, false);
}

START_TEST(memory_plan_items_follow_from_their_options)
{
    struct memory_plan out = made();
    size_t items[MEMORY_ITEMS], sum = 0;
    expected_items(items);
    for (int i = 0; i < MEMORY_ITEMS; i++) {
        ck_assert_msg(out.items[i] == items[i], "item %d is %zu, not %zu", i, out.items[i],
                      items[i]);
        sum += items[i];
    }
    ck_assert_uint_eq(out.fixed_bytes, sum);
    ck_assert_uint_eq(out.model_bytes, 3000 + 60);
    ck_assert_uint_eq(out.each[0], 1000 + 2 * 10);
    ck_assert_uint_eq(out.each[1], 2000 + 2 * 20);
    ck_assert_uint_eq(out.max_bytes, MAX_BYTES);
    ck_assert_str_eq(out.source, "memory_max");
    ck_assert_uint_eq(asked.count, 2);
    ck_assert_str_eq(asked.dirs[0], "dir-a");
    ck_assert_str_eq(asked.dirs[1], "dir-b");
    ck_assert_ptr_null(asked.dtypes[0]);
    ck_assert_str_eq(asked.dtypes[1], "int8");
    ck_assert_uint_eq(asked.batch_tokens, 256);
    ck_assert_uint_eq(asked.threads, 3);
}
END_TEST

START_TEST(memory_plan_error_lists_every_item_of_the_sum)
{
    size_t items[MEMORY_ITEMS];
    char text[600];
    struct err err = {0};
    struct memory_plan out;
    struct config config = config_of(MAX_BYTES);
    size_t fixed = made().fixed_bytes;
    asked.count = 0;
    config.memory_max = fixed + 8 * MIB;
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, IO_THREADS, &err), ERR_OK);
    asked.count = 0;
    config.memory_max--;
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, IO_THREADS, &err), ERR_UNUSABLE);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    expected_items(items);
    snprintf(text, sizeof text,
             "memory: %zu bytes (memory_max) are too few for process %zu + models %zu (models) + "
             "sessions %zu (workers, threads_per_worker, batch_tokens_max) + connections %zu "
             "(connections_max) + queue %zu (queue_limit) + metrics %zu (models, drift_window) + "
             "feedback %zu (feedback_window), and 8388608 for requests; raise memory_max or lower "
             "what is in "
             "brackets",
             config.memory_max, items[0], items[1], items[2], items[3], items[4], items[5],
             items[6]);
    ck_assert_str_eq(err.text, text);
}
END_TEST

START_TEST(a_model_that_cannot_be_measured_is_named)
{
    struct err err = {0};
    struct memory_plan out;
    struct config config = config_of(MAX_BYTES);
    asked.fails = true;
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, IO_THREADS, &err), ERR_NOT_FOUND);
    ck_assert_str_eq(err.text, "model a: config.json: no such file");
    ck_assert_uint_eq(asked.count, 1);
}
END_TEST

START_TEST(the_table_lists_each_item_with_its_options)
{
    const struct memory_plan out = {.max_bytes = 10000,
                                    .source = "cgroup",
                                    .items = {1, 22, 333, 4444, 5, 6, 7},
                                    .fixed_bytes = 4818};
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    memory_plan_print(&out, file);
    fclose(file);
    ck_assert_str_eq(text,
                     "memory                 bytes  set by\n"
                     "process                    1\n"
                     "models                    22  models\n"
                     "sessions                 333  workers, threads_per_worker, batch_tokens_max\n"
                     "connections             4444  connections_max\n"
                     "queue                      5  queue_limit\n"
                     "metrics                    6  models, drift_window\n"
                     "feedback                   7  feedback_window\n"
                     "requests                5182  what is left\n"
                     "sum                    10000  cgroup\n");
    free(text);
    log_capture_start();
    memory_plan_log(&out);
    ck_assert_str_eq(log_capture_fields(log_capture_end(), "memory_plan"),
                     ",\"max_bytes\":10000,\"source\":\"cgroup\",\"requests\":5182,\"process\":1,"
                     "\"models\":22,\"sessions\":333,\"connections\":4444,\"queue\":5,"
                     "\"metrics\":6,\"feedback\":7}");
}
END_TEST

START_TEST(an_address_for_administration_has_connections_of_its_own)
{
    struct memory_plan out;
    struct err err = {0};
    struct config config = config_of(MAX_BYTES);
    size_t items[MEMORY_ITEMS];
    expected_items(items);
    config.admin_listen = "unix:/a";
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, IO_THREADS, &err), ERR_OK);
    ck_assert_uint_eq(out.items[MEMORY_CONNECTIONS], items[MEMORY_CONNECTIONS] / 50 * (50 + 64));
}
END_TEST

START_TEST(a_connection_of_tls_takes_what_a_handshake_may_leave)
{
    struct memory_plan out;
    struct err err = {0};
    struct config config = config_of(MAX_BYTES);
    size_t items[MEMORY_ITEMS];
    expected_items(items);
    config.tls_cert_file = "server.pem";
    ck_assert_int_eq(memory_plan_make(&out, &config, &plan, IO_THREADS, &err), ERR_OK);
    ck_assert_uint_eq(out.items[MEMORY_CONNECTIONS],
                      items[MEMORY_CONNECTIONS] + 50 * (size_t)HTTP_TLS_BYTES);
}
END_TEST

SUITE("memory_plan_sums", a_connection_of_tls_takes_what_a_handshake_may_leave,
      an_address_for_administration_has_connections_of_its_own,
      memory_plan_items_follow_from_their_options, memory_plan_error_lists_every_item_of_the_sum,
      a_model_that_cannot_be_measured_is_named, the_table_lists_each_item_with_its_options)
