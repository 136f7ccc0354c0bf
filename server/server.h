/* server.h - the whole server in one call: start, wait for SIGTERM or SIGINT, drain, stop.
 *
 *     if (server_run(&config, &source, stdout, &err))
 *         ... ERR_UNUSABLE: exit 2; anything else: exit 1 ...
 */
#ifndef ATTND_SERVER_SERVER_H
#define ATTND_SERVER_SERVER_H

#include "config/config.h"
#include "engine/base/err.h"
#include "server/serve/reloader.h"

#include <stdio.h>

/* Serves until a signal ends it. One line goes to `ready`, flushed, once /readyz is 200. On the
 * main thread: it takes over SIGTERM, SIGINT and SIGHUP for the whole process and ignores SIGPIPE.
 * SIGHUP and POST /admin/reload read the configuration again from its source. ERR_UNUSABLE: the
 * configuration or a model cannot be served; any other code: this run failed. */
enum err_code server_run(const struct config *config, const struct reload_source *source,
                         FILE *ready, struct err *err);

/* Says if a configuration could be served, without serving it: --check-config (check.c). Reads
 * keys, certificates, what was changed at run time and the models but for the numbers of their
 * weights (engine_check), and prints the memory plan to `out`. ERR_UNUSABLE if one of them cannot
 * be read or the sum is above memory_max. */
enum err_code server_check(const struct config *config, FILE *out, struct err *err);

#endif
