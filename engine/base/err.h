/* err.h - an error is a value.
 *
 * A function that can fail returns an enum err_code and takes a `struct err *` last. The code is
 * the kind of failure; the text has the fault, its place and the limit. The first error recorded is
 * kept, so the deepest function tells the cause; callers prepend context:
 *
 *     struct err err = {0};
 *     if (safetensors_open(&file, path, &err))
 *         return err_prefix(&err, "%s: ", path);
 *
 * Texts never contain a client's input. Threads: a struct err belongs to its owner; nothing here is
 * global or thread-local, because a request changes threads.
 */
#ifndef ATTND_ENGINE_BASE_ERR_H
#define ATTND_ENGINE_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

/* code, name */
#define ERR_CODES(X)                                                                               \
    X(ERR_OK, "ok")                                                                                \
    X(ERR_MALFORMED, "malformed")                                                                  \
    X(ERR_UNAUTHORIZED, "unauthorized")                                                            \
    X(ERR_NOT_FOUND, "not_found")                                                                  \
    X(ERR_METHOD, "method_not_allowed")                                                            \
    X(ERR_SLOW, "timeout")                                                                         \
    X(ERR_CONFLICT, "conflict")                                                                    \
    X(ERR_FORBIDDEN, "forbidden")                                                                  \
    X(ERR_LENGTH, "length_required")                                                               \
    X(ERR_TOO_LARGE, "too_large")                                                                  \
    X(ERR_MEDIA_TYPE, "unsupported_media_type")                                                    \
    X(ERR_UNUSABLE, "unusable")                                                                    \
    X(ERR_QUEUE_FULL, "queue_full")                                                                \
    X(ERR_TOO_MANY, "too_many_requests")                                                           \
    X(ERR_UNSUPPORTED, "unsupported")                                                              \
    X(ERR_IO, "io")                                                                                \
    X(ERR_NO_MEMORY, "no_memory")                                                                  \
    X(ERR_INTERNAL, "internal")                                                                    \
    X(ERR_NOT_READY, "not_ready")                                                                  \
    X(ERR_DEADLINE, "deadline_passed")

enum err_code {
#define X(code, name) code,
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

/* ERR_UNUSABLE for text[0..len) of a user that utf8_valid refuses: tells the byte, `what` it is a
 * byte of, and how a file in the charset of Windows becomes UTF-8 (spreadsheets write that). */
enum err_code err_check_utf8(struct err *err, const char *text, size_t len, const char *what);

/* Shorthand for a thread that pthread_create could not start: `failure` is its result. */
enum err_code err_no_thread(struct err *err, int failure);

/* The err_code of a system call's errno: ERR_NO_MEMORY (also for EAGAIN, which pthread_create
 * returns then) or ERR_IO. */
enum err_code err_code_of_errno(int error);

/* True for a failure of the system (no memory, input or output), not of the function's input: if
 * one input of many fails in this way, the run must end instead of skipping the input. */
bool err_is_of_system(enum err_code code);

/* The kind's name: "too_large". */
const char *err_name(enum err_code code);

/* Makes a name from a file fit for error texts: cut, and with '?' for all but printable ASCII, so
 * that a hostile file cannot write to an operator's terminal.
 *
 *     err_set(err, ERR_UNSUPPORTED, "tensor '%s' ...", printable_name(name).text);
 */
struct printable {
    char text[100]; /* NUL-terminated */
};

static inline struct printable printable_name(const char *name)
{
    struct printable shown = {0};
    for (size_t i = 0; i < sizeof shown.text - 1 && name[i] != '\0'; i++) {
        unsigned char c = (unsigned char)name[i];
        shown.text[i] = c < 0x20 || c >= 0x7F ? '?' : (char)c;
    }
    return shown;
}

#endif
