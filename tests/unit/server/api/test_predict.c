/* POST /predict between a fake HTTP edge and a fake engine: the real codec, queue, workers, pool.
 */
#include "tests/support/exposition.h"
#include "tests/unit/server/stage.h"
#include "wire/limits.h"

#include <jansson.h>
#include <stdlib.h>

START_TEST(predict_answers_one_text)
{
    struct stage stage;
    stage_open(&stage, 1);
    check_call(&stage, "{\"text\": \"abc\"}", 200, "\"label\"");
    check_call(&stage, "{\"text\": \"abc\", \"model\": \"logs\"}", 200, "\"logs\"");
    stage_close(&stage);
}
END_TEST

/* Each item that failed by itself is counted by itself. */
START_TEST(predict_spoils_no_neighbour_of_a_bad_item)
{
    struct stage stage;
    stage_open(&stage, 1);
    check_call(&stage, "{\"inputs\": [{\"text\": \"\"}, {\"text\": \"N\"}, {\"text\": \"abc\"}]}",
               200, "\"label\"");
    check_call(&stage, "{\"inputs\": [{\"text\": \"\"}, {\"text\": \"abc\"}]}", 200,
               "$.inputs[0].text: ");
    check_call(&stage, "{\"inputs\": [{\"text\": \"N\"}]}", 200, "\"internal\"");
    check_call(&stage, "{\"inputs\": [{\"text\": \"a\"}], \"model\": \"wafers\"}", 200,
               "\"status\"");
    check_metric(&stage, "attnd_rejected_total{reason=\"unusable\"} 3\n");
    check_metric(&stage, "attnd_rejected_total{reason=\"internal\"} 2\n");
    check_metric(&stage, "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"auto\"} "
                         "2\n");
    check_metric(&stage, "attnd_requests_total{route=\"/predict\",model=\"\",code=\"200\"} 1\n");
    check_metric(&stage,
                 "attnd_requests_total{route=\"/predict\",model=\"logs\",code=\"200\"} 3\n");
    stage_close(&stage);
}
END_TEST

START_TEST(predict_refuses_what_it_cannot_use)
{
    struct stage stage;
    stage_open(&stage, 1);
    check_call(&stage, "{\"text\": \"\"}", 422, "$.text: ");
    check_call(&stage, "{\"text\": \"N\"}", 500, "not a finite number");
    check_call(&stage, "{\"text\": \"M\"}", 500, "not a finite number");
    check_call(&stage, "{\"text\": \"a\", \"model\": \"none\"}", 404, "GET /models");
    check_call(&stage, "{\"text\": \"a\", \"model\": \"wafers\"}", 422, "wafers does not read");
    check_call(&stage, "{\"text\":", 400, "detail");
    check_metric(&stage, "attnd_rejected_total{reason=\"unusable\"} 2\n");
    check_metric(&stage, "attnd_rejected_total{reason=\"internal\"} 2\n");
    check_metric(&stage, "attnd_rejected_total{reason=\"not_found\"} 1\n");
    check_metric(&stage, "attnd_rejected_total{reason=\"malformed\"} 1\n");
    check_metric(&stage, "attnd_ood_score_count{model=\"logs\"} 0\n");
    stage_close(&stage);
}
END_TEST

