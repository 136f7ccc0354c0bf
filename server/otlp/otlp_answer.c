#include "server/otlp/otlp_answer.h"

#include <string.h>
#include <strings.h>

/* ---- the head -------------------------------------------------------------- */

/* Start of the body; NULL: the head is not whole. */
static const char *body_of(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);
    return end != NULL ? end + 4 : NULL;
}

/* A whole number at the start of a value, at most 9 digits; false: there is none. */
static bool read_number(const char *text, const char *end, unsigned *out)
{
    *out = 0;
    size_t digits = 0;
    while (text < end && *text == ' ')
        text++;
    for (; text < end && *text >= '0' && *text <= '9' && digits < 9; text++, digits++)
        *out = *out * 10 + (unsigned)(*text - '0');
    return digits > 0 && text < end && *text == '\r';
}

/* The number that a header of a whole head has for its value. */
static bool header_number(const char *bytes, const char *body, const char *name, unsigned *out)
{
    size_t len = strlen(name);
    const char *line = bytes;
    while ((line = memmem(line, (size_t)(body - line), "\r\n", 2)) != NULL) {
        line += 2;
        if ((size_t)(body - line) > len && strncasecmp(line, name, len) == 0 && line[len] == ':')
            return read_number(line + len + 1, body, out);
    }
    return false;
}

bool otlp_answer_is_whole(const char *bytes, size_t len)
{
    const char *body = body_of(bytes, len);
    unsigned body_len;
    return body != NULL && header_number(bytes, body, "content-length", &body_len) &&
           (size_t)(bytes + len - body) >= body_len;
}

/* "HTTP/1.1 200 " */
static unsigned read_status(const char *bytes, size_t len)
{
    static const char version[] = "HTTP/1.";
    enum { AT = sizeof version + 1 }; /* behind the last digit and a blank */
    unsigned status = 0;
    if (len < AT + 4 || memcmp(bytes, version, sizeof version - 1) != 0)
        return 0;
    for (size_t i = AT; i < AT + 3; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return 0;
        status = status * 10 + (unsigned)(bytes[i] - '0');
    }
    return status >= 100 && status <= 599 ? status : 0;
}

/* ---- the body -------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
    bool has_failed;
};

static uint64_t read_varint(struct reader *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end)
            break;
        const unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    in->has_failed = true;
    return 0;
}

/* Content of a field of the wire type "length". */
static struct reader read_inside(struct reader *in)
{
    uint64_t len = read_varint(in);
    if (in->has_failed || len > (uint64_t)(in->end - in->at)) {
        in->has_failed = true;
        return (struct reader){in->end, in->end, true};
    }
    const unsigned char *at = in->at;
    in->at += len;
    return (struct reader){at, in->at, false};
}

/* ExportTraceServiceResponse.partial_success (1), in it rejected_spans (1), int64, and
 * error_message (2). */
static uint64_t read_rejected(const char *bytes, size_t len)
{
    enum { PARTIAL_SUCCESS = 1 << 3 | 2, REJECTED_SPANS = 1 << 3 | 0, ERROR_MESSAGE = 2 << 3 | 2 };
    struct reader whole = {(const unsigned char *)bytes, (const unsigned char *)bytes + len, false};
    if (read_varint(&whole) != PARTIAL_SUCCESS)
        return 0;
    struct reader in = read_inside(&whole);
    uint64_t rejected = 0;
    while (!in.has_failed && in.at < in.end) {
        uint64_t tag = read_varint(&in);
        if (tag == REJECTED_SPANS)
            rejected = read_varint(&in);
        else if (tag == ERROR_MESSAGE)
            read_inside(&in);
        else
            return rejected;
    }
    return in.has_failed || rejected > INT64_MAX ? 0 : rejected;
}

void otlp_answer_read(struct otlp_answer *out, const char *bytes, size_t len)
{
    const char *body = body_of(bytes, len);
    *out = (struct otlp_answer){0};
    if (body == NULL)
        return;
    out->status = read_status(bytes, len);
    if (!header_number(bytes, body, "retry-after", &out->retry_after_s))
        out->retry_after_s = 0;
    unsigned body_len; /* none: the body may be in chunks, which are not understood */
    if (out->status == 200 && header_number(bytes, body, "content-length", &body_len) &&
        (size_t)(bytes + len - body) >= body_len)
        out->rejected = read_rejected(body, body_len);
}
