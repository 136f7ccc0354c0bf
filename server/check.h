/* check.h - whether a configuration could be served, without serving it (--check-config).
 *
 * Threads: one.
 */
#ifndef ATTND_SERVER_CHECK_H
#define ATTND_SERVER_CHECK_H

#include "config/config.h"
#include "engine/base/err.h"

#include <stdio.h>

/* Reads keys, certificates, what was changed at run time and the models but for the numbers of
 * their weights (engine_check), and prints the memory plan to `out`. ERR_UNUSABLE if one of them
 * cannot be read or the sum is above memory_max. */
enum err_code server_check(const struct config *config, FILE *out, struct err *err);

#endif
