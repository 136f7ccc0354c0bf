/* Records of each request and of each of its inputs: an observer keeps them, over the application's
 * five functions. */
#include "tests/unit/server/stage.h"
#include "wire/limits.h"

enum { KEPT = 8 };

static struct {
    unsigned begun, predictions, requests;
    struct prediction_record prediction[KEPT];
    float score[KEPT];
    unsigned label[KEPT]; /* of its label */
    char context[KEPT][32];
    struct request_record request;
    char id[32], request_context[32];
} kept;

static void keep_begun(void *context)
{
    (void)context;
    kept.begun++;
}

/* A record's texts are the caller's: copied while they are there. */
static void keep_prediction(void *context, const struct prediction_record *record)
{
    (void)context;
    ck_assert_uint_lt(kept.predictions, KEPT);
    unsigned i = kept.predictions++;
    kept.prediction[i] = *record;
    snprintf(kept.context[i], sizeof kept.context[i], "%s",
             record->context != NULL ? record->context : "none");
    if (record->err.code == ERR_OK)
        kept.label[i] = record->answer->result.label;
    if (record->err.code == ERR_OK)
        kept.score[i] = record->answer->result.number;
    ck_assert_uint_eq(kept.requests, 0); /* the request's own record is the last */
}

static void keep_request(void *context, const struct request_record *record)
{
    (void)context;
    kept.requests++;
    kept.request = *record;
    snprintf(kept.id, sizeof kept.id, "%s", record->id != NULL ? record->id : "none");
    snprintf(kept.request_context, sizeof kept.request_context, "%s",
             record->context != NULL ? record->context : "none");
}

static void open_kept(struct stage *stage)
{
    stage_open(stage, 1);
    observers_add(&stage->service.observers, (struct observer){.begun = keep_begun,
                                                               .prediction = keep_prediction,
                                                               .request = keep_request});
}

/* Makes a whole call; the observer keeps its records. */
static void keep_call(struct stage *stage, const char *body, unsigned status)
{
    struct http_exchange exchange;
    memset(&kept, 0, sizeof kept);
    ck_assert_uint_eq(call(stage, &exchange, body), status);
    ck_assert_uint_eq(kept.requests, 0);
    exchange_done(stage, &exchange);
    ck_assert_uint_eq(kept.begun, 1);
    ck_assert_uint_eq(kept.requests, 1);
    ck_assert_uint_eq(kept.request.status, status);
}

START_TEST(every_input_of_an_answer_has_a_record)
{
    struct stage stage;
    open_kept(&stage);
    keep_call(&stage,
              "{\"inputs\": [{\"text\": \"\"}, {\"text\": \"abc\"}, {\"image\": \"NyBwaXhlbHM=\"}, "
              "{\"text\": \"N\"}], \"id\": \"w7\", \"context\": {\"lot\": \"A1\"}}",
              200);
    ck_assert_uint_eq(kept.predictions, 4);
    static const enum err_code codes[] = {ERR_UNUSABLE, ERR_OK, ERR_OK, ERR_INTERNAL};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(kept.prediction[i].index, i);
        ck_assert_int_eq(kept.prediction[i].err.code, codes[i]);
        ck_assert_str_eq(kept.context[i], "{\"lot\":\"A1\"}");
        ck_assert_int_eq(kept.prediction[i].answer == NULL, codes[i] != ERR_OK);
    }
    ck_assert_str_eq(kept.id, "w7");
    ck_assert_uint_eq(kept.prediction[1].model, 0);
    ck_assert_uint_eq(kept.label[1], 1);
    ck_assert_float_eq_tol(kept.score[1], 1 - 97 / 256.0f, 1e-6f);
    ck_assert(kept.prediction[1].queue_s > 0 && kept.prediction[1].inference_s > 0);
    ck_assert_uint_eq(kept.prediction[2].model, 1);
    ck_assert_str_eq(kept.request.route, "/predict");
    ck_assert_uint_eq(kept.request.inputs, 4);
    ck_assert_int_eq(kept.request.model, METRICS_NO_MODEL); /* there are two */
    ck_assert_int_eq(kept.request.stage_model, 0);
    ck_assert_int_eq(kept.request.reason, ERR_OK);
    ck_assert(!kept.request.has_left);
    stage_close(&stage);
}
END_TEST

START_TEST(a_request_tells_the_time_of_the_stages_that_it_went_through)
{
    struct stage stage;
    open_kept(&stage);
    keep_call(&stage, "{\"text\": \"abc\"}", 200);
    const struct request_record *record = &kept.request;
    ck_assert(record->parse_s > 0 && record->prepare_s > 0 && record->encode_s > 0);
    ck_assert_double_lt(record->explain_s, 0);
    ck_assert_double_gt(record->total_s, record->parse_s + record->prepare_s + record->encode_s);
    ck_assert_int_eq(record->model, 0);
    ck_assert_int_eq(record->stage_model, 0);
    ck_assert_str_eq(kept.request_context, "none");
    ck_assert_uint_eq(strlen(kept.id), 16);
    keep_call(&stage, "{\"text\": \"abc\", \"explain\": true}", 200);
    ck_assert_double_gt(record->explain_s, 0);
    keep_call(&stage, "{\"image\": \"NyBwaXhlbHM=\"}", 200);
    ck_assert_int_eq(record->model, 1);
    ck_assert_int_eq(record->stage_model, 1);
    stage_close(&stage);
}
END_TEST

