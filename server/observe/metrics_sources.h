/* metrics_sources.h - the metrics that other parts of the server count: what metrics_sources of
 * metrics.h tell, as text. Private to metrics_expose.c.
 *
 *     metrics_sources_write(&text, metrics, METRIC_DRIFT);        after its HELP and TYPE
 *
 * Threads: those of the scrape.
 */
#ifndef ATTND_SERVER_OBSERVE_METRICS_SOURCES_H
#define ATTND_SERVER_OBSERVE_METRICS_SOURCES_H

#include "server/observe/metrics_text.h"

/* The samples of one of these metrics; a source that there is not tells nothing, or 0. */
void metrics_sources_write(struct metrics_text *text, struct metrics *metrics, enum metric_id id);

#endif