START_TEST(predict_tells_and_counts_what_is_decided)
{
    struct stage stage;
    struct arena arena;
    size_t len;
    stage_open(&stage, 1);
    check_call(&stage, "{\"text\": \"abc\"}", 200, "\"decision\":\"auto\",\"ood_score\":97.0,");
    check_call(&stage, "{\"text\": \"Rbc\"}", 200,
               "\"decision\":\"review\",\"reason\":\"label 'fail' has score 0.3203125, below its "
               "threshold 0.5\",\"ood_score\":82.0,");
    check_call(&stage, "{\"inputs\": [{\"text\": \"U\"}, {\"text\": \"U\"}, {\"text\": \"N\"}]}",
               200,
               "\"decision\":\"unknown\",\"reason\":\"the input is unlike what the model knows: "
               "ood_score 85 is above its threshold 0.5\",\"ood_score\":85.0,");
    arena_init(&arena);
    const char *page = metrics_expose(stage.service.metrics, &arena, &len);
    static const char *const lines[] = {
        "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"auto\"} 1\n",
        "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"review\"} 1\n",
        "attnd_predictions_total{model=\"logs\",label=\"pass\",decision=\"unknown\"} 2\n",
        "attnd_ood_score_bucket{model=\"logs\",le=\"30\"} 0\n",
        "attnd_ood_score_bucket{model=\"logs\",le=\"100\"} 4\n",
        "attnd_ood_score_sum{model=\"logs\"} 349\n", /* 97 + 82 + 85 + 85 */
        "attnd_ood_score_count{model=\"logs\"} 4\n",
        "attnd_rejected_total{reason=\"internal\"} 1\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(strstr(page, lines[i]) != NULL, "no %s", lines[i]);
    ck_assert_ptr_null(strstr(page, "attnd_ood_score_count{model=\"wafers\"}")); /* it has none */
    arena_deinit(&arena);
    stage_close(&stage);
}
END_TEST

START_TEST(predict_reads_raw_bodies_by_their_type)
{
    struct stage stage;
    stage_open(&stage, 1);
    fake_headers = (const struct fake_header[]){{"Content-Type", "text/plain"}, {NULL, NULL}};
    fake_query = (const struct fake_header[]){{"id", "q1"}, {NULL, NULL}};
    check_call(&stage, "abc", 200, "\"q1\"");
    fake_headers = (const struct fake_header[]){{"Content-Type", "image/png"}, {NULL, NULL}};
    check_call(&stage, "1 pixel", 200, "\"wafers\"");
    fake_headers = (const struct fake_header[]){{"Content-Type", "text/html"}, {NULL, NULL}};
    check_call(&stage, "abc", 415, "Content-Type must be");
    stage_close(&stage);
}
END_TEST

START_TEST(predict_hands_heavy_requests_to_the_pool)
{
    struct stage stage;
    stage_open(&stage, 1);
    fake_headers = (const struct fake_header[]){{"Content-Type", "image/png"}, {NULL, NULL}};
    check_call(&stage, "1000", 200, "\"wafers\"");
    ck_assert(pthread_equal(fake_prepared_by, pthread_self()));
    check_call(&stage, "99999999", 200, "\"wafers\"");
    ck_assert(!pthread_equal(fake_prepared_by, pthread_self()));
    char *long_body = malloc(LIMIT_PREPARE_INLINE_BYTES + 2);
    memset(long_body, 'a', LIMIT_PREPARE_INLINE_BYTES + 1);
    long_body[LIMIT_PREPARE_INLINE_BYTES + 1] = '\0';
    fake_headers = (const struct fake_header[]){{"Content-Type", "text/plain"}, {NULL, NULL}};
    fake_prepared_by = pthread_self();
    check_call(&stage, long_body, 200, "\"logs\"");
    ck_assert(!pthread_equal(fake_prepared_by, pthread_self()));
    fake_headers = NULL;
    check_call(&stage, long_body, 400, "detail"); /* not JSON: found out in the pool */
    free(long_body);
    ck_assert_int_eq(batcher_admit(stage.service.batcher, 1, &(struct err){0}), ERR_OK);
    stage_close(&stage);
}
END_TEST

START_TEST(predict_explains_on_a_thread_of_the_pool)
{
    struct stage stage;
    stage_open(&stage, 1);
    check_call(&stage, "{\"text\": \"abc\"}", 200,
               "\"predictions\":[{\"label\":\"pass\",\"score\":"
               "0.62109375}],\"timing_ms\"");
    fake_explained_by = pthread_self();
    check_call(&stage, "{\"text\": \"abc\", \"explain\": \"rollout\"}", 200,
               "\"explanation\":{\"method\":\"rollout\",\"words\":[{\"start\":0,\"end\":1,"
               "\"relevance\":1.0}],\"spans\":[]}");
    ck_assert(!pthread_equal(fake_explained_by, pthread_self()));
    check_call(&stage, "{\"text\": \"abc\", \"explain\": true}", 200, "\"explain\":");
    check_call(&stage, "{\"text\": \"a\", \"explain\": \"rollout\", \"explain_layer\": 9}", 422,
               "$.text: explain_layer is 9");
    check_call(&stage, "{\"text\": \"Eb\", \"explain\": true}", 500, "out of memory");
    check_call(&stage, "{\"inputs\": [{\"text\": \"N\"}, {\"text\": \"\"}], \"explain\": true}",
               200, "\"internal\"");
    stage_close(&stage);
}
END_TEST

static char long_label[90 * 1024];
static pthread_t encoded_by;

/* Notes the thread that copies the long label: that thread encodes the reply. */
static void *watching_malloc(size_t size)
{
    if (size >= sizeof long_label)
        encoded_by = pthread_self();
    return malloc(size);
}

/* Labels may be as long as a request: whoever serves sockets must not wait for their encoding. */
START_TEST(predict_encodes_a_long_reply_on_a_thread_of_the_pool)
{
    static const char *const labels[] = {long_label, "fail"};
    static char body[256];
    struct stage stage;
    memset(long_label, 'x', sizeof long_label - 1);
    fake_models[0].info.labels = labels;
    stage_open(&stage, 1);
    json_set_alloc_funcs(watching_malloc, free);
    for (unsigned count = 1; count < 4; count++) {
        char *end = stpcpy(body, "{\"top_k\": \"all\", \"inputs\": [");
        for (unsigned i = 0; i < count; i++)
            end = stpcpy(end, i > 0 ? ", {\"text\": \"abc\"}" : "{\"text\": \"abc\"}");
        stpcpy(end, "]}");
        encoded_by = pthread_self();
        check_call(&stage, body, 200, "\"label\":\"fail\"");
        ck_assert(!pthread_equal(encoded_by, pthread_self()));
    }
    json_set_alloc_funcs(malloc, free);
    ck_assert_uint_eq(memory_taken(&stage.service.memory), 0);
    stage_close(&stage);
}
END_TEST

START_TEST(predict_bounds_the_attention_that_is_kept)
{
    struct stage stage;
    struct http_exchange busy, refused;
    stage_open(&stage, 1);
    check_call(&stage, "{\"text\": \"sixsix\", \"explain\": true}", 413,
               "$.text: explain: the request's inputs up to this one need 600 bytes of attention, "
               "the limit (explain_bytes_max) is 500");
    check_call(&stage,
               "{\"inputs\": [{\"text\": \"four\"}, {\"text\": \"two\"}, {\"text\": \"a\"}], "
               "\"explain\": true}",
               200, "$.inputs[1].text: explain: ");
    fake_gate(true);
    ck_assert(send(&stage, &busy, "{\"text\": \"four\", \"explain\": true}"));
    fake_await_inside(1);
    ck_assert(!send(&stage, &refused, "{\"text\": \"two\", \"explain\": true}"));
    ck_assert_uint_eq(refused.reply.status, 429);
    ck_assert_uint_eq(refused.reply.retry_after_s, LIMIT_RETRY_AFTER_S);
    ck_assert_ptr_nonnull(strstr(refused.reply.body, "explain_bytes_max"));
    exchange_done(&stage, &refused);
    ck_assert_uint_eq(stage.service.capture_bytes, 4 * FAKE_CAPTURE_BYTES);
    fake_gate(false);
    fake_await_resumed(&busy);
    stage.app.finish(&stage.service, &busy);
    ck_assert_uint_eq(busy.reply.status, 200);
    exchange_done(&stage, &busy);
    check_call(&stage, "{\"text\": \"fives\", \"explain\": true}", 200, "explanation");
    stage_close(&stage);
}
END_TEST

START_TEST(predict_gives_an_unexplained_request_back_when_the_pool_has_stopped)
{
    struct stage stage;
    struct http_exchange busy;
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &busy, "{\"text\": \"abc\", \"explain\": true}"));
    fake_await_inside(1);
    prepare_stop(stage.service.prepare);
    fake_gate(false);
    fake_await_resumed(&busy);
    stage.app.finish(&stage.service, &busy);
    ck_assert_uint_eq(busy.reply.status, 503);
    exchange_done(&stage, &busy);
    stage_close(&stage);
}
END_TEST

