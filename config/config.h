/* config.h - the configuration: one table of options (options.def) -> one immutable struct config.
 *
 * A JSON file < ATTND_* environment < flags. The table gives the fields' parser (config_load.h),
 * --help, --print-config, the environment's names and the table of docs/configuration.md
 * (config_print.h).
 *
 * Threads: immutable once loaded.
 */
#ifndef ATTND_CONFIG_CONFIG_H
#define ATTND_CONFIG_CONFIG_H

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Entries of one name are versions of one model. The first is the primary, which answers what no
 * split takes. */
struct config_model {
    const char *name, *dir, *dtype; /* dtype NULL: f32 */
    double split;                   /* share of the requests that it answers, 0..1 */
    double shadow;     /* share of the others that it gets a copy of, never answering */
    bool is_standby;   /* the primary before, kept for a rollback; never in a file (rollout.h) */
    const char *index; /* file of past cases (engine/index/index.h); NULL: none */
    bool is_public;    /* who may predict may search it; else who may give feedback */
};

enum { CONFIG_MODELS_MAX = 64, CONFIG_BODY_BYTES_MAX = 1024 * 1024 * 1024 };

struct config {
    const char *listen; /* as given: "127.0.0.1:8080", "[::1]:0" */
    const char *listen_address;
    unsigned listen_port;
    const char *admin_listen;  /* as given: "127.0.0.1:8081", "unix:/run/a.sock"; "": none */
    const char *admin_address; /* "127.0.0.1", "unix:/run/a.sock" */
    unsigned admin_port;
    const char *keys_file;                                         /* "": none */
    const char *tls_cert_file, *tls_key_file, *tls_client_ca_file; /* "": none */
    const char *models_root, *state_dir;                           /* "": none */
    unsigned promote_min_feedback;
    struct config_model *models;
    unsigned model_count;
    unsigned workers, threads_per_worker; /* 0: chosen from the cgroup quota */
    const char *placement;                /* "auto", "on", "off" */
    unsigned queue_limit;
    unsigned queue_ms_max;
    unsigned batch_tokens_max; /* 0: chosen */
    unsigned inputs_max;
    bool inputs_max_given; /* else the default, or queue_limit if that is less */
    size_t body_bytes_max;
    size_t memory_max; /* 0: what the system allows */
    size_t explain_bytes_max;
    size_t image_pixels_max, request_pixels_max;
    unsigned text_tokens_max;
    unsigned header_timeout_ms, body_timeout_ms;
    unsigned deadline_ms; /* 0: none */
    unsigned drain_delay_ms, drain_timeout_ms;
    unsigned connections_max;
    const char *linear_backend;
    const char *uncalibrated;
    const char *audit_dir, *audit_key_file; /* "": none */
    const char *audit_sync, *audit_full;
    size_t audit_rotate_bytes;
    unsigned audit_keep_days;
    unsigned feedback_window;                /* 0: none */
    size_t answers_bytes, idempotency_bytes; /* 0: none */
    unsigned answers_s, idempotency_s;
    unsigned drift_window;
    const char *cors_origins;  /* separated by commas; "": none */
    const char *otlp_endpoint; /* "": none */
    size_t keep_inputs_bytes;  /* 0: none is kept */
    double keep_inputs_share;  /* share of automatic answers whose inputs are kept */
    const char *fit_program;   /* "": attnd-fit beside the program that runs */
    unsigned fit_threads;      /* 0: half of the quota */
    const char *log_level;
    struct arena arena; /* holds all strings */
};

/* The longest time, in ms, that a process with this configuration takes to end. */
static inline unsigned config_end_ms(const struct config *config)
{
    enum { LAST_MS = 5000 };
    return config->drain_delay_ms + config->drain_timeout_ms + LAST_MS;
}

#endif
