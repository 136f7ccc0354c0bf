/* The collectors of a server: every metric has one or is counted, and those of the service itself
 * write the right samples. */
#include "server/scrape.h"

#include "server/feedback/feedback.h"
#include "server/observe/drift.h"
#include "server/observe/metrics_state.h"
#include "tests/unit/server/metrics_samples.h"
#include "tests/unit/server/stage.h"

static struct stage stage;

static void opened(void)
{
    struct err err = {0};
    struct service *service = &stage.service;
    const struct feedback_options options = {.window = 8, .audit_dir = ""};
    stage_open(&stage, 1);
    ck_assert_int_eq(drift_open(&service->drift, 200, &err), ERR_OK);
    ck_assert_int_eq(feedback_open(&service->feedback, &options, &err), ERR_OK);
    scrape_register(service);
}

static void closed(void)
{
    feedback_close(stage.service.feedback);
    drift_close(stage.service.drift);
    stage_close(&stage);
}

static const char *samples(const char *name)
{
    static char text[512 * 1024];
    text[0] = '\0';
    metrics_samples_add(stage.service.metrics, name, text, sizeof text);
    return text;
}

START_TEST(scrape_finds_a_count_or_a_collector_for_every_metric)
{
    opened();
    for (enum metric_id id = 0; id < METRIC_TOTAL; id++) {
        const char *text = metric_table[id].bounds == NULL ? samples(metric_table[id].name) : "x";
        ck_assert_msg(text[0] != '\0' || stage.service.metrics->collectors[id].collect != NULL,
                      "%s has no collector", metric_table[id].name);
    }
    closed();
}
END_TEST

START_TEST(scrape_shows_phase_memory_and_queue_of_the_service)
{
    struct err err = {0};
    opened();
    ck_assert_str_eq(samples("attnd_ready"), "attnd_ready 1\n");
    atomic_store(&stage.service.phase, SERVICE_DRAINING);
    ck_assert_str_eq(samples("attnd_ready"), "attnd_ready 0\n");
    ck_assert_int_eq(memory_take(&stage.service.memory, 123, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_str_eq(samples("attnd_memory_reserved_bytes"), "attnd_memory_reserved_bytes 123\n");
    memory_give(&stage.service.memory, 123);
    ck_assert_str_eq(samples("attnd_queue_depth"), "attnd_queue_depth{model=\"logs\"} 0\n"
                                                   "attnd_queue_depth{model=\"wafers\"} 0\n");
    closed();
}
END_TEST

START_TEST(scrape_shows_refusals_by_reason_and_no_expiry_without_a_certificate)
{
    opened();
    for (unsigned i = 0; i < AUTH_FAILURES_COUNT; i++)
        atomic_store(&stage.service.auth.failures[i], i + 1);
    ck_assert_str_eq(samples("attnd_auth_failures_total"),
                     "attnd_auth_failures_total{reason=\"missing\"} 1\n"
                     "attnd_auth_failures_total{reason=\"unknown\"} 2\n"
                     "attnd_auth_failures_total{reason=\"expired\"} 3\n"
                     "attnd_auth_failures_total{reason=\"scope\"} 4\n"
                     "attnd_auth_failures_total{reason=\"rate\"} 5\n"
                     "attnd_auth_failures_total{reason=\"concurrency\"} 6\n");
    ck_assert_str_eq(samples("attnd_tls_certificate_expiry_timestamp_seconds"), "");
    closed();
}
END_TEST

START_TEST(scrape_shows_the_copies_that_a_version_got_as_a_shadow)
{
    opened();
    ck_assert_str_eq(samples("attnd_model_share"),
                     "attnd_model_share{model=\"logs\",version=\"1\",role=\"primary\"} 1\n"
                     "attnd_model_share{model=\"wafers\",version=\"1\",role=\"primary\"} 1\n");
    ck_assert_str_eq(samples("attnd_shadow_total"), ""); /* none is or was one */
    atomic_store(&stage.snapshot->models[1]->shadowed[SHADOW_DISAGREES], 2);
    ck_assert_str_eq(samples("attnd_shadow_total"),
                     "attnd_shadow_total{model=\"wafers\",version=\"1\",result=\"agree\"} 0\n"
                     "attnd_shadow_total{model=\"wafers\",version=\"1\",result=\"disagree\"} 2\n"
                     "attnd_shadow_total{model=\"wafers\",version=\"1\",result=\"skipped\"} 0\n"
                     "attnd_shadow_total{model=\"wafers\",version=\"1\",result=\"failed\"} 0\n");
    closed();
}
END_TEST

/* A share, four results and three kinds of drift of each version, twice; and new ones. */
START_TEST(scrape_has_memory_for_each_version)
{
    enum { LINE_BYTES = 192, NEW = 16, METRICS_OF_VERSIONS = 3, METRICS_OF_LABELS = 4 };
    size_t lines = (size_t)NEW * (METRICS_OF_VERSIONS + METRICS_OF_LABELS), before;
    stage_open(&stage, 1);
    before = metrics_expose_bytes(stage.service.metrics);
    stage_close(&stage);
    opened();
    lines += 2 * (1 + (size_t)SHADOW_RESULTS + DRIFT_KINDS) * stage.snapshot->model_count;
    ck_assert_uint_eq(metrics_expose_bytes(stage.service.metrics), before + 4 * lines * LINE_BYTES);
    closed();
}
END_TEST

SUITE("scrape", scrape_finds_a_count_or_a_collector_for_every_metric,
      scrape_shows_phase_memory_and_queue_of_the_service,
      scrape_shows_refusals_by_reason_and_no_expiry_without_a_certificate,
      scrape_shows_the_copies_that_a_version_got_as_a_shadow, scrape_has_memory_for_each_version)
