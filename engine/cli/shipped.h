/* shipped.h - models and configurations that come with the program, found by their names
 * (engine/format/model_places.h). The places follow from the program's own, /proc/self/exe, so that
 * nothing needs to be set and a copy of the whole still works. Every program that asks for a
 * checkpoint directory takes these names.
 *
 *     {.name = "model", FIELD(dir), .value = "DIR", .apply = shipped_option, ...},
 *
 * Threads: shipped_find and shipped_find_from are pure functions. shipped_dir and shipped_option
 * keep what they find until the process ends and belong to the thread that reads the command line.
 */
#ifndef ATTND_ENGINE_CLI_SHIPPED_H
#define ATTND_ENGINE_CLI_SHIPPED_H

#include "engine/cli/cli_option.h"

#include <limits.h>

/* Turns what a user typed for a model into a directory: a path that exists is itself; another
 * name, which has no slash, is looked for in these places. ERR_UNUSABLE lists the names. */
enum err_code shipped_find(char out[PATH_MAX], const char *name, struct err *err);

/* The same for a program that lies in the folder `bin`. */
enum err_code shipped_find_from(char out[PATH_MAX], const char *bin, const char *name,
                                struct err *err);

/* The same in place: *dir is a name before and a directory after. It is borrowed: from the caller
 * if it is a path, else from this module. */
enum err_code shipped_dir(const char **dir, struct err *err);

/* cli_option.apply of a row whose field is a const char *: shipped_dir on its value. */
enum err_code shipped_option(const struct cli_option *option, void *target, const char *value,
                             struct err *err);

#endif
