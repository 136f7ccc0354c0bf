/* Collectors write the samples of metrics that are not counted in metrics.c: one for each metric, and
 * a scrape has memory for as many series as they announce. */
#include "server/audit/audit_service.h"
#include "server/observe/metrics_text.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/observe/metrics_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERIES = 5000 };

static void put_number(void *context, enum metric_id id, struct metrics_text *out)
{
    metrics_text_value(out, id, NULL, *(const double *)context + (id == METRIC_FITS_WAITING));
}

/* Series with labels of 100 bytes. */
static void put_many(void *context, enum metric_id id, struct metrics_text *out)
{
    char label[128];
    const char *const values[] = {"wafer-vit", "1", label, "predicted"};
    (void)context;
    for (unsigned i = 0; i < SERIES; i++) {
        snprintf(label, sizeof label, "%0100u", i);
        metrics_text_value(out, id, values, i);
    }
}

static size_t count_many(void *context, enum metric_id id)
{
    ck_assert_ptr_null(context);
    return id == METRIC_FEEDBACK ? SERIES : 0;
}

static void register_one(struct metrics *metrics, enum metric_id id,
                         struct metrics_collector collector)
{
    metrics_register(metrics, &id, 1, collector);
}

START_TEST(metrics_ask_a_collector_for_each_metric_in_the_order_of_the_table)
{
    static const enum metric_id ids[] = {METRIC_FITS_WAITING, METRIC_FITS_RUNNING};
    double number = 4;
    struct metrics *metrics = opened(&setup);
    metrics_register(metrics, ids, 2,
                     (struct metrics_collector){.context = &number, .collect = put_number});
    expect_sample(metrics, "attnd_fits_running", 4);
    number = 6;
    struct exposition *page = scrape(metrics); /* its reader demands whole families */
    ck_assert_sample(page, "attnd_fits_running", 6);
    ck_assert_sample(page, "attnd_fits_waiting", 7);
    exposition_free(page);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_without_a_collector_have_help_and_type_alone)
{
    struct metrics *metrics = opened_with(&setup, NULL, 0);
    struct arena arena;
    size_t len;
    arena_init(&arena);
    ck_assert_ptr_nonnull(strstr(metrics_expose(metrics, &arena, &len),
                                 "\n# HELP attnd_fits_waiting Fits that wait for it.\n"
                                 "# TYPE attnd_fits_waiting gauge\n"
                                 "# HELP attnd_build_info "));
    arena_deinit(&arena);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_text_writes_counts_by_the_values_of_a_label)
{
    static const char *const reasons[] = {"missing", "rate"};
    static const uint64_t counts[] = {3, (uint64_t)1 << 40};
    struct arena arena;
    struct metrics_text text = {.arena = &arena};
    size_t len;
    arena_init(&arena);
    metrics_text_values(&text, METRIC_AUTH_FAILURES, reasons, counts, 2);
    ck_assert_str_eq(metrics_text_end(&text, &len),
                     "attnd_auth_failures_total{reason=\"missing\"} 3\n"
                     "attnd_auth_failures_total{reason=\"rate\"} 1099511627776\n");
    arena_deinit(&arena);
}
END_TEST

/* True if a process lives on that registers both, one after the other. What it says of its death is
 * not shown. */
static bool survives(enum metric_id first, enum metric_id second)
{
    double number = 0;
    const struct metrics_collector collector = {.context = &number, .collect = put_number};
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct metrics *metrics = opened(&setup);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        register_one(metrics, first, collector);
        register_one(metrics, second, collector);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                      (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT),
                  "%d, %d: %#x", first, second, (unsigned)status);
    return WIFEXITED(status);
}

START_TEST(metrics_assert_one_collector_and_none_for_their_own_counts)
{
    ck_assert(survives(METRIC_FITS_RUNNING, METRIC_FITS_WAITING));
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_FITS_RUNNING));
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_QUEUE_DEPTH)); /* the fixture's */
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_REQUESTS));
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_BUILD_INFO));
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_PROCESS_CPU));
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_PROCESS_START));
    ck_assert(!survives(METRIC_FITS_RUNNING, METRIC_TOTAL));
}
END_TEST

START_TEST(metrics_expose_takes_no_more_memory_than_collectors_announce)
{
    struct metrics *metrics = opened(&setup);
    struct arena arena;
    size_t len = 0;
    const size_t before = metrics_expose_bytes(metrics);
    register_one(metrics, METRIC_FEEDBACK,
                 (struct metrics_collector){.collect = put_many, .series = count_many});
    arena_init(&arena);
    ck_assert_ptr_nonnull(metrics_expose(metrics, &arena, &len));
    ck_assert_uint_gt(len, SERIES * (size_t)150);
    ck_assert_uint_gt(arena.bytes, before);
    ck_assert_uint_le(arena.bytes, metrics_expose_bytes(metrics));
    arena_deinit(&arena);
    metrics_close(metrics);
}
END_TEST

static void append_line(void *context, enum metric_id id, struct metrics_text *out)
{
    static const char members[] = "\"type\":\"prediction\"";
    struct err err = {0};
    (void)id, (void)out;
    ck_assert_int_eq(
        audit_append(context, &(struct audit_members){members, sizeof members - 1}, 1, &err),
        ERR_OK);
}

/* The log grows while the page is written: METRIC_READY stands before those of the audit log. */
START_TEST(metrics_of_the_audit_log_are_of_one_line)
{
    struct tempdir dir;
    struct audit_scrape scraped = {0};
    struct err err = {0};
    tempdir_open(&dir);
    const struct audit_options options = {.dir = dir.path, .rotate_bytes = 1 << 20};
    ck_assert_msg(audit_open(&scraped.audit, &options, &err) == ERR_OK, "%s", err.text);
    struct metrics *metrics = opened(&setup);
    audit_service_register(&scraped, metrics);
    register_one(metrics, METRIC_READY,
                 (struct metrics_collector){.context = scraped.audit, .collect = append_line});
    for (unsigned i = 0; i < 3; i++) {
        const struct audit_state before = audit_state(scraped.audit);
        char head[13] = {0};
        memcpy(head, before.head, 12);
        struct exposition *page = scrape(metrics);
        ck_assert_sample(page, "attnd_audit_sequence", (double)before.seq);
        ck_assert_sample(page, "attnd_audit_head", (double)strtoull(head, NULL, 16));
        ck_assert_sample(page, "attnd_audit_records_total{result=\"written\"}",
                         (double)before.written);
        exposition_free(page);
        ck_assert_uint_eq(audit_state(scraped.audit).seq, before.seq + 1);
    }
    metrics_close(metrics);
    audit_close(scraped.audit);
    tempdir_close(&dir);
}
END_TEST

SUITE("metrics_collectors", metrics_of_the_audit_log_are_of_one_line,
      metrics_ask_a_collector_for_each_metric_in_the_order_of_the_table,
      metrics_without_a_collector_have_help_and_type_alone,
      metrics_text_writes_counts_by_the_values_of_a_label,
      metrics_assert_one_collector_and_none_for_their_own_counts,
      metrics_expose_takes_no_more_memory_than_collectors_announce)
