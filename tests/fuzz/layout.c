/* The parts of a head must be all of it. This file splits the bytes in place and as tolerantly as
 * libmicrohttpd 0.9.75 does. layout_check_head must accept the parts exactly when a strict reader
 * accepts the original bytes. If the first byte is odd, the rest is a chunked body instead: the
 * lengths of its pieces, a byte each up to a byte 0, then its bytes. */
#include "server/http/layout.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 16, VERSION_BYTES = 8 };

struct taken {
    struct layout_head head;
    struct framing_field fields[FIELDS_MAX];
    size_t count;
};

/* ---- the library ---- */

/* Ends the line at *at, which a LF does, with one NUL or two, and moves behind it. NULL: the line
 * is not whole. */
static char *take_line(char *bytes, size_t len, size_t *at)
{
    char *line = bytes + *at, *end = memchr(line, '\n', len - *at);
    if (end == NULL)
        return NULL;
    *end = '\0';
    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    *at = (size_t)(end - bytes) + 1;
    return line;
}

/* The version is behind the last space. */
static bool take_request_line(struct layout_head *head, char *line, size_t len)
{
    char *target = memchr(line, ' ', len), *version = memrchr(line, ' ', len);
    if (target == NULL || version == target || strlen(version + 1) != VERSION_BYTES)
        return false;
    *target++ = '\0';
    while (*target == ' ')
        target++;
    if (target > version)
        return false;
    *version = '\0';
    *head = (struct layout_head){.method = line,
                                 .target = target,
                                 .target_len = (size_t)(version - target),
                                 .version = version + 1};
    return true;
}

static bool take_field(struct framing_field *field, char *line)
{
    char *value = strchr(line, ':');
    if (value == NULL)
        return false;
    *value++ = '\0';
    value += strspn(value, " \t");
    *field = (struct framing_field){line, strlen(line), value, strlen(value)};
    return true;
}

/* Folded lines, which the library copies elsewhere, are left to the server's own tests. */
static bool take_head(struct taken *taken, char *bytes, size_t len)
{
    size_t at = 0;
    char *line = take_line(bytes, len, &at);
    if (line == NULL || !take_request_line(&taken->head, line, strlen(line)))
        return false;
    for (taken->count = 0;; taken->count++) {
        line = take_line(bytes, len, &at);
        if (line == NULL || taken->count == FIELDS_MAX || *line == ' ' || *line == '\t')
            return false;
        if (*line == '\0')
            break;
        if (!take_field(&taken->fields[taken->count], line))
            return false;
    }
    taken->head.bytes = at;
    return true;
}

/* ---- a strict reader ---- */

/* The bytes before the CRLF that ends the line at `at`; a bare LF or a NUL is an error. */
static bool strict_line(const char *bytes, size_t len, size_t at, size_t *count)
{
    const char *end = memchr(bytes + at, '\n', len - at);
    *count = end != NULL ? (size_t)(end - bytes) - at : 0;
    if (*count == 0 || end[-1] != '\r' || memchr(bytes + at, '\0', *count) != NULL)
        return false;
    --*count;
    return true;
}

/* The head's bytes, or 0. framing_check judges the contents of parts, such as a bare CR. */
static size_t strict_head(const char *bytes, size_t len)
{
    size_t count, at = 0;
    if (!strict_line(bytes, len, 0, &count))
        return 0;
    const char *target = memchr(bytes, ' ', count), *version = memrchr(bytes, ' ', count);
    if (target == NULL || version - target < 2 || target[1] == ' ')
        return 0;
    for (at = count + 2; strict_line(bytes, len, at, &count) && count > 0; at += count + 2)
        if (bytes[at] == ':' || memchr(bytes + at, ':', count) == NULL)
            return 0;
    return count == 0 && len - at >= 2 && bytes[at] == '\r' && bytes[at + 1] == '\n' ? at + 2 : 0;
}

/* The one thing that layout.h says it cannot see: NULs right before the end of a line. */
static bool hides_nul(const char *bytes, size_t len)
{
    for (size_t at = 0; at + 1 < len; at++)
        if (bytes[at] == '\0' && (bytes[at + 1] == '\n' || bytes[at + 1] == '\r'))
            return true;
    return false;
}

static void check_head(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_copy(data, size), *sent = fuzz_copy(data, size);
    struct taken taken;
    struct err err = {0};
    if (take_head(&taken, bytes, size)) {
        bool joined = layout_check_head(&taken.head, taken.fields, taken.count, &err) == ERR_OK;
        bool strict = strict_head(sent, size) == taken.head.bytes;
        FUZZ_CLAIM(joined || !strict);
        FUZZ_CLAIM(strict || !joined || hides_nul(sent, taken.head.bytes));
    }
    fuzz_check_err(&err);
    free(sent);
    free(bytes);
}

/* ---- chunks ---- */

/* The chunks come cut at the input's places, and byte by byte. */
static void check_chunks(struct fuzz_input *input)
{
    size_t steps_len, at = 0;
    char *steps = fuzz_part(input, 0, &steps_len), *body = fuzz_copy(input->at, input->left);
    struct chunks cut = {0}, single = {0};
    for (size_t i = 0; i < steps_len; i++) {
        size_t len = (unsigned char)steps[i];
        if (len > input->left - at)
            break;
        chunks_read(&cut, body + at, len);
        at += len;
    }
    chunks_read(&cut, body + at, input->left - at);
    for (size_t i = 0; i < input->left; i++)
        chunks_read(&single, body + i, 1);
    FUZZ_CLAIM(cut.has_failed == single.has_failed && cut.is_whole == single.is_whole);
    FUZZ_CLAIM(cut.has_failed || (cut.at == single.at && cut.left == single.left));
    FUZZ_CLAIM(!cut.has_failed || !cut.is_whole);
    free(body);
    free(steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    if ((fuzz_byte(&input) & 1) != 0)
        check_chunks(&input);
    else
        check_head(input.at, input.left);
    return 0;
}
