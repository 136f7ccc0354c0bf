/* trace_context.h - the place of a request in a trace: W3C Trace Context, level 1
 * (https://www.w3.org/TR/trace-context-1/), the headers traceparent and tracestate.
 *
 *     struct trace_context trace;
 *     if (trace_context_parse(&trace, http_header(exchange, "traceparent")))
 *         trace_context_begin_span(&trace, random);
 *     trace_context_write(&trace, header);            "00-<trace_id>-<span_id>-01"
 *
 * Ids are kept as lower-case hexadecimal text, as headers, logs and the audit log have them.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_OBSERVE_TRACE_CONTEXT_H
#define ATTND_SERVER_OBSERVE_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TRACE_ID_DIGITS = 32,
    SPAN_ID_DIGITS = 16,
    TRACE_HEADER_BYTES = 56, /* "00-" 32 "-" 16 "-" 2, NUL */
    TRACE_STATE_BYTES = 512, /* section 3.3.1.5: as many must at least be passed on */
    TRACE_STATE_MEMBERS = 32,
};

struct trace_context {
    char trace_id[TRACE_ID_DIGITS + 1];
    char parent_id[SPAN_ID_DIGITS + 1]; /* the caller's span; "": this one begins the trace */
    char span_id[SPAN_ID_DIGITS + 1];   /* ours */
    bool is_sampled;                    /* whether the trace is recorded: spans are sent */
    const char *state;                  /* tracestate, valid, untouched; NULL: none */
};

/* Reads a traceparent: trace id, the caller's span as the parent, the sampled flag. False, and *out
 * is zero, for one that must be ignored: another form than version 00's, version ff, an id of
 * zeros. A later version is read by its first four fields (section 4.3). */
bool trace_context_parse(struct trace_context *out, const char *header);

/* Our span, from random numbers. */
void trace_context_begin_span(struct trace_context *trace, uint64_t random);

/* A trace that begins here, and its first span, from random numbers. It is sampled. */
void trace_context_begin(struct trace_context *out, const uint64_t random[3]);

/* The traceparent that names our span. Only the sampled flag is passed on (section 3.2.2.5). */
void trace_context_write(const struct trace_context *trace, char out[TRACE_HEADER_BYTES]);

/* True if a tracestate may be passed on: 1 to 32 members, keys and values as in section 3.3.1, no
 * key twice, at most TRACE_STATE_BYTES. The argument may be any NUL-terminated bytes. */
bool trace_context_is_state(const char *state);

#endif