/* One request computes behind the gate, QUEUE_LIMIT wait. */
START_TEST(predict_sheds_load_beyond_the_queue)
{
    struct stage stage;
    struct http_exchange busy, waiting[QUEUE_LIMIT];
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &busy, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    for (unsigned i = 0; i + 1 < QUEUE_LIMIT; i++)
        ck_assert(send(&stage, &waiting[i], "{\"text\": \"a\"}"));
    check_call(&stage, "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}]}", 429, "queue");
    ck_assert(send(&stage, &waiting[QUEUE_LIMIT - 1], "{\"text\": \"a\"}"));
    struct http_exchange refused;
    exchange_init(&refused, "");
    ck_assert_int_eq(stage.app.head(&stage.service, &refused), HTTP_REPLY);
    ck_assert_uint_eq(refused.reply.status, 429);
    ck_assert_uint_eq(refused.reply.retry_after_s, LIMIT_RETRY_AFTER_S);
    exchange_done(&stage, &refused);
    fake_gate(false);
    fake_await_resumed(&busy);
    stage.app.finish(&stage.service, &busy);
    ck_assert_uint_eq(busy.reply.status, 200);
    exchange_done(&stage, &busy);
    for (unsigned i = 0; i < QUEUE_LIMIT; i++) {
        fake_await_resumed(&waiting[i]);
        stage.app.finish(&stage.service, &waiting[i]);
        ck_assert_uint_eq(waiting[i].reply.status, 200);
        exchange_done(&stage, &waiting[i]);
    }
    stage_close(&stage);
}
END_TEST

