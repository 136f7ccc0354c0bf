/* client.h - the run: a pool of connections, fed by a closed or an open loop, on one thread.
 *
 * Blocks SIGINT and SIGTERM while it runs: either stops the sending; in-flight requests are still
 * awaited, and the report is made as usual.
 */
#ifndef ATTND_LOADTEST_CLIENT_H
#define ATTND_LOADTEST_CLIENT_H

#include "engine/base/err.h"
#include "loadtest/answer.h"
#include "loadtest/options.h"
#include "loadtest/tally.h"
#include "loadtest/workload.h"

/* Sends, receives and judges until a bound is reached; everything ends up in the tally. `book` may
 * be NULL. ERR_IO if the process lacks descriptors for its connections; ERR_UNUSABLE for a file of
 * certificates. */
enum err_code client_run(const struct options *options, struct workload *workload,
                         const struct answer_book *book, struct tally *tally, struct err *err);

#endif
