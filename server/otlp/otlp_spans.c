/* otlp_spans.c - see otlp_spans.h. The numbers of fields are those of opentelemetry-proto 1.x,
 * which never change; `make test-trace` reads what comes out with the parser of OpenTelemetry's
 * collector.
 */
#include "server/otlp/otlp_spans.h"

#include "engine/base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Protocol Buffers ---- */

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

enum { VARINT_BYTES = 10 };

/* Seven bits a byte, the least first; the highest bit says that more follow. */
static size_t encode_varint(unsigned char out[VARINT_BYTES], uint64_t value)
{
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        out[len++] = (unsigned char)(value | 0x80);
    out[len++] = (unsigned char)value;
    return len;
}

static void put(struct protobuf *out, const void *bytes, size_t len)
{
    if (out->is_full || len > out->size - out->len) {
        out->is_full = true;
        return;
    }
    memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
}

static void put_varint(struct protobuf *out, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    put(out, bytes, encode_varint(bytes, value));
}

static void put_tag(struct protobuf *out, unsigned field, enum wire_type type)
{
    put_varint(out, (uint64_t)field << 3 | type);
}

/* The least byte first, whatever the machine's order. */
static void put_fixed(struct protobuf *out, uint64_t value, size_t len)
{
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put(out, bytes, len);
}

void protobuf_varint(struct protobuf *out, unsigned field, uint64_t value)
{
    put_tag(out, field, WIRE_VARINT);
    put_varint(out, value);
}

void protobuf_fixed32(struct protobuf *out, unsigned field, uint32_t value)
{
    put_tag(out, field, WIRE_FIXED32);
    put_fixed(out, value, sizeof value);
}

void protobuf_fixed64(struct protobuf *out, unsigned field, uint64_t value)
{
    put_tag(out, field, WIRE_FIXED64);
    put_fixed(out, value, sizeof value);
}

void protobuf_bytes(struct protobuf *out, unsigned field, const void *bytes, size_t len)
{
    put_tag(out, field, WIRE_LENGTH);
    put_varint(out, len);
    put(out, bytes, len);
}

void protobuf_text(struct protobuf *out, unsigned field, const char *text)
{
    protobuf_bytes(out, field, text, strlen(text));
}

size_t protobuf_open(struct protobuf *out, unsigned field)
{
    put_tag(out, field, WIRE_LENGTH);
    return out->len;
}

void protobuf_close(struct protobuf *out, size_t mark)
{
    unsigned char length[VARINT_BYTES];
    size_t inside = out->len - mark, len = encode_varint(length, inside);
    put(out, length, len); /* makes the room */
    if (out->is_full)
        return;
    memmove(out->bytes + mark + len, out->bytes + mark, inside);
    memcpy(out->bytes + mark, length, len);
}

