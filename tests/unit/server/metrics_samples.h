/* metrics_samples.h - what a subsystem's collectors tell, as /metrics shows it.
 *
 *     struct metrics *metrics = metrics_samples_open();
 *     review_register(review, metrics);
 *     metrics_samples_add(metrics, "attnd_kept_inputs_total", text, sizeof text);
 *     metrics_samples_value(metrics, "attnd_kept_inputs_bytes");
 *     metrics_close(metrics);
 */
#ifndef ATTND_TESTS_UNIT_SERVER_METRICS_SAMPLES_H
#define ATTND_TESTS_UNIT_SERVER_METRICS_SAMPLES_H

#include "server/observe/metrics.h"
#include "tests/support/exposition.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

/* Without a route or a model. */
static inline struct metrics *metrics_samples_open(void)
{
    static const struct metrics_setup setup = {.queue_limit = 1};
    struct metrics *metrics;
    struct err err = {0};
    ck_assert_msg(metrics_open(&metrics, &setup, &err) == ERR_OK, "%s", err.text);
    return metrics;
}

/* Appends the lines of the metric's samples, in their order. */
static inline void metrics_samples_add(struct metrics *metrics, const char *name, char *text,
                                       size_t size)
{
    struct arena arena;
    size_t page_len = 0, used = strlen(text);
    arena_init(&arena);
    const char *line = metrics_expose(metrics, &arena, &page_len);
    ck_assert_ptr_nonnull(line);
    for (size_t len; *line != '\0'; line += len) {
        len = strcspn(line, "\n") + 1;
        if (strncmp(line, name, strlen(name)) == 0 && strcspn(line, "{ ") == strlen(name))
            used += (size_t)snprintf(text + used, size - used, "%.*s", (int)len, line);
        ck_assert_uint_lt(used, size);
    }
    arena_deinit(&arena);
}

/* -1: there is no such sample. */
static inline double metrics_samples_value(struct metrics *metrics, const char *series)
{
    struct arena arena;
    size_t len = 0;
    char problem[EXPOSITION_PROBLEM_BYTES];
    arena_init(&arena);
    const char *text = metrics_expose(metrics, &arena, &len);
    ck_assert_ptr_nonnull(text);
    struct exposition *page = exposition_parse(text, len, problem);
    ck_assert_msg(page != NULL, "%s", problem);
    const double value = exposition_value(page, series);
    exposition_free(page);
    arena_deinit(&arena);
    return value;
}

#endif
