/* The compute threads over a fake engine: their pools, and what they make of a batch. */
#include "tests/unit/server/stage.h"

/* Workers beside those of the stage, which have theirs already. */
static enum err_code started(const struct stage *stage, unsigned workers, struct workers **out,
                             struct err *err)
{
    struct worker_options options = {
        workers, 5, NULL, 64, stage->service.batcher, stage->service.metrics};
    *out = stage->workers;
    return worker_start(out, &options, err);
}

START_TEST(each_worker_has_a_pool_of_its_own)
{
    struct stage stage;
    struct workers *more;
    struct err err = {0};
    stage_open(&stage, 2);
    ck_assert_int_eq(started(&stage, 3, &more, &err), ERR_OK);
    struct thread_pool *const *pools = worker_pools(more);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(thread_pool_size(pools[i]), 5);
        ck_assert(pools[i] != pools[(i + 1) % 3]);
    }
    ck_assert(worker_pools(stage.workers)[0] != pools[0]);
    batcher_close(stage.service.batcher);
    worker_join(more);
    worker_join(more); /* again: nobody is left to wait for */
    worker_free(more);
    worker_join(NULL);
    worker_free(NULL);
    stage_close(&stage);
}
END_TEST

/* Two workers at the gate at once: each must have a session of its own, on its own pool. */
START_TEST(workers_run_their_own_session_of_a_model)
{
    struct stage stage;
    struct http_exchange exchanges[2];
    stage_open(&stage, 2);
    const struct served_model *model = stage.snapshot->models[0];
    ck_assert(model->sessions[0] != model->sessions[1]);
    fake_gate(true);
    for (int i = 0; i < 2; i++) {
        ck_assert(send(&stage, &exchanges[i], "{\"text\": \"a\"}"));
        fake_await_inside((unsigned)i + 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(model->sessions[i]->inside, 1);
        ck_assert_ptr_eq(model->sessions[i]->pool, worker_pools(stage.workers)[i]);
    }
    fake_gate(false);
    for (int i = 0; i < 2; i++) {
        fake_await_resumed(&exchanges[i]);
        stage.app.finish(&stage.service, &exchanges[i]);
        ck_assert_uint_eq(exchanges[i].reply.status, 200);
        exchange_done(&stage, &exchanges[i]);
    }
    stage_close(&stage);
}
END_TEST

/* One request is held at the gate, and three more wait, which then are one batch. The client of the
 * second has gone. */
START_TEST(a_batch_is_computed_without_the_row_whose_client_has_gone)
{
    static const char *const texts[] = {"{\"text\": \"a\"}", "{\"text\": \"bb\"}",
                                        "{\"text\": \"cccc\"}"};
    struct stage stage;
    struct http_exchange held, waiting[3];
    stage_open(&stage, 1);
    unsigned warm = fake_rows;
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"held\"}"));
    fake_await_inside(1);
    for (int i = 0; i < 3; i++)
        ck_assert(send(&stage, &waiting[i], texts[i]));
    atomic_store(&fake_client_left, &waiting[1]);
    fake_gate(false);
    fake_await_resumed(&held);
    stage.app.finish(&stage.service, &held);
    exchange_done(&stage, &held);
    for (int i = 0; i < 3; i++) {
        fake_await_resumed(&waiting[i]);
        stage.app.finish(&stage.service, &waiting[i]);
        ck_assert_uint_eq(waiting[i].reply.status, i == 1 ? 408 : 200);
    }
    ck_assert_ptr_nonnull(
        strstr(waiting[1].reply.body, "\"the client closed the connection before its turn\""));
    ck_assert_ptr_nonnull(strstr(waiting[0].reply.body, "\"ood_score\":97.0"));
    ck_assert_ptr_nonnull(strstr(waiting[2].reply.body, "\"ood_score\":99.0"));
    ck_assert_uint_eq(fake_rows, warm + 3);
    for (int i = 0; i < 3; i++)
        exchange_done(&stage, &waiting[i]);
    check_metric(&stage, "attnd_batch_rows_count{model=\"logs\"} 2\n");
    check_metric(&stage, "attnd_batch_rows_sum{model=\"logs\"} 3\n");
    check_metric(&stage, "attnd_batch_tokens_sum{model=\"logs\"} 9\n");
    check_metric(&stage, "attnd_clients_gone_total 1\n");
    check_metric(&stage, "attnd_rejected_total{reason=\"timeout\"} 1\n");
    stage_close(&stage);
}
END_TEST

START_TEST(a_row_tells_when_it_began_and_was_done_and_what_it_is)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    ck_assert_uint_eq(call(&stage, &exchange,
                           "{\"inputs\": [{\"text\": \"a\"}, "
                           "{\"image\": \"NyBwaXhlbHM=\"}]}"),
                      200);
    const struct request *request = exchange.state;
    for (int i = 0; i < 2; i++) {
        const struct row *row = &request->rows[i];
        ck_assert_uint_gt(row->submitted_ns, exchange.head_ns);
        ck_assert_uint_ge(row->started_ns, row->submitted_ns);
        ck_assert_uint_ge(row->done_ns, row->started_ns);
        ck_assert(!row->is_abandoned);
        ck_assert_str_eq(row->answer.model_name, configured[i].name);
        ck_assert_str_eq(row->answer.model_version, "1");
        ck_assert_ptr_null(row->answer.model_digest);
        ck_assert_ptr_eq(row->answer.info, &fake_models[i].info);
        ck_assert(row->answer.result.is_finite);
        ck_assert_int_eq(row->answer.result.judgement.has_ood, i == 0);
        ck_assert(!row->answer.result.truncated);
    }
    ck_assert_uint_eq(fake_seen.runs[0], 2);
    ck_assert_uint_eq(fake_seen.runs[1], 2);
    check_metric(&stage, "attnd_batch_rows_sum{model=\"logs\"} 1\n");
    check_metric(&stage, "attnd_batch_tokens_sum{model=\"wafers\"} 8\n");
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

/* The queue believes the time that the batch took. If that were a moment instead of a difference,
 * no second request could wait. */
START_TEST(a_batch_tells_the_queue_how_long_it_took)
{
    struct stage stage;
    struct http_exchange held, waiting[2];
    stage_open(&stage, 1);
    batcher_limit_wait(stage.service.batcher, 60 * 1000, 1);
    check_call(&stage, "{\"text\": \"a\"}", 200, "label");
    fake_gate(true);
    ck_assert(send(&stage, &held, "{\"text\": \"a\"}"));
    fake_await_inside(1);
    for (int i = 0; i < 2; i++)
        ck_assert(send(&stage, &waiting[i], "{\"text\": \"a\"}"));
    fake_gate(false);
    struct http_exchange *const all[] = {&held, &waiting[0], &waiting[1]};
    for (int i = 0; i < 3; i++) {
        fake_await_resumed(all[i]);
        stage.app.finish(&stage.service, all[i]);
        ck_assert_uint_eq(all[i]->reply.status, 200);
        exchange_done(&stage, all[i]);
    }
    stage_close(&stage);
}
END_TEST

SUITE("worker", each_worker_has_a_pool_of_its_own, workers_run_their_own_session_of_a_model,
      a_batch_is_computed_without_the_row_whose_client_has_gone,
      a_row_tells_when_it_began_and_was_done_and_what_it_is,
      a_batch_tells_the_queue_how_long_it_took)
