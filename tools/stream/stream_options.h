/* stream_options.h - the options of attnd-stream: one table, from which the flags, the JSON file
 * and --help follow. A flag overrides the file; the file's keys have underscores for dashes.
 *
 *     stream_options_read(&options, &action, argc, argv, &err);
 *     stream_options_free(&options);
 *
 * Passwords are read from files that an option names, never from a value.
 *
 * Threads: one.
 */
#ifndef ATTND_TOOLS_STREAM_STREAM_OPTIONS_H
#define ATTND_TOOLS_STREAM_STREAM_OPTIONS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/cli/cli.h"
#include "tools/answers/answers.h"

struct json_t;

enum { STREAM_TOPICS_MAX = 64 };

struct stream_options {
    const char *config; /* NULL: no file */
    const char *model, *dtype, *linear_backend, *top_k, *explain, *prompt_name;
    unsigned threads; /* 0: as many as there are cores */

    const char *brokers, *topics, *group, *member, *output_topic;
    const char *dead_letter_topic; /* "": none */
    const char *start, *input;
    unsigned batch_messages, batch_wait_ms, batch_compute_ms;
    size_t batch_bytes, message_bytes_max;
    unsigned transaction_timeout_ms, session_timeout_ms, max_poll_interval_ms;

    const char *security_protocol, *sasl_mechanism, *sasl_username, *sasl_password_file;
    const char *ssl_ca_file, *ssl_certificate_file, *ssl_key_file;

    const char *metrics_listen; /* "none" */

    /* Follow from the above. */
    struct answers_options answers;
    const char *topic_names[STREAM_TOPICS_MAX];
    unsigned topic_count;
    char metrics_host[64]; /* "": none */
    unsigned metrics_port;

    struct json_t *file; /* strings of the options borrow from it */
    struct arena words;  /* and from this: numbers of the file */
    char *topic_bytes;   /* and the names of topics */
    char host[256];      /* the default of member */
};

extern const struct cli stream_options_cli;

/* ERR_UNUSABLE for wrong use, with the file and the key; only for CLI_RUN is *out whole. Free it in
 * any case. */
enum err_code stream_options_read(struct stream_options *out, enum cli_action *action, int argc,
                                  char *const *argv, struct err *err);
void stream_options_free(struct stream_options *options);

#endif
