/* options.h - the command line of attnd-load.
 *
 * Threads: immutable after options_load.
 */
#ifndef ATTND_LOADTEST_OPTIONS_H
#define ATTND_LOADTEST_OPTIONS_H

#include "engine/base/err.h"
#include "engine/cli/cli.h"
#include "tools/client/outcome.h"
#include "tools/client/server_url.h"

#include <stdbool.h>

enum { OPTIONS_SOURCES_MAX = 256, OPTIONS_STATUS_MAX = 599 };

enum options_kind {
    OPTIONS_TEXT,
    OPTIONS_TEXT_FILE,
    OPTIONS_TEXTS_JSONL,
    OPTIONS_IMAGE,
    OPTIONS_GET
};

/* A source of request bodies. */
struct options_source {
    enum options_kind kind;
    const char *value; /* the text, the file or, for OPTIONS_GET, the path */
    unsigned weight;
};

struct options {
    const char *url;
    unsigned connections;
    unsigned requests; /* 0: the duration alone bounds the run */
    double duration_s; /* always a bound */
    double rate;       /* requests a second, open loop; 0: closed loop */
    bool poisson;
    unsigned seed;
    unsigned backlog;
    unsigned timeout_ms;
    bool raw;
    const char *model;                    /* NULL: the server's default */
    const char *top_k;                    /* NULL: the server's default */
    const char *key_file;                 /* NULL: no key is sent */
    const char *ca_file;                  /* NULL: the system's authorities */
    const char *cert_file, *key_pem_file; /* the client's own; NULL: none */
    bool is_mine;                         /* another machine may be the target */
    bool insecure;                        /* any certificate will do */
    const char *expect;
    double tolerance;
    bool json, quiet;
    struct options_source source[OPTIONS_SOURCES_MAX];
    unsigned source_count;
    bool accept_status[OPTIONS_STATUS_MAX + 1]; /* answers that do not fail the run */
    bool accept[OUTCOME_COUNT];

    struct server_url target; /* from the URL */
};

extern const struct cli options_cli;

/* ERR_UNUSABLE for anything wrong; only for CLI_RUN is *out whole. Strings are argv's. */
enum err_code options_load(struct options *out, enum cli_action *action, int argc,
                           char *const *argv, struct err *err);

#endif
