/* config_load.h - from the command line and the environment to a struct config.
 *
 *     struct config config;
 *     enum config_action action;
 *     if (config_load(&config, &action, argc, argv, environ, &err))
 *         return fail(&err);
 *     ...
 *     config_deinit(&config);
 *
 * Threads: any number, each with its own struct config; the environment must not change meanwhile.
 */
#ifndef ATTND_CONFIG_CONFIG_LOAD_H
#define ATTND_CONFIG_CONFIG_LOAD_H

#include "config/config.h"
#include "engine/base/err.h"

enum config_action { CONFIG_SERVE, CONFIG_CHECK, CONFIG_PRINT, CONFIG_HELP, CONFIG_VERSION };

/* argv and environ -> config. ERR_UNUSABLE for anything wrong (unknown names give the nearest known
 * one; values give the limits), ERR_NO_MEMORY apart. Models of the file come first, then those of
 * the environment, then those of flags; a name may occur once. Relative model directories are
 * relative to the working directory. On an error *out needs no config_deinit; for CONFIG_HELP and
 * CONFIG_VERSION it holds the defaults. */
enum err_code config_load(struct config *out, enum config_action *action, int argc,
                          char *const *argv, char *const *environment, struct err *err);
void config_deinit(struct config *config);

#endif