enum request_field { REQUEST_RESOURCE_SPANS = 1 };
enum resource_spans_field { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2 };
enum resource_field { RESOURCE_ATTRIBUTES = 1 };
enum scope_spans_field { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2 };
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum attribute_field { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum value_field { VALUE_STRING = 1, VALUE_INT = 3 };
enum span_field {
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_TRACE_STATE = 3,
    SPAN_PARENT_SPAN_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START_TIME = 7,
    SPAN_END_TIME = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16,
};
enum span_kind { SPAN_KIND_INTERNAL = 1, SPAN_KIND_SERVER = 2 };
enum status_field { STATUS_CODE = 3, STATUS_CODE_ERROR = 2 };
/* The low byte of the flags is the trace's. */
enum span_flag { FLAG_SAMPLED = 0x01, FLAG_PARENT_IS_KNOWN = 0x100, FLAG_PARENT_IS_REMOTE = 0x200 };

/* ---- from a record --------------------------------------------------------- */

static struct trace_times shifted(const struct trace_times *times, uint64_t offset_ns)
{
    if (times->end_ns == 0)
        return (struct trace_times){0, 0};
    return (struct trace_times){times->start_ns + offset_ns, times->end_ns + offset_ns};
}

void otlp_spans_of(struct otlp_entry *out, const struct request_record *record, uint64_t offset_ns)
{
    const struct trace_record *trace = record->trace;
    out->context = *trace->context;
    out->context.state = NULL;
    snprintf(out->state, sizeof out->state, "%s",
             trace->context->state != NULL ? trace->context->state : "");
    out->method = trace->method;
    out->route = record->route;
    out->is_secure = trace->is_secure;
    out->status = record->status;
    out->inputs = record->inputs;
    out->reason = record->reason;
    out->whole = shifted(&trace->whole, offset_ns);
    for (int i = 0; i < TRACE_STAGES; i++)
        out->stages[i] = shifted(&trace->stages[i], offset_ns);
}

unsigned otlp_spans_count(const struct otlp_entry *entry)
{
    unsigned count = 1;
    for (int i = 0; i < TRACE_STAGES; i++)
        count += entry->stages[i].end_ns != 0;
    return count;
}

/* ---- attributes ------------------------------------------------------------ */

static void put_text_attribute(struct protobuf *out, unsigned field, const char *key,
                               const char *text)
{
    size_t attribute = protobuf_open(out, field);
    protobuf_text(out, ATTRIBUTE_KEY, key);
    size_t value = protobuf_open(out, ATTRIBUTE_VALUE);
    protobuf_text(out, VALUE_STRING, text);
    protobuf_close(out, value);
    protobuf_close(out, attribute);
}

static void put_whole_attribute(struct protobuf *out, const char *key, uint64_t number)
{
    size_t attribute = protobuf_open(out, SPAN_ATTRIBUTES);
    protobuf_text(out, ATTRIBUTE_KEY, key);
    size_t value = protobuf_open(out, ATTRIBUTE_VALUE);
    protobuf_varint(out, VALUE_INT, number);
    protobuf_close(out, value);
    protobuf_close(out, attribute);
}

/* Only 5xx are errors of a server's span, as the conventions say: a refusal is not our failure. */
static bool has_failed(const struct otlp_entry *entry)
{
    return entry->status >= 500;
}

/* ---- spans ----------------------------------------------------------------- */

static void put_hex(struct protobuf *out, unsigned field, const char *digits)
{
    unsigned char bytes[TRACE_ID_DIGITS / 2];
    size_t len = strlen(digits) / 2;
    for (size_t i = 0; i < len; i++) {
        const char two[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    protobuf_bytes(out, field, bytes, len);
}

static void put_times(struct protobuf *out, const struct trace_times *times)
{
    protobuf_fixed64(out, SPAN_START_TIME, times->start_ns);
    protobuf_fixed64(out, SPAN_END_TIME, times->end_ns);
}

static void put_ids(struct protobuf *out, const struct otlp_entry *entry, const char *span_id,
                    const char *parent_id)
{
    put_hex(out, SPAN_TRACE_ID, entry->context.trace_id);
    put_hex(out, SPAN_SPAN_ID, span_id);
    if (entry->state[0] != '\0')
        protobuf_text(out, SPAN_TRACE_STATE, entry->state);
    if (parent_id[0] != '\0')
        put_hex(out, SPAN_PARENT_SPAN_ID, parent_id);
}

static void put_request_span(struct protobuf *out, const struct otlp_entry *entry)
{
    const bool is_remote = entry->context.parent_id[0] != '\0';
    size_t span = protobuf_open(out, SCOPE_SPANS_SPANS);
    put_ids(out, entry, entry->context.span_id, entry->context.parent_id);
    /* "POST /predict"; without a route only the method, and "HTTP" for one that is not known. */
    char name[96];
    bool is_known = entry->method[0] != '_';
    snprintf(name, sizeof name, "%s%s%s", is_known ? entry->method : "HTTP",
             entry->route != NULL ? " " : "", entry->route != NULL ? entry->route : "");
    protobuf_text(out, SPAN_NAME, name);
    protobuf_varint(out, SPAN_KIND, SPAN_KIND_SERVER);
    put_times(out, &entry->whole);
    /* https://opentelemetry.io/docs/specs/semconv/http/http-spans/ */
    put_text_attribute(out, SPAN_ATTRIBUTES, "http.request.method", entry->method);
    put_text_attribute(out, SPAN_ATTRIBUTES, "url.scheme", entry->is_secure ? "https" : "http");
    if (entry->route != NULL)
        put_text_attribute(out, SPAN_ATTRIBUTES, "http.route", entry->route);
    /* in a pattern with a {name}, the client chose a part of the path */
    if (entry->route != NULL && strchr(entry->route, '{') == NULL)
        put_text_attribute(out, SPAN_ATTRIBUTES, "url.path", entry->route);
    if (entry->status != 0)
        put_whole_attribute(out, "http.response.status_code", entry->status);
    if (has_failed(entry))
        put_text_attribute(out, SPAN_ATTRIBUTES, "error.type", err_name(entry->reason));
    if (entry->inputs != 0)
        put_whole_attribute(out, "attnd.inputs", entry->inputs);
    if (has_failed(entry)) {
        size_t status = protobuf_open(out, SPAN_STATUS);
        protobuf_varint(out, STATUS_CODE, STATUS_CODE_ERROR);
        protobuf_close(out, status);
    }
    protobuf_fixed32(out, SPAN_FLAGS,
                     FLAG_SAMPLED | FLAG_PARENT_IS_KNOWN | (is_remote ? FLAG_PARENT_IS_REMOTE : 0));
    protobuf_close(out, span);
}

static void put_stage_span(struct protobuf *out, const struct otlp_entry *entry, unsigned stage)
{
    static const char *const names[TRACE_STAGES] = {
        [TRACE_PARSE] = "parse",         [TRACE_PREPARE] = "prepare", [TRACE_QUEUE] = "queue",
        [TRACE_INFERENCE] = "inference", [TRACE_EXPLAIN] = "explain", [TRACE_ENCODE] = "encode"};
    char id[SPAN_ID_DIGITS + 1];
    size_t span = protobuf_open(out, SCOPE_SPANS_SPANS);
    /* made of the request's id: a bijection keeps different ones different */
    uint64_t bits = rng_mix(strtoull(entry->context.span_id, NULL, 16) + stage + 1);
    snprintf(id, sizeof id, "%016" PRIx64, bits != 0 ? bits : 1);
    put_ids(out, entry, id, entry->context.span_id);
    protobuf_text(out, SPAN_NAME, names[stage]);
    protobuf_varint(out, SPAN_KIND, SPAN_KIND_INTERNAL);
    put_times(out, &entry->stages[stage]);
    protobuf_fixed32(out, SPAN_FLAGS, FLAG_SAMPLED | FLAG_PARENT_IS_KNOWN);
    protobuf_close(out, span);
}

void otlp_spans_put(struct protobuf *out, const struct otlp_entry *entry)
{
    put_request_span(out, entry);
    for (unsigned stage = 0; stage < TRACE_STAGES; stage++)
        if (entry->stages[stage].end_ns != 0)
            put_stage_span(out, entry, stage);
}

/* ---- around them ----------------------------------------------------------- */

struct otlp_marks otlp_spans_begin(struct protobuf *out, const char *instance_id)
{
    struct otlp_marks marks;
    marks.resource_spans = protobuf_open(out, REQUEST_RESOURCE_SPANS);
    size_t resource = protobuf_open(out, RESOURCE_SPANS_RESOURCE);
    put_text_attribute(out, RESOURCE_ATTRIBUTES, "service.name", "attnd");
    put_text_attribute(out, RESOURCE_ATTRIBUTES, "service.version", ATTND_VERSION);
    put_text_attribute(out, RESOURCE_ATTRIBUTES, "service.instance.id", instance_id);
    protobuf_close(out, resource);
    marks.scope_spans = protobuf_open(out, RESOURCE_SPANS_SCOPE_SPANS);
    size_t scope = protobuf_open(out, SCOPE_SPANS_SCOPE);
    protobuf_text(out, SCOPE_NAME, "attnd");
    protobuf_text(out, SCOPE_VERSION, ATTND_VERSION);
    protobuf_close(out, scope);
    return marks;
}

void otlp_spans_end(struct protobuf *out, const struct otlp_marks *marks)
{
    protobuf_close(out, marks->scope_spans);
    protobuf_close(out, marks->resource_spans);
}
