/* A text that is written, between HTTP and the engine: each of its tokens is a step, and waits for
 * its turn. The fake engine writes `fake_writes` tokens. */
#include "tests/unit/server/stage.h"

static void writing_open(struct stage *stage, unsigned tokens)
{
    fake_writes = tokens;
    fake_models[ENGINE_TEXT].info.task = ENGINE_GENERATE;
    stage_open(stage, 1);
}

static void writing_close(struct stage *stage)
{
    stage_close(stage);
    fake_models[ENGINE_TEXT].info.task = ENGINE_CLASSIFY;
    fake_writes = 0;
}

/* Lets what is inside end, and answers. */
static void check_end(struct stage *stage, struct http_exchange *exchange, unsigned status,
                      const char *part)
{
    fake_await_resumed(exchange);
    stage->app.finish(&stage->service, exchange);
    ck_assert_uint_eq(exchange->reply.status, status);
    ck_assert_msg(strstr(exchange->reply.body, part) != NULL, "%s", exchange->reply.body);
    exchange_done(stage, exchange);
}

START_TEST(writing_is_one_answer_of_many_steps)
{
    struct stage stage;
    struct http_exchange exchange;
    writing_open(&stage, 5);
    const unsigned warm = fake_runs;
    ck_assert_uint_eq(call(&stage, &exchange, "{\"text\": \"a\", \"num_beams\": 2}"), 200);
    const struct request *request = exchange.state;
    ck_assert_uint_eq(fake_runs, warm + 5);
    ck_assert_uint_eq(request->rows[0].answer.result.written, 5);
    ck_assert_int_eq(request->call.writing->asked.num_beams, 2);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "\"output\":\"written\""));
    ck_assert_uint_eq(atomic_load(&request->rows[0].model->answered), 1);
    exchange_done(&stage, &exchange);
    check_places(stage.service.batcher);
    writing_close(&stage);
}
END_TEST

/* Requests that come while the first token is computed join the batch of the second. */
START_TEST(writing_of_several_requests_shares_its_steps)
{
    struct stage stage;
    struct http_exchange exchanges[3];
    writing_open(&stage, 5);
    const unsigned warm = fake_runs;
    fake_gate(true);
    ck_assert(send(&stage, &exchanges[0], "{\"text\": \"a\"}"));
    fake_await_inside(1);
    for (unsigned i = 1; i < 3; i++)
        ck_assert(send(&stage, &exchanges[i], "{\"text\": \"a\"}"));
    fake_gate(false);
    for (unsigned i = 0; i < 3; i++)
        check_end(&stage, &exchanges[i], 200, "written");
    ck_assert_uint_eq(fake_runs, warm + 6);
    writing_close(&stage);
}
END_TEST

START_TEST(writing_lets_pictures_in_between_its_steps)
{
    struct stage stage;
    struct http_exchange text, picture;
    writing_open(&stage, 5);
    fake_gate(true);
    ck_assert(send(&stage, &text, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &picture, "{\"image\": \"MTIz\"}"));
    fake_gate(false);
    check_end(&stage, &picture, 200, "label");
    const struct request *request = text.state;
    fake_await_resumed(&text);
    const uint64_t done = request->rows[0].done_ns;
    ck_assert_uint_gt(done, request->rows[0].started_ns);
    check_end(&stage, &text, 200, "written");
    writing_close(&stage);
}
END_TEST

/* The text has one step, at the gate; the picture comes meanwhile and is answered before it. */
START_TEST(writing_lets_pictures_in_between_the_layers_of_a_step)
{
    struct stage stage;
    struct http_exchange text, picture;
    writing_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &text, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &picture, "{\"image\": \"MTIz\"}"));
    fake_gate(false);
    fake_await_resumed(&picture);
    fake_await_resumed(&text);
    const struct row *written = ((struct request *)text.state)->rows;
    const struct row *seen = ((struct request *)picture.state)->rows;
    ck_assert_uint_le(seen->done_ns, written->done_ns);
    ck_assert_uint_ge(seen->started_ns, written->started_ns);
    check_end(&stage, &picture, 200, "label");
    check_end(&stage, &text, 200, "written");
    writing_close(&stage);
}
END_TEST

