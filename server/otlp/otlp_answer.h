/* otlp_answer.h - what a collector answers, from the bytes of its HTTP reply: the status, when to
 * come again, and how many spans it did not take after all (OTLP/HTTP, "Partial Success").
 *
 *     if (otlp_answer_is_whole(bytes, len))
 *         otlp_answer_read(&answer, bytes, len);
 *
 * The bytes are untrusted; what is not understood counts as not said.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_ANSWER_H
#define ATTND_SERVER_OTLP_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_answer {
    unsigned status;        /* 100 to 599; 0: this is no HTTP reply */
    unsigned retry_after_s; /* as seconds; 0: none, or a date */
    uint64_t rejected;      /* spans, of a 200 */
};

/* True if the reply is complete: the head, and the body up to its Content-Length. */
bool otlp_answer_is_whole(const char *bytes, size_t len);

/* Reads a reply, also one that is not complete. The bytes may be any. */
void otlp_answer_read(struct otlp_answer *out, const char *bytes, size_t len);

#endif