/* The queue is told that a token takes a second; the worker, held at the gate, tells none. */
START_TEST(predict_sheds_load_beyond_the_queues_time_and_says_when_to_come)
{
    struct stage stage;
    struct http_exchange held, waiting, refused;
    stage_open(&stage, 1);
    batcher_limit_wait(stage.service.batcher, 2000, 1);
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &waiting, "{\"text\": \"seven t\"}"));
    batcher_computed(stage.service.batcher, stage.snapshot->models[0], 64,
                     UINT64_C(64) * CLOCK_NS_PER_S);
    ck_assert(!send(&stage, &refused, "{\"text\": \"a\"}"));
    ck_assert_uint_eq(refused.reply.status, 429);
    ck_assert_uint_eq(refused.reply.retry_after_s, 5);
    ck_assert_ptr_nonnull(strstr(refused.reply.body, "about 7.0 s of work, more than its 2.0 s"));
    exchange_done(&stage, &refused);
    fake_gate(false);
    struct http_exchange *const served[] = {&held, &waiting};
    for (unsigned i = 0; i < 2; i++) {
        fake_await_resumed(served[i]);
        stage.app.finish(&stage.service, served[i]);
        ck_assert_uint_eq(served[i]->reply.status, 200);
        exchange_done(&stage, served[i]);
    }
    check_call(&stage, "{\"text\": \"a\"}", 200, "pass");
    stage_close(&stage);
}
END_TEST

START_TEST(predict_never_computes_the_expired_and_the_abandoned)
{
    struct stage stage;
    struct http_exchange busy, late;
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &busy, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &late, "{\"text\": \"a\", \"deadline_ms\": 50}"));
    while (clock_now_ns() < late.head_ns + 60u * CLOCK_NS_PER_MS)
        sched_yield();
    unsigned rows = fake_rows;
    fake_gate(false);
    fake_await_resumed(&late);
    fake_await_resumed(&busy);
    stage.app.finish(&stage.service, &late);
    stage.app.finish(&stage.service, &busy);
    ck_assert_uint_eq(late.reply.status, 504);
    ck_assert_uint_eq(busy.reply.status, 200);
    exchange_done(&stage, &late);
    exchange_done(&stage, &busy);
    atomic_store(&fake_client_gone, true);
    struct http_exchange gone;
    ck_assert_uint_ne(call(&stage, &gone, "{\"text\": \"a\"}"), 200);
    exchange_done(&stage, &gone);
    ck_assert_uint_eq(fake_rows, rows + 1);
    stage_close(&stage);
}
END_TEST

