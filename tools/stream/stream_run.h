/* stream_run.h - the loop of attnd-stream: gather a batch, answer it, commit it.
 *
 *     stream_run(kafka, batch, &options, &metrics, stop, &err);
 *
 * Threads: one.
 */
#ifndef ATTND_TOOLS_STREAM_STREAM_RUN_H
#define ATTND_TOOLS_STREAM_STREAM_RUN_H

#include "tools/stream/kafka.h"
#include "tools/stream/stream_batch.h"
#include "tools/stream/stream_metrics.h"

#include <stdatomic.h>

/* Until *stop, then what is gathered is still answered and committed; or until a failure that only
 * a new process mends. */
enum err_code stream_run(struct kafka *kafka, struct stream_batch *batch,
                         const struct stream_options *options, struct stream_metrics *metrics,
                         const atomic_bool *stop, struct err *err);

#endif