/* The record has a reason, no stages and no records of its inputs. */
START_TEST(a_request_that_failed_tells_why_and_nothing_of_its_inputs)
{
    static const struct {
        const char *body;
        unsigned status, inputs;
        enum err_code reason;
        int model;
    } cases[] = {
        {"{", 400, 0, ERR_MALFORMED, METRICS_NO_MODEL},
        {"{\"text\": \"a\", \"model\": \"none\"}", 404, 1, ERR_NOT_FOUND, METRICS_NO_MODEL},
        {"{\"text\": \"a\", \"model\": \"wafers\"}", 422, 1, ERR_UNUSABLE, METRICS_NO_MODEL},
        {"{\"text\": \"N\"}", 500, 1, ERR_INTERNAL, 0},
    };
    struct stage stage;
    open_kept(&stage);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        keep_call(&stage, cases[i].body, cases[i].status);
        ck_assert_uint_eq(kept.predictions, 0);
        ck_assert_int_eq(kept.request.reason, cases[i].reason);
        ck_assert_uint_eq(kept.request.inputs, cases[i].inputs);
        ck_assert_int_eq(kept.request.model, cases[i].model);
        ck_assert_int_eq(kept.request.stage_model, METRICS_NO_MODEL);
        ck_assert_double_lt(kept.request.encode_s, 0);
    }
    stage_close(&stage);
}
END_TEST

START_TEST(a_request_without_a_route_has_a_record_too)
{
    struct stage stage;
    struct http_exchange exchange;
    open_kept(&stage);
    exchange_init(&exchange, "");
    exchange.path = "/none";
    ck_assert_int_eq(stage.app.head(&stage.service, &exchange), HTTP_REPLY);
    exchange_done(&stage, &exchange);
    ck_assert_uint_eq(kept.requests, 1);
    ck_assert_ptr_null(kept.request.route);
    ck_assert_int_eq(kept.request.route_index, METRICS_OTHER_ROUTE);
    ck_assert_int_eq(kept.request.reason, ERR_NOT_FOUND);
    ck_assert_uint_eq(kept.request.status, 404);
    ck_assert_double_ge(kept.request.total_s, 0);
    stage_close(&stage);
}
END_TEST

/* A head that never became whole gives no moment to count from. */
START_TEST(a_request_without_a_head_took_no_time)
{
    const struct err err = {.code = ERR_SLOW, .text = "request head: not whole"};
    struct stage stage;
    struct http_exchange exchange;
    open_kept(&stage);
    exchange_init(&exchange, "");
    exchange.path = "";
    exchange.head_ns = 0;
    stage.app.refuse(&stage.service, &exchange, &err);
    exchange_done(&stage, &exchange);
    ck_assert_uint_eq(kept.requests, 1);
    ck_assert_uint_eq(kept.begun, 1);
    ck_assert_double_eq(kept.request.total_s, 0);
    ck_assert_int_eq(kept.request.reason, ERR_SLOW);
    stage_close(&stage);
}
END_TEST

/* A client that closes while its body arrives leaves a request that was never answered. */
START_TEST(a_request_whose_body_never_came_has_a_record_without_status)
{
    struct stage stage;
    struct http_exchange exchange;
    open_kept(&stage);
    exchange_init(&exchange, "");
    ck_assert_int_eq(stage.app.head(&stage.service, &exchange), HTTP_CONTINUE);
    exchange_done(&stage, &exchange);
    ck_assert_uint_eq(kept.requests, 1);
    ck_assert_uint_eq(kept.request.status, 0);
    ck_assert_str_eq(kept.request.route, "/predict");
    ck_assert_int_eq(kept.request.reason, ERR_OK);
    stage_close(&stage);
}
END_TEST

/* The client leaves while its request waits to be computed, or for a thread of the pool. The edge
 * then ends the exchange without asking for a reply (http.h: done). */
START_TEST(a_request_whose_client_left_before_its_reply_has_a_record)
{
    char *heavy = malloc(LIMIT_PREPARE_INLINE_BYTES + 64);
    ck_assert_ptr_nonnull(heavy);
    sprintf(heavy, "{%*s\"text\": \"a\"}", LIMIT_PREPARE_INLINE_BYTES, "");
    const char *const bodies[] = {"{\"text\": \"a\"}", "{\"text\": \"a\", \"explain\": true}",
                                  heavy};
    for (int i = 0; i < 3; i++) {
        struct stage stage;
        struct http_exchange exchange;
        open_kept(&stage);
        memset(&kept, 0, sizeof kept);
        fake_gate(true);
        ck_assert(send(&stage, &exchange, bodies[i]));
        atomic_store(&fake_client_gone, true);
        fake_gate(false);
        fake_await_resumed(&exchange);
        atomic_store(&fake_client_gone, false);
        exchange_done(&stage, &exchange);
        ck_assert_uint_eq(kept.requests, 1);
        ck_assert_uint_eq(kept.request.status, 0);
        ck_assert_uint_eq(kept.predictions, 0);
        ck_assert_double_lt(kept.request.encode_s, 0);
        stage_close(&stage);
    }
    free(heavy);
}
END_TEST

SUITE("records", a_request_whose_client_left_before_its_reply_has_a_record,
      every_input_of_an_answer_has_a_record,
      a_request_tells_the_time_of_the_stages_that_it_went_through,
      a_request_that_failed_tells_why_and_nothing_of_its_inputs,
      a_request_without_a_route_has_a_record_too, a_request_without_a_head_took_no_time,
      a_request_whose_body_never_came_has_a_record_without_status)