START_TEST(predict_counts_a_client_that_left_the_queue)
{
    struct stage stage;
    struct http_exchange busy, gone;
    stage_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &busy, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &gone, "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}]}"));
    atomic_store(&fake_client_gone, true);
    fake_gate(false);
    fake_await_resumed(&gone);
    fake_await_resumed(&busy);
    stage.app.finish(&stage.service, &gone);
    stage.app.finish(&stage.service, &busy);
    exchange_done(&stage, &gone);
    exchange_done(&stage, &busy);
    check_metric(&stage, "attnd_clients_gone_total 1\n"); /* once, whatever it left behind */
    stage_close(&stage);
}
END_TEST

/* The sum of a stage of the text model, in seconds. */
static double stage_seconds(const struct stage *stage, const char *name)
{
    struct arena arena;
    char problem[EXPOSITION_PROBLEM_BYTES] = "";
    size_t len;
    arena_init(&arena);
    const char *page = metrics_expose(stage->service.metrics, &arena, &len);
    struct exposition *exposition = exposition_parse(page, len, problem);
    ck_assert_msg(exposition != NULL, "%s", problem);
    double sum = exposition_value(
        exposition,
        arena_format(&arena, "attnd_stage_duration_seconds_sum{model=\"logs\",stage=\"%s\"}",
                     name));
    exposition_free(exposition);
    arena_deinit(&arena);
    return sum;
}

/* None is longer than the call, and none is as long as no time at all. */
START_TEST(predict_counts_the_time_of_each_stage)
{
    static const char *const stages[] = {"parse",     "prepare", "queue",
                                         "inference", "explain", "encode"};
    struct stage stage;
    stage_open(&stage, 1);
    uint64_t start = clock_now_ns();
    check_call(&stage, "{\"text\": \"abc\", \"explain\": true}", 200, "explanation");
    double seconds = clock_ms_between(start, clock_now_ns()) / 1000;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        double sum = stage_seconds(&stage, stages[i]);
        ck_assert_msg(sum > 0 && sum < seconds, "%s: %g s of %g", stages[i], sum, seconds);
    }
    stage_close(&stage);
}
END_TEST

START_TEST(predict_is_refused_before_ready_and_after_time_is_up)
{
    struct stage stage;
    stage_open(&stage, 1);
    atomic_store(&stage.service.phase, SERVICE_STARTING);
    check_call(&stage, "{\"text\": \"a\"}", 503, "being loaded");
    atomic_store(&stage.service.phase, SERVICE_DRAINING);
    check_call(&stage, "{\"text\": \"a\"}", 200, "label");
    atomic_store(&stage.service.phase, SERVICE_STOPPING);
    batcher_close(stage.service.batcher);
    check_call(&stage, "{\"text\": \"a\"}", 503, "stopping");
    stage_close(&stage);
}
END_TEST

/* A thread that could not be started, after /predict had begun to be asked. */
START_TEST(predict_is_refused_when_a_start_failed_before_there_was_a_pool)
{
    struct stage stage;
    char *long_body = malloc(LIMIT_PREPARE_INLINE_BYTES + 2);
    memset(long_body, 'a', LIMIT_PREPARE_INLINE_BYTES + 1);
    long_body[LIMIT_PREPARE_INLINE_BYTES + 1] = '\0';
    stage_open(&stage, 1);
    struct prepare *pool = atomic_exchange(&stage.service.prepare, NULL);
    atomic_store(&stage.service.phase, SERVICE_STOPPING);
    check_call(&stage, long_body, 503, "stopping");
    check_call(&stage, "{\"text\": \"a\"}", 503, "stopping");
    atomic_store(&stage.service.prepare, pool);
    stage_close(&stage);
    free(long_body);
}
END_TEST

