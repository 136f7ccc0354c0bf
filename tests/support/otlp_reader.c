#include "tests/support/otlp_reader.h"

#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the wire format ---- */

struct wire {
    const unsigned char *at, *end;
};

struct field {
    unsigned number, type;
    uint64_t value;     /* of types 0, 1 and 5 */
    struct wire inside; /* of type 2 */
};

static uint64_t varint(struct wire *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        ck_assert(in->at < in->end && shift < 64);
        value |= (uint64_t)(*in->at & 0x7F) << shift;
        if (*in->at++ < 0x80)
            return value;
    }
}

static uint64_t little_endian(struct wire *in, unsigned bytes)
{
    uint64_t value = 0;
    ck_assert(in->end - in->at >= bytes);
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)*in->at++ << 8 * i;
    return value;
}

static int next(struct wire *in, struct field *out)
{
    if (in->at == in->end)
        return 0;
    uint64_t tag = varint(in);
    *out = (struct field){.number = (unsigned)(tag >> 3), .type = tag & 7};
    if (out->type == 0)
        out->value = varint(in);
    else if (out->type == 1)
        out->value = little_endian(in, 8);
    else if (out->type == 5)
        out->value = little_endian(in, 4);
    else {
        ck_assert_uint_eq(out->type, 2);
        uint64_t len = varint(in);
        ck_assert_uint_le(len, (uint64_t)(in->end - in->at));
        out->inside = (struct wire){in->at, in->at + len};
        in->at += len;
    }
    return 1;
}

static void unknown(const char *message, const struct field *field)
{
    ck_abort_msg("%s: field %u of type %u", message, field->number, field->type);
}

/* A string, without a NUL in it. */
static void text(const struct field *field, char *out, size_t size)
{
    size_t len = (size_t)(field->inside.end - field->inside.at);
    ck_assert_uint_eq(field->type, 2);
    ck_assert_uint_lt(len, size);
    ck_assert_ptr_null(memchr(field->inside.at, '\0', len));
    memcpy(out, field->inside.at, len);
    out[len] = '\0';
}

static void hex(const struct field *field, char *out, size_t digits)
{
    ck_assert_uint_eq(field->type, 2);
    ck_assert_uint_eq((size_t)(field->inside.end - field->inside.at) * 2, digits);
    for (size_t i = 0; i < digits / 2; i++)
        snprintf(out + 2 * i, 3, "%02x", field->inside.at[i]);
}

static unsigned number(const struct field *field, unsigned type)
{
    ck_assert_uint_eq(field->type, type);
    return (unsigned)field->value;
}

/* ---- opentelemetry-proto ---- */

static void read_value(struct wire in, char *out, size_t size)
{
    struct field field;
    ck_assert(next(&in, &field));
    if (field.number == 1)
        text(&field, out, size);
    else if (field.number == 3)
        snprintf(out, size, "#%" PRIu64, field.value);
    else
        unknown("AnyValue", &field);
    ck_assert(!next(&in, &field));
}

static void read_attribute(struct wire in, struct otlp_attributes *out)
{
    struct field field;
    ck_assert_uint_lt(out->count, OTLP_READER_ATTRIBUTES);
    while (next(&in, &field))
        if (field.number == 1)
            text(&field, out->list[out->count].key, sizeof out->list->key);
        else if (field.number == 2)
            read_value(field.inside, out->list[out->count].value, sizeof out->list->value);
        else
            unknown("KeyValue", &field);
    for (unsigned i = 0; i < out->count; i++)
        ck_assert_str_ne(out->list[i].key, out->list[out->count].key);
    out->count++;
}

static void read_status(struct wire in, struct otlp_span *out)
{
    struct field field;
    while (next(&in, &field))
        if (field.number == 3)
            out->status_code = number(&field, 0);
        else
            unknown("Status", &field);
}

static void read_span_field(const struct field *field, struct otlp_span *out)
{
    switch (field->number) {
    case 1:
        hex(field, out->trace_id, 32);
        break;
    case 2:
        hex(field, out->span_id, 16);
        break;
    case 3:
        text(field, out->state, sizeof out->state);
        break;
    case 4:
        hex(field, out->parent_id, 16);
        break;
    case 5:
        text(field, out->name, sizeof out->name);
        break;
    case 6:
        out->kind = number(field, 0);
        break;
    case 7:
        number(field, 1);
        out->start_ns = field->value;
        break;
    case 8:
        number(field, 1);
        out->end_ns = field->value;
        break;
    case 9:
        read_attribute(field->inside, &out->attributes);
        break;
    case 15:
        read_status(field->inside, out);
        break;
    case 16:
        out->flags = number(field, 5);
        break;
    default:
        unknown("Span", field);
    }
}

static void read_span(struct wire in, struct otlp_message *out)
{
    struct field field;
    ck_assert_uint_lt(out->span_count, OTLP_READER_SPANS);
    while (next(&in, &field))
        read_span_field(&field, &out->spans[out->span_count]);
    out->span_count++;
}

static void read_scope(struct wire in, struct otlp_message *out)
{
    struct field field;
    while (next(&in, &field))
        if (field.number == 1)
            text(&field, out->scope_name, sizeof out->scope_name);
        else if (field.number == 2)
            text(&field, out->scope_version, sizeof out->scope_version);
        else
            unknown("InstrumentationScope", &field);
}

static void read_scope_spans(struct wire in, struct otlp_message *out)
{
    struct field field;
    while (next(&in, &field))
        if (field.number == 1)
            read_scope(field.inside, out);
        else if (field.number == 2)
            read_span(field.inside, out);
        else
            unknown("ScopeSpans", &field);
}

static void read_resource(struct wire in, struct otlp_message *out)
{
    struct field field;
    while (next(&in, &field))
        if (field.number == 1)
            read_attribute(field.inside, &out->resource);
        else
            unknown("Resource", &field);
}

void otlp_read(struct otlp_message *out, const void *bytes, size_t len)
{
    struct wire in = {bytes, (const unsigned char *)bytes + len}, inside;
    struct field field;
    memset(out, 0, sizeof *out);
    ck_assert(next(&in, &field));
    ck_assert_uint_eq(field.number, 1);
    inside = field.inside;
    ck_assert(!next(&in, &field)); /* one ResourceSpans */
    while (next(&inside, &field))
        if (field.number == 1)
            read_resource(field.inside, out);
        else if (field.number == 2)
            read_scope_spans(field.inside, out);
        else
            unknown("ResourceSpans", &field);
}

const struct otlp_span *otlp_span_named(const struct otlp_message *message, const char *name)
{
    const struct otlp_span *found = NULL;
    for (unsigned i = 0; i < message->span_count; i++) {
        if (strcmp(message->spans[i].name, name) != 0)
            continue;
        ck_assert_msg(found == NULL, "two spans %s", name);
        found = &message->spans[i];
    }
    ck_assert_msg(found != NULL, "no span %s", name);
    return found;
}

static const char *find(const struct otlp_attributes *attributes, const char *key)
{
    for (unsigned i = 0; i < attributes->count; i++)
        if (strcmp(attributes->list[i].key, key) == 0)
            return attributes->list[i].value;
    return "";
}

const char *otlp_attribute(const struct otlp_span *span, const char *key)
{
    return find(&span->attributes, key);
}

const char *otlp_resource(const struct otlp_message *message, const char *key)
{
    return find(&message->resource, key);
}