/* Texts of the other requests for the same model wait for the next step. */
START_TEST(writing_lets_no_text_in_between_its_layers)
{
    struct stage stage;
    struct http_exchange first, second;
    writing_open(&stage, 1);
    fake_gate(true);
    ck_assert(send(&stage, &first, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ck_assert(send(&stage, &second, "{\"text\": \"a\"}"));
    fake_gate(false);
    fake_await_resumed(&first);
    fake_await_resumed(&second);
    ck_assert_uint_ge(((struct request *)second.state)->rows[0].started_ns,
                      ((struct request *)first.state)->rows[0].done_ns);
    check_end(&stage, &first, 200, "written");
    check_end(&stage, &second, 200, "written");
    writing_close(&stage);
}
END_TEST

START_TEST(writing_ends_when_the_client_has_gone)
{
    struct stage stage;
    struct http_exchange gone;
    writing_open(&stage, 1000000);
    fake_gate(true);
    ck_assert(send(&stage, &gone, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    atomic_store(&fake_client_left, &gone);
    fake_gate(false);
    fake_await_resumed(&gone);
    ck_assert_uint_le(((struct request *)gone.state)->rows[0].answer.result.written, 2);
    check_end(&stage, &gone, 408, "closed the connection");
    atomic_store(&fake_client_left, NULL);
    check_places(stage.service.batcher);
    writing_close(&stage);
}
END_TEST

START_TEST(writing_ends_at_its_deadline_and_tells_how_far_it_came)
{
    struct stage stage;
    struct http_exchange late;
    writing_open(&stage, 1000000);
    fake_gate(true);
    ck_assert(send(&stage, &late, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    ((struct request *)late.state)->rows[0].deadline_ns = 1; /* it is over when the step is */
    fake_gate(false);
    check_end(&stage, &late, 504, "the deadline passed while the text was written, after 1 token");
    check_places(stage.service.batcher);
    writing_close(&stage);
}
END_TEST

START_TEST(writing_whose_step_ends_in_a_server_that_stops_is_503)
{
    struct stage stage;
    struct http_exchange exchange;
    writing_open(&stage, 5);
    fake_gate(true);
    ck_assert(send(&stage, &exchange, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    batcher_close(stage.service.batcher);
    fake_gate(false);
    check_end(&stage, &exchange, 503, "the server is stopping");
    writing_close(&stage);
}
END_TEST

/* The streams of each protocol that has them. */
static const struct stream {
    const char *path, *body, *token, *first, *end, *problem, *detail;
} streams[] = {
    {"/predict", "{\"text\": \"a\", \"stream\": true, \"id\": \"s\"}",
     "event: token\ndata: {\"index\":", "data: {\"index\":0,\"id\":7,\"text\":\"\\\"t\"}\n\n",
     "event: result\ndata: {\"id\":\"s\",", "event: problem\ndata: {", "\"status\":504"},
    {"/generate_stream", "{\"inputs\": \"a\", \"parameters\": {\"details\": true}}",
     "data: {\"index\":",
     "data: {\"index\":1,\"token\":{\"id\":7,\"text\":\"\\\"t\",\"logprob\":0,\"special\":false},"
     "\"generated_text\":null,\"details\":null}\n\n",
     "},\"generated_text\":\"written\",\"details\":{\"finish_reason\":\"eos_token\",",
     "data: {\"error\":", "\"error_type\":\"generation\"}\n\n"},
    {"/models/logs", "{\"inputs\": \"a\", \"stream\": true}",
     "data: {\"index\":", "\"generated_text\":null,\"details\":null}\n\n",
     "},\"generated_text\":\"written\",\"details\":null}\n\n",
     "data: {\"error\":", "\"error_type\":\"generation\"}\n\n"},
};
enum { STREAMS = sizeof streams / sizeof *streams };

static void begin_stream(struct stage *stage, struct http_exchange *exchange,
                         const struct stream *stream)
{
    exchange_init(exchange, stream->body);
    exchange->path = stream->path;
    ck_assert_int_eq(stage->app.head(&stage->service, exchange), HTTP_CONTINUE);
    ck_assert_int_eq(stage->app.begin(&stage->service, exchange), HTTP_SUSPENDED);
}

/* The next part of a reply. */
static const char *next_part(struct stage *stage, struct http_exchange *exchange)
{
    fake_await_resumed(exchange);
    exchange->reply.close = false;
    stage->app.finish(&stage->service, exchange);
    ck_assert_str_eq(exchange->reply.content_type, "text/event-stream");
    return exchange->reply.body;
}

START_TEST(writing_streams_each_token_and_then_the_answer)
{
    for (size_t i = 0; i < STREAMS; i++) {
        struct stage stage;
        struct http_exchange exchange;
        unsigned count = 0;
        writing_open(&stage, 50);
        begin_stream(&stage, &exchange, &streams[i]);
        for (;;) {
            const char *at = next_part(&stage, &exchange);
            const bool has_end = strstr(at, streams[i].end) != NULL;
            for (; (at = strstr(at, streams[i].token)) != NULL; at++)
                count++;
            ck_assert_int_eq(has_end, !exchange.reply.has_more);
            if (has_end)
                break;
            ck_assert_int_eq(stage.app.more(&stage.service, &exchange), HTTP_SUSPENDED);
        }
        ck_assert_uint_eq(count, 50);
        exchange_done(&stage, &exchange);
        check_places(stage.service.batcher);
        writing_close(&stage);
    }
}
END_TEST

/* A part is sent, and the row is the request's, whose reader takes its time: nothing is computed. */
START_TEST(writing_waits_for_its_reader_and_ends_when_that_leaves)
{
    for (size_t i = 0; i < STREAMS; i++) {
        struct stage stage;
        struct http_exchange exchange;
        writing_open(&stage, 1000000);
        begin_stream(&stage, &exchange, &streams[i]);
        fake_await_resumed(&exchange);
        const size_t before = exchange.arena.bytes;
        ck_assert_ptr_nonnull(strstr(next_part(&stage, &exchange), streams[i].first));
        ck_assert_uint_le(exchange.arena.bytes - before, 1024); /* that are claimed for a token */
        const unsigned runs = fake_runs;
        ck_assert(exchange.reply.has_more);
        ck_assert_uint_eq(((struct request *)exchange.state)->reserved, 1);
        check_call(&stage, "{\"image\": \"MTIz\"}", 200, "label");
        ck_assert_uint_eq(fake_runs, runs + 1);
        exchange_done(&stage, &exchange);
        check_places(stage.service.batcher);
        writing_close(&stage);
    }
}
END_TEST

START_TEST(writing_that_fails_behind_its_first_token_ends_with_a_problem)
{
    for (size_t i = 0; i < STREAMS; i++) {
        struct stage stage;
        struct http_exchange exchange;
        writing_open(&stage, 1000000);
        begin_stream(&stage, &exchange, &streams[i]);
        next_part(&stage, &exchange);
        ((struct request *)exchange.state)->rows[0].deadline_ns = 1;
        ck_assert_int_eq(stage.app.more(&stage.service, &exchange), HTTP_SUSPENDED);
        const char *body = next_part(&stage, &exchange);
        ck_assert(!exchange.reply.has_more);
        ck_assert_ptr_eq(strstr(body, streams[i].problem), body);
        ck_assert_ptr_nonnull(strstr(body, "after 1 token"));
        ck_assert_ptr_nonnull(strstr(body, streams[i].detail));
        exchange_done(&stage, &exchange);
        writing_close(&stage);
    }
}
END_TEST

/* Behind the first part nothing can be said any more: a body that is NULL ends the connection. */
START_TEST(writing_without_memory_for_a_part_is_500_or_ends_the_connection)
{
    for (size_t i = 0; i < 2 * STREAMS; i++) {
        struct stage stage;
        struct http_exchange exchange;
        const bool is_first = i < STREAMS;
        writing_open(&stage, 1000000);
        begin_stream(&stage, &exchange, &streams[i % STREAMS]);
        if (!is_first) {
            next_part(&stage, &exchange);
            ck_assert_int_eq(stage.app.more(&stage.service, &exchange), HTTP_SUSPENDED);
        }
        fake_await_resumed(&exchange);
        fake_pieces_fail = true;
        stage.app.finish(&stage.service, &exchange);
        fake_pieces_fail = false;
        ck_assert_int_eq(exchange.reply.body != NULL, is_first);
        if (is_first)
            ck_assert(exchange.reply.status == 500 && !exchange.reply.has_more);
        exchange_done(&stage, &exchange);
        check_places(stage.service.batcher);
        writing_close(&stage);
    }
}
END_TEST

START_TEST(writing_refuses_streams_that_there_are_not)
{
    struct stage stage;
    writing_open(&stage, 1);
    check_call(&stage, "{\"inputs\": [{\"text\": \"a\"}], \"stream\": true}", 422, "not a list");
    check_call(&stage, "{\"image\": \"MTIz\", \"stream\": true}", 422, "writes no texts");
    check_call(&stage, "{\"text\": \"a\", \"stream\": 1}", 422, "$.stream: expected");
    writing_close(&stage);
}
END_TEST

START_TEST(writing_refuses_labels_and_what_it_does_not_have)
{
    struct stage stage;
    writing_open(&stage, 1);
    check_call(&stage, "{\"text\": \"a\", \"top_k\": 2}", 422, "top_k: the model logs writes");
    check_call(&stage, "{\"text\": \"a\", \"do_sample\": false}", 422, "texts are not sampled");
    check_call(&stage, "{\"text\": \"a\", \"force_words_ids\": [[1]]}", 422,
               "$.force_words_ids: a text with certain words is asked for by \\\"pattern\\\"");
    check_call(&stage, "{\"text\": \"a\", \"num_beams\": \"4\"}", 422, "expected an integer");
    check_call(&stage, "{\"text\": \"a\", \"length_penalty\": []}", 422, "expected a number");
    check_call(&stage, "{\"text\": \"a\", \"target_language\": 3}", 422, "expected a string");
    writing_close(&stage);
}
END_TEST

SUITE("writing_rows", writing_is_one_answer_of_many_steps,
      writing_of_several_requests_shares_its_steps, writing_lets_pictures_in_between_its_steps,
      writing_lets_pictures_in_between_the_layers_of_a_step,
      writing_lets_no_text_in_between_its_layers, writing_ends_when_the_client_has_gone,
      writing_ends_at_its_deadline_and_tells_how_far_it_came,
      writing_whose_step_ends_in_a_server_that_stops_is_503,
      writing_streams_each_token_and_then_the_answer,
      writing_waits_for_its_reader_and_ends_when_that_leaves,
      writing_that_fails_behind_its_first_token_ends_with_a_problem,
      writing_without_memory_for_a_part_is_500_or_ends_the_connection,
      writing_refuses_streams_that_there_are_not, writing_refuses_labels_and_what_it_does_not_have)
