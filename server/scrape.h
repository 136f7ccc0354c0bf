/* scrape.h - what a scrape of /metrics reads from the parts of the server.
 *
 *     struct metrics_setup setup = {.sources = scrape_sources(service), ...};
 *
 * Threads: the sources are read by the I/O thread that answers the scrape.
 */
#ifndef ATTND_SERVER_SCRAPE_H
#define ATTND_SERVER_SCRAPE_H

#include "server/observe/metrics.h"
#include "server/serve/service.h"

/* The sources of the metrics. The service must live as long as the metrics do. */
struct metrics_sources scrape_sources(struct service *service);

#endif
