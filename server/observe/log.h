/* log.h - one line per event on stderr, machine-readable (one JSON object a line), never an input's
 * content.
 *
 *     log_event(LOG_INFO, "model_loaded", LOG_TEXT("name", name), LOG_NUMBER("ms", ms));
 *
 * A line holds "time" (RFC 3339, UTC), "level", "event" and the fields, and at most 4096 bytes:
 * what does not fit is cut and "cut": true says so. Strings may hold anything; bytes that are not
 * UTF-8 become U+FFFD, NULL and numbers that JSON lacks become null.
 *
 * ERROR: an operator must act. WARN: degraded. INFO: lifecycle. DEBUG: per request.
 * A line that stderr does not take at once is lost; the next that it takes follows a line
 * "log_lines_lost" with "lines", their number. Threads: any; a line is one write(2), so lines never
 * mix. */
#ifndef ATTND_SERVER_OBSERVE_LOG_H
#define ATTND_SERVER_OBSERVE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_value {
    enum { LOG_IS_TEXT, LOG_IS_NUMBER } type;
    const char *text;
    double number;
};
struct log_field {
    const char *name;
    struct log_value value;
};

#define LOG_TEXT(name, string)                                                                     \
    {                                                                                              \
        (name),                                                                                    \
        {                                                                                          \
            .type = LOG_IS_TEXT, .text = (string)                                                  \
        }                                                                                          \
    }
#define LOG_NUMBER(name, real)                                                                     \
    {                                                                                              \
        (name),                                                                                    \
        {                                                                                          \
            .type = LOG_IS_NUMBER, .number = (double)(real)                                        \
        }                                                                                          \
    }

/* log_event(LOG_INFO, "listening", LOG_TEXT("address", a), LOG_NUMBER("port", p)); */
#define log_event(level, event, ...)                                                               \
    log_fields(                                                                                    \
        level, event, (const struct log_field[]){__VA_ARGS__},                                     \
        (unsigned)(sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field)))

/* "error", "warn", "info", "debug"; false, and no change, for another word. Any thread. */
bool log_set_level(const char *name);
bool log_enabled(enum log_level level);
void log_fields(enum log_level level, const char *event, const struct log_field *fields,
                unsigned count);

#endif
