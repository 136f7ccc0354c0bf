/* metrics_observer.h - the metrics as an observer of records. Threads: any. */
#ifndef ATTND_SERVER_OBSERVE_METRICS_OBSERVER_H
#define ATTND_SERVER_OBSERVE_METRICS_OBSERVER_H

#include "server/observe/metrics.h"
#include "server/observe/record.h"

/* The metrics must outlive it. */
struct observer metrics_observer(struct metrics *metrics);

#endif
