/* prune_options.h - the options of attnd-prune: its own rows, and those of attnd-train that the
 * fine-tuning knows, with other defaults where it needs them. Threads: prune_cli_options once,
 * before others look at the table.
 */
#ifndef ATTND_LEARN_PRUNE_PRUNE_OPTIONS_H
#define ATTND_LEARN_PRUNE_PRUNE_OPTIONS_H

#include "learn/prune/prune.h"

/* Sets every option to its default, those of attnd-train that have no row here too. cli_parse does
 * only the rows: a program calls this before. */
void prune_options_default(struct prune_options *options);

/* The rows for cli.h; the target is a struct prune_options. */
const struct cli_option *prune_cli_options(size_t *count);

#endif
