/* protobuf.h - writes messages in Protocol Buffers' wire format
 * (https://protobuf.dev/programming-guides/encoding/) into a buffer of fixed size, without malloc.
 *
 *     struct protobuf out = {.bytes = bytes, .size = size};
 *     size_t mark = protobuf_open(&out, 2);                 a message inside, or several texts
 *     protobuf_text(&out, 1, "http.route");
 *     protobuf_close(&out, mark);
 *     if (out.is_full) ... what is there is of no use ...
 *
 * Only what OTLP needs: a library for it would bring a compiler of schemas to every build, and a
 * tree of objects for each batch, in place of the hundred lines here.
 *
 * Threads: a writer belongs to one.
 */
#ifndef ATTND_SERVER_OTLP_PROTOBUF_H
#define ATTND_SERVER_OTLP_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
