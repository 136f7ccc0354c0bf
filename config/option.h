/* option.h - the table behind config.h: one row (engine/cli/cli_option.h) per row of options.def,
 * then the switches of attnd's command line, and the writers of a struct config's fields. Private
 * to config/.
 *
 *     const struct cli_option *option = option_find("queue_limit");
 *     if (option_set_text(option, &config, "64", &err))
 *         return err_prefix(&err, "ATTND_QUEUE_LIMIT: ");
 *
 * Error texts say what is expected and the limits; where the value stood is the caller's prefix.
 * Threads: the table is constant; a struct config belongs to the thread that loads it.
 */
#ifndef ATTND_CONFIG_OPTION_H
#define ATTND_CONFIG_OPTION_H

#include "config/config.h"
#include "engine/base/err.h"
#include "engine/cli/cli.h"

#include <stdbool.h>

enum option_reload { OPTION_RESTART, OPTION_LIVE }; /* the tag of a row of options.def */

/* The switches of attnd's command line, which follow the rows of options.def. */
enum option_switch { OPTION_CONFIG, OPTION_CHECK_CONFIG, OPTION_PRINT_CONFIG, OPTION_SWITCHES };

enum {
    OPTION_TOTAL = 0
#define OPTION(...) +1
#include "config/options.def"
#undef OPTION
};

extern const struct cli_option option_table[OPTION_TOTAL + OPTION_SWITCHES];
extern const struct cli option_cli; /* attnd's command line: the whole table */

const struct cli_option *option_find(const char *key); /* NULL: no such key */
size_t option_index(const struct cli_option *option);  /* a switch: OPTION_TOTAL + which */

/* The option's name in the file. The list of models has another name there than as a flag. */
const char *option_key(const struct cli_option *option);
void option_variable(const struct cli_option *option, char out[CLI_NAME_BYTES]); /* ATTND_... */

bool option_is_models(const struct cli_option *option);

/* A value in text form, which is copied. Models are separated by white space and added to those
 * already there; a directory whose name holds white space is for a flag or the file to name. */
enum err_code option_set_text(const struct cli_option *option, struct config *config,
                              const char *text, struct err *err);

/* Adds a model after checking name, directory, dtype (NULL: f32) and shares, and that no other has
 * both its name and its directory. */
enum err_code option_add_model(struct config *config, const struct config_model *model,
                               struct err *err);
/* The same from NAME=DIR[,dtype=D][,split=S][,shadow=S][,index=F]. */
enum err_code option_add_model_text(struct config *config, const char *text, size_t len,
                                    struct err *err);

#endif
