/* server_log.h - the real attnd with its log kept in a file, and the log's lines read back.
 *
 *     struct server_log log;
 *     server_log_start(&log, (const char *[]){"--model", "a=models/kernel-bert", NULL});
 *     ... log.server.port ...
 *     server_log_stop(&log);                                    it must end with 0
 *     for (unsigned i = 0; i < log.count; i++) ... log.lines[i].json ...
 *     server_log_free(&log);
 *
 * Every line is held to what all lines must be: one JSON object that begins with "time", "level" and
 * "event", in UTF-8, without anything at which a reader could split it or a terminal act on it.
 */
#ifndef ATTND_TESTS_SUPPORT_SERVER_LOG_H
#define ATTND_TESTS_SUPPORT_SERVER_LOG_H

#include "tests/support/server_process.h"

#include <stddef.h>

struct json_t;

struct server_log_line {
    const char *text; /* NUL-terminated */
    struct json_t *json;
    const char *event;
};

struct server_log {
    struct server_process server;
    int fd;
    char *text;
    struct server_log_line *lines; /* [count] */
    unsigned count;
};

void server_log_start(struct server_log *log, const char *const *arguments);
void server_log_stop(struct server_log *log);
void server_log_free(struct server_log *log);

/* Number of lines with the event. */
unsigned server_log_count(const struct server_log *log, const char *event);

/* Cuts text[len] into lines, and holds each to the rules; `begins` is how each does. Returns how
 * many; *lines is yours to free, and so is the JSON of each. */
unsigned server_log_read(struct server_log_line **lines, char *text, size_t len,
                         const char *begins);

#endif
