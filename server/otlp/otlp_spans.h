/* otlp_spans.h - a request as spans in OTLP 1.x (opentelemetry-proto, trace/v1/trace.proto): one
 * for the request and one for each stage that it went through, with the attributes of
 * OpenTelemetry's conventions for HTTP.
 *
 *     otlp_spans_of(&entry, record, realtime_ns - clock_now_ns());
 *     ...
 *     size_t scope = otlp_spans_begin(&out, instance_id);
 *     otlp_spans_put(&out, &entry);                            again and again
 *     otlp_spans_end(&out, scope);                             an ExportTraceServiceRequest
 *
 * Nothing of an input goes in, and no text that a client chose but a valid tracestate: a path is
 * told only where it is the route itself.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_SPANS_H
#define ATTND_SERVER_OTLP_OTLP_SPANS_H

#include "server/observe/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Protocol Buffers ---- */

/* Messages in Protocol Buffers' wire format (https://protobuf.dev/programming-guides/encoding/),
 * written into a buffer of fixed size without malloc. A writer belongs to one thread.
 *
 *     struct protobuf out = {.bytes = bytes, .size = size};
 *     size_t mark = protobuf_open(&out, 2);                 a message inside, or several texts
 *     protobuf_text(&out, 1, "http.route");
 *     protobuf_close(&out, mark);
 *     if (out.is_full) ... what is there is of no use ...
 *
 * Only what OTLP needs: a library for it would bring a compiler of schemas to every build, and a
 * tree of objects for each batch, in place of the hundred lines here.
 */

struct protobuf {
    unsigned char *bytes; /* [size] */
    size_t size, len;
    bool is_full; /* something did not fit; nothing more is written */
};

void protobuf_varint(struct protobuf *out, unsigned field, uint64_t value);
void protobuf_fixed32(struct protobuf *out, unsigned field, uint32_t value);
void protobuf_fixed64(struct protobuf *out, unsigned field, uint64_t value);
void protobuf_bytes(struct protobuf *out, unsigned field, const void *bytes, size_t len);
void protobuf_text(struct protobuf *out, unsigned field, const char *text);

/* A field that is a message, written between the two calls; they may be nested. Closing moves what
 * was written by the one to five bytes of its length. */
size_t protobuf_open(struct protobuf *out, unsigned field);
void protobuf_close(struct protobuf *out, size_t mark);

/* ---- spans ---- */

enum {
    OTLP_SPANS_MAX = 1 + TRACE_STAGES,         /* spans of one request */
    OTLP_SPAN_BYTES = 640 + TRACE_STATE_BYTES, /* bound of one, encoded */
    OTLP_HEAD_BYTES = 512,                     /* bound of the parts around all spans */
};

/* Copy of a request's data until it is sent. It borrows only constant texts. */
struct otlp_entry {
    struct trace_context context; /* state: unused */
    char state[TRACE_STATE_BYTES + 1];
    const char *method, *route; /* constant; route NULL: no such path */
    bool is_secure;
    unsigned status, inputs;
    enum err_code reason;
    struct trace_times whole, stages[TRACE_STAGES]; /* in nanoseconds since the Unix epoch */
};

/* offset_ns: Unix time minus clock_now_ns. record->trace is not NULL. */
void otlp_spans_of(struct otlp_entry *out, const struct request_record *record, uint64_t offset_ns);
/* 1 to OTLP_SPANS_MAX. */
unsigned otlp_spans_count(const struct otlp_entry *entry);

/* Around the entries: the service's resource and its scope. */
struct otlp_marks {
    size_t resource_spans, scope_spans;
};
struct otlp_marks otlp_spans_begin(struct protobuf *out, const char *instance_id);
void otlp_spans_put(struct protobuf *out, const struct otlp_entry *entry);
void otlp_spans_end(struct protobuf *out, const struct otlp_marks *marks);

/* ---- the ring ---- */

/* Entries that wait to be sent: a fixed number of places (otlp_ring.c). Who finds all taken is told
 * so and does not wait. Any thread may put and close; all else is one thread's. Entries that await
 * told are that thread's, without a lock, until it removes them.
 *
 *     if (!otlp_ring_put(ring, &entry)) dropped++;               any thread
 *
 *     while ((count = otlp_ring_await(ring, 73, 5000)) > 0) {    the one that sends
 *         ... otlp_ring_at(ring, 0 .. count - 1) ...
 *         otlp_ring_remove(ring, count);
 *     }
 */

enum { OTLP_RING_ENTRIES = 1024 };

struct otlp_ring;

/* ERR_NO_MEMORY. Yours to free, after the last put. */
enum err_code otlp_ring_open(struct otlp_ring **out, struct err *err);
void otlp_ring_free(struct otlp_ring *ring);
size_t otlp_ring_bytes(void);

/* Copies the entry. False: there is no place. */
bool otlp_ring_put(struct otlp_ring *ring, const struct otlp_entry *entry);

/* Waits until there are `enough` entries, or the oldest has waited for wait_ms, or the ring is
 * closed. How many there are; 0: it is closed, and empty. */
unsigned otlp_ring_await(struct otlp_ring *ring, unsigned enough, unsigned wait_ms);
const struct otlp_entry *otlp_ring_at(const struct otlp_ring *ring, unsigned index);
void otlp_ring_remove(struct otlp_ring *ring, unsigned count);

/* Sleeps; false at once if the ring is closed, or as soon as it is. */
bool otlp_ring_rest(struct otlp_ring *ring, unsigned ms);
void otlp_ring_close(struct otlp_ring *ring);

#endif
