#include "server/observe/trace_context.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- traceparent ----------------------------------------------------------- */

/* "00-" trace_id "-" parent_id "-" flags (section 3.2.2) */
enum {
    VERSION_AT = 0,
    TRACE_AT = 3,
    PARENT_AT = TRACE_AT + TRACE_ID_DIGITS + 1,
    FLAGS_AT = PARENT_AT + SPAN_ID_DIGITS + 1,
    HEADER_LEN = FLAGS_AT + 2,
};
_Static_assert((int)HEADER_LEN + 1 == (int)TRACE_HEADER_BYTES, "what is read is what is written");

static const char digits[] = "0123456789abcdef";

/* Lower-case digits only: upper-case ones make the header invalid. */
static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\0' || strchr(digits, text[i]) == NULL)
            return false;
    return true;
}

static bool is_id(const char *text, size_t len)
{
    return is_hex(text, len) && strspn(text, "0") < len;
}

/* Blanks around a field's value do not belong to it (RFC 9110, section 5.5). */
static size_t without_blanks(const char **text)
{
    *text += strspn(*text, " \t");
    size_t len = strlen(*text);
    while (len > 0 && strchr(" \t", (*text)[len - 1]) != NULL)
        len--;
    return len;
}

/* A later version of the format may add fields, behind one more '-'. */
static bool has_form(const char *text, size_t len)
{
    if (len < HEADER_LEN || !is_hex(text, 2) || memcmp(text, "ff", 2) == 0)
        return false;
    if (len > HEADER_LEN && (memcmp(text, "00", 2) == 0 || text[HEADER_LEN] != '-'))
        return false;
    return text[TRACE_AT - 1] == '-' && text[PARENT_AT - 1] == '-' && text[FLAGS_AT - 1] == '-';
}

bool trace_context_parse(struct trace_context *out, const char *header)
{
    *out = (struct trace_context){.state = NULL};
    size_t len = without_blanks(&header);
    if (!has_form(header, len) || !is_id(header + TRACE_AT, TRACE_ID_DIGITS) ||
        !is_id(header + PARENT_AT, SPAN_ID_DIGITS) || !is_hex(header + FLAGS_AT, 2))
        return false;
    memcpy(out->trace_id, header + TRACE_AT, TRACE_ID_DIGITS);
    memcpy(out->parent_id, header + PARENT_AT, SPAN_ID_DIGITS);
    out->is_sampled = (strchr(digits, header[FLAGS_AT + 1]) - digits) % 2 == 1;
    return true;
}

/* An id of zeros is invalid. */
static uint64_t not_zero(uint64_t random)
{
    return random != 0 ? random : 1;
}

void trace_context_begin_span(struct trace_context *trace, uint64_t random)
{
    snprintf(trace->span_id, sizeof trace->span_id, "%016" PRIx64, not_zero(random));
}

void trace_context_begin(struct trace_context *out, const uint64_t random[3])
{
    *out = (struct trace_context){.is_sampled = true};
    snprintf(out->trace_id, sizeof out->trace_id, "%016" PRIx64 "%016" PRIx64, random[0],
             not_zero(random[1]));
    trace_context_begin_span(out, random[2]);
}

void trace_context_write(const struct trace_context *trace, char out[TRACE_HEADER_BYTES])
{
    snprintf(out, TRACE_HEADER_BYTES, "00-%s-%s-%02d", trace->trace_id, trace->span_id,
             trace->is_sampled);
}

/* ---- tracestate ------------------------------------------------------------ */

/* A key, or one of the two parts around '@' (section 3.3.1.3.1): it begins with a letter, the part
 * before an '@' also with a digit. */
static bool is_key_part(const char *text, size_t len, size_t len_max, bool may_begin_with_digit)
{
    if (len == 0 || len > len_max)
        return false;
    if (!(text[0] >= 'a' && text[0] <= 'z') &&
        !(may_begin_with_digit && text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 1; i < len; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyz0123456789_-*/", text[i]) == NULL)
            return false;
    return true;
}

static bool is_key(const char *text, size_t len)
{
    enum { KEY = 256, TENANT = 241, SYSTEM = 14 };
    const char *at = memchr(text, '@', len);
    if (at == NULL)
        return is_key_part(text, len, KEY, false);
    size_t tenant = (size_t)(at - text);
    return is_key_part(text, tenant, TENANT, true) &&
           is_key_part(at + 1, len - tenant - 1, SYSTEM, false);
}

/* Printable ASCII but for ',' and '='; blanks only inside (section 3.3.1.3.2). */
static bool is_value(const char *text, size_t len)
{
    if (len == 0 || len > 256 || text[len - 1] == ' ')
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7E || text[i] == ',' || text[i] == '=')
            return false;
    return true;
}

struct key {
    const char *text;
    size_t len;
};

/* One member, without the blanks around it. */
static bool is_member(const char *text, size_t len, struct key *keys, size_t *count)
{
    const char *equals = memchr(text, '=', len);
    if (equals == NULL || *count == TRACE_STATE_MEMBERS)
        return false;
    size_t key = (size_t)(equals - text);
    if (!is_key(text, key) || !is_value(equals + 1, len - key - 1))
        return false;
    for (size_t i = 0; i < *count; i++)
        if (keys[i].len == key && memcmp(keys[i].text, text, key) == 0)
            return false; /* a key stands once */
    keys[(*count)++] = (struct key){text, key};
    return true;
}

/* Empty members are allowed, and say nothing. */
bool trace_context_is_state(const char *state)
{
    struct key keys[TRACE_STATE_MEMBERS];
    size_t count = 0;
    if (strnlen(state, TRACE_STATE_BYTES + 1) > TRACE_STATE_BYTES)
        return false;
    for (const char *at = state; at != NULL;) {
        at += strspn(at, " \t");
        size_t whole = strcspn(at, ","), len = whole;
        while (len > 0 && strchr(" \t", at[len - 1]) != NULL)
            len--;
        if (len > 0 && !is_member(at, len, keys, &count))
            return false;
        at = at[whole] == ',' ? at + whole + 1 : NULL;
    }
    return count > 0;
}
