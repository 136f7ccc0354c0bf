/* exposition.h - a strict reader of Prometheus' text format 0.0.4, for tests of what we expose.
 *
 *     struct exposition *page = exposition_parse(text, len, problem);
 *     ck_assert_msg(page != NULL, "%s", problem);
 *     exposition_value(page, "attnd_rejected_total{reason=\"timeout\"}");
 *     exposition_free(page);
 *
 * Beyond the grammar it demands what the format's page and the naming guide ask for: HELP and TYPE
 * once and before the samples, a family's lines together, no series twice, counters named _total,
 * finite and not negative, histograms with rising bounds, rising counts, +Inf equal to _count and a
 * _sum, which is negative only if a bound is. */
#ifndef ATTND_TESTS_SUPPORT_EXPOSITION_H
#define ATTND_TESTS_SUPPORT_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>

enum { EXPOSITION_PROBLEM_BYTES = 256 };

struct exposition;

/* NULL and a sentence in problem if anything is wrong. Yours to free. */
struct exposition *exposition_parse(const char *text, size_t len,
                                    char problem[EXPOSITION_PROBLEM_BYTES]);
void exposition_free(struct exposition *page);

/* The sample written exactly so, labels in the order of the page; -1 if there is none. */
double exposition_value(const struct exposition *page, const char *series);
size_t exposition_samples(const struct exposition *page);
bool exposition_has_family(const struct exposition *page, const char *name);

#endif
