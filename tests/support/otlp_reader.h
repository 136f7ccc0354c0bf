/* otlp_reader.h - an ExportTraceServiceRequest of OTLP read back, by a decoder of Protocol Buffers
 * that shares nothing with the one that wrote it. Whatever is not well formed, or a field that is
 * not known here, fails the test.
 *
 *     struct otlp_message message;
 *     otlp_read(&message, bytes, len);
 *     const struct otlp_span *span = otlp_span_named(&message, "POST /predict");
 *     ck_assert_str_eq(otlp_attribute(span, "http.route"), "/predict");
 */
#ifndef ATTND_TESTS_SUPPORT_OTLP_READER_H
#define ATTND_TESTS_SUPPORT_OTLP_READER_H

#include <stddef.h>
#include <stdint.h>

enum { OTLP_READER_ATTRIBUTES = 16, OTLP_READER_SPANS = 512 };

struct otlp_attributes {
    struct {
        char key[64], value[160]; /* a number as decimal text with "#" before it */
    } list[OTLP_READER_ATTRIBUTES];
    unsigned count;
};

struct otlp_span {
    char trace_id[33], span_id[17], parent_id[17]; /* hexadecimal; "": none */
    char state[513], name[128];
    unsigned kind, status_code, flags;
    uint64_t start_ns, end_ns;
    struct otlp_attributes attributes;
};

struct otlp_message {
    struct otlp_attributes resource;
    char scope_name[64], scope_version[64];
    struct otlp_span spans[OTLP_READER_SPANS];
    unsigned span_count;
};

void otlp_read(struct otlp_message *out, const void *bytes, size_t len);

/* The only span of the name; fails without one, or with two. */
const struct otlp_span *otlp_span_named(const struct otlp_message *message, const char *name);
/* "" if there is none. */
const char *otlp_attribute(const struct otlp_span *span, const char *key);
const char *otlp_resource(const struct otlp_message *message, const char *key);

#endif