START_TEST(predict_returns_the_clients_id_or_gives_one)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    fake_headers = (const struct fake_header[]){{"X-Request-Id", "given-1"}, {NULL, NULL}};
    call(&stage, &exchange, "{\"text\": \"a\"}");
    ck_assert_str_eq(exchange.reply.request_id, "given-1");
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"given-1\""));
    exchange_done(&stage, &exchange);
    call(&stage, &exchange, "{\"text\": \"a\", \"id\": \"own-2\"}");
    ck_assert_str_eq(exchange.reply.request_id, "own-2");
    exchange_done(&stage, &exchange);
    fake_headers = (const struct fake_header[]){{"X-Request-Id", "not plain"}, {NULL, NULL}};
    call(&stage, &exchange, "{\"text\": \"a\"}");
    ck_assert_uint_eq(strlen(exchange.reply.request_id), 16);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

/* Several threads play I/O threads at once; two workers compute. */
enum { CLIENTS = 4, CALLS = 200 };

static void *client_main(void *context)
{
    struct stage *stage = context;
    for (unsigned i = 0; i < CALLS; i++) {
        struct http_exchange exchange;
        unsigned status =
            call(stage, &exchange, "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"bb\"}]}");
        if (status != 200 && status != 429)
            abort();
        exchange_done(stage, &exchange);
    }
    return NULL;
}

START_TEST(predict_serves_many_threads_at_once)
{
    struct stage stage;
    pthread_t clients[CLIENTS];
    stage_open(&stage, 2);
    for (unsigned i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&clients[i], NULL, client_main, &stage), 0);
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    stage_close(&stage);
}
END_TEST

/* Another snapshot, of one model of the stage, by other limits. */
static void publish_one(struct stage *stage, unsigned index, unsigned inputs_max)
{
    struct snapshot *next;
    struct config config = stage->config;
    struct err err = {0};
    config.model_count = 1;
    config.inputs_max = inputs_max;
    ck_assert_int_eq(snapshot_create(&next, 2, &config, &err), ERR_OK);
    served_model_acquire(stage->snapshot->models[index]);
    snapshot_add(next, stage->snapshot->models[index]);
    snapshots_publish(stage->service.snapshots, next);
}

/* The texts' model and the limit have changed between its head and its body. */
START_TEST(predict_serves_a_request_by_what_was_served_when_it_came)
{
    static const char two[] = "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}]}";
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    exchange_init(&exchange, two);
    ck_assert_int_eq(stage.app.head(&stage.service, &exchange), HTTP_CONTINUE);
    publish_one(&stage, 1, 1);
    check_call(&stage, "{\"text\": \"a\"}", 422, "no model that reads texts is served");
    check_call(&stage, two, 413, "inputs");
    ck_assert_int_eq(stage.app.begin(&stage.service, &exchange), HTTP_SUSPENDED);
    fake_await_resumed(&exchange);
    stage.app.finish(&stage.service, &exchange);
    ck_assert_uint_eq(exchange.reply.status, 200);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"logs\""));
    ck_assert_int_eq(fake_models_open, 2);
    exchange_done(&stage, &exchange);
    while (fake_models_open != 1) /* nobody asks that model any more */
        sched_yield();
    stage_close(&stage);
}
END_TEST

SUITE("predict", predict_serves_a_request_by_what_was_served_when_it_came, predict_answers_one_text,
      predict_spoils_no_neighbour_of_a_bad_item, predict_refuses_what_it_cannot_use,
      predict_tells_and_counts_what_is_decided, predict_reads_raw_bodies_by_their_type,
      predict_hands_heavy_requests_to_the_pool, predict_explains_on_a_thread_of_the_pool,
      predict_encodes_a_long_reply_on_a_thread_of_the_pool,
      predict_bounds_the_attention_that_is_kept,
      predict_gives_an_unexplained_request_back_when_the_pool_has_stopped,
      predict_sheds_load_beyond_the_queue,
      predict_sheds_load_beyond_the_queues_time_and_says_when_to_come,
      predict_never_computes_the_expired_and_the_abandoned,
      predict_counts_a_client_that_left_the_queue, predict_counts_the_time_of_each_stage,
      predict_is_refused_before_ready_and_after_time_is_up,
      predict_is_refused_when_a_start_failed_before_there_was_a_pool,
      predict_returns_the_clients_id_or_gives_one, predict_serves_many_threads_at_once)
