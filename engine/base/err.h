/* err.h - an error is a value.
 *
 * A function that can fail returns an enum err_code and takes a `struct err *` last. The code says
 * what kind of failure it was (the server maps kinds to HTTP statuses), the text says what, where
 * and the limit. The first writer wins, so the deepest function tells the cause; callers prepend
 * context:
 *
 *     struct err err = {0};
 *     if (safetensors_open(&file, path, &err))
 *         return err_prefix(&err, "%s: ", path);
 *
 * Texts never contain a client's input. Threads: a struct err belongs to whoever holds it; nothing
 * here is global or thread-local, because a request changes threads.
 */
#ifndef ATTND_ENGINE_BASE_ERR_H
#define ATTND_ENGINE_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

/* code, name, HTTP status that a client sees, title (RFC 9457) */
#define ERR_CODES(X)                                                                               \
    X(ERR_OK, "ok", 200, "OK")                                                                     \
    X(ERR_MALFORMED, "malformed", 400, "Malformed request")                                        \
    X(ERR_NOT_FOUND, "not_found", 404, "Not found")                                                \
    X(ERR_METHOD, "method_not_allowed", 405, "Method not allowed")                                 \
    X(ERR_SLOW, "timeout", 408, "Request took too long to arrive")                                 \
    X(ERR_LENGTH, "length_required", 411, "Length required")                                       \
    X(ERR_TOO_LARGE, "too_large", 413, "Too large")                                                \
    X(ERR_MEDIA_TYPE, "unsupported_media_type", 415, "Unsupported media type")                     \
    X(ERR_UNUSABLE, "unusable", 422, "Unusable input")                                             \
    X(ERR_QUEUE_FULL, "queue_full", 429, "Queue full")                                             \
    X(ERR_UNSUPPORTED, "unsupported", 500, "Unsupported model")                                    \
    X(ERR_IO, "io", 500, "Input or output failed")                                                 \
    X(ERR_NO_MEMORY, "no_memory", 500, "Out of memory")                                            \
    X(ERR_INTERNAL, "internal", 500, "Internal error")                                             \
    X(ERR_NOT_IMPLEMENTED, "not_implemented", 501, "Not implemented")                              \
    X(ERR_NOT_READY, "not_ready", 503, "Not ready")                                                \
    X(ERR_DEADLINE, "deadline_passed", 504, "Deadline passed")

enum err_code {
#define X(code, name, status, title) code,
    ERR_CODES(X)
#undef X
        ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    char text[512]; /* NUL-terminated UTF-8, cut at a character border if too long */
};

/* Records code and text unless an error is already recorded. Returns the recorded code. */
enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context in front of the recorded text. Returns the recorded code. */
enum err_code err_prefix(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Shorthand for a failed allocation of `bytes`. */
enum err_code err_no_memory(struct err *err, size_t bytes);

/* What kind of failure of a system call an errno is: ERR_NO_MEMORY or ERR_IO. */
enum err_code err_code_of_errno(int error);

/* Whether it is the system's failure (no memory, input or output) and says nothing about what the
 * function was given: where one input of many fails so, the others are not to be gone on with. */
bool err_is_of_system(enum err_code code);

/* Static strings and the HTTP status of a code, from the table above. */
const char *err_name(enum err_code code);
const char *err_title(enum err_code code);
int err_http_status(enum err_code code);

#endif
