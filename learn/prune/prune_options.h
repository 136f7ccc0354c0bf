/* prune_options.h - the options of attnd-prune: its own rows, and those of attnd-train that the
 * fine-tuning has, some with other defaults. Threads: call prune_cli_options once before other
 * threads read the table.
 */
#ifndef ATTND_LEARN_PRUNE_PRUNE_OPTIONS_H
#define ATTND_LEARN_PRUNE_PRUNE_OPTIONS_H

#include "learn/prune/prune.h"

/* Sets every option to its default, also options of attnd-train that have no row here. cli_parse
 * sets only the rows, so a program must call this first. */
void prune_options_default(struct prune_options *options);

/* The rows for cli.h; the target is a struct prune_options. */
const struct cli_option *prune_cli_options(size_t *count);

#endif
