/* config.h - the configuration: one table of options (options.def) -> one immutable struct config.
 *
 * A JSON file < ATTND_* environment < flags. The table gives parser, --help, --print-config, the
 * environment's names and the README's table.
 *
 *     struct config config;
 *     enum config_action action;
 *     if (config_load(&config, &action, argc, argv, environ, &err))
 *         return fail(&err);
 *     ...
 *     config_deinit(&config);
 *
 * Threads: immutable after config_load.
 */
#ifndef ATTND_CONFIG_CONFIG_H
#define ATTND_CONFIG_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct config_model {
    const char *name, *dir, *dtype; /* dtype NULL: f32 */
};

enum { CONFIG_MODELS_MAX = 64 }; /* as options.def has it */

struct config {
    const char *listen; /* as given: "127.0.0.1:8080", "[::1]:0" */
    const char *listen_address;
    unsigned listen_port;
    struct config_model *models;
    unsigned model_count;
    unsigned workers, threads_per_worker; /* 0: chosen from the cgroup quota */
    unsigned queue_limit;
    unsigned queue_ms_max;
    unsigned batch_tokens_max; /* 0: chosen */
    unsigned inputs_max;
    size_t body_bytes_max;
    size_t memory_max; /* 0: what the system allows */
    size_t explain_bytes_max;
    size_t image_pixels_max, request_pixels_max;
    unsigned header_timeout_ms, body_timeout_ms;
    unsigned deadline_ms; /* 0: none */
    unsigned drain_delay_ms, drain_timeout_ms;
    unsigned connections_max;
    const char *linear_backend;
    const char *log_level;
    struct arena arena; /* holds all strings */
};

enum config_action { CONFIG_SERVE, CONFIG_CHECK, CONFIG_PRINT, CONFIG_HELP, CONFIG_VERSION };

/* argv and environ -> config. ERR_UNUSABLE for anything wrong (unknown names give the nearest known
 * one; values give the limits), ERR_NO_MEMORY apart. Models of the file come first, then those of
 * the environment, then those of flags; a name may occur once. Relative model directories are
 * relative to the working directory. On an error *out needs no config_deinit; for CONFIG_HELP and
 * CONFIG_VERSION it holds the defaults. */
enum err_code config_load(struct config *out, enum config_action *action, int argc,
                          char *const *argv, char *const *environment, struct err *err);
void config_deinit(struct config *config);

void config_print(const struct config *config, FILE *file); /* JSON that --config accepts */
void config_help(FILE *file);
void config_markdown(FILE *file); /* the README's table of options */

#endif
