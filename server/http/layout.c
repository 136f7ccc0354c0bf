#include "server/http/layout.h"

#include <stdint.h>
#include <string.h>

/* The end of the parts that are known to be contiguous. */
struct walk {
    const char *at, *end;
};

static size_t left(const struct walk *walk)
{
    return (size_t)(walk->end - walk->at);
}

/* Goes over a part that must begin right here, and over the NULs that have replaced what ends it. A
 * part that was found elsewhere may point anywhere, so it is compared as a number. */
static bool pass(struct walk *walk, const char *part, size_t len, size_t nuls)
{
    if ((uintptr_t)part != (uintptr_t)walk->at || len > left(walk) || nuls > left(walk) - len)
        return false;
    walk->at += len;
    for (; nuls > 0; nuls--)
        if (*walk->at++ != '\0')
            return false;
    return true;
}

static bool pass_field(struct walk *walk, const struct framing_field *field)
{
    if (field->name_len == 0 || !pass(walk, field->name, field->name_len, 1))
        return false;
    while (left(walk) > 0 && (*walk->at == ' ' || *walk->at == '\t'))
        walk->at++;
    return pass(walk, field->value, field->value_len, 2);
}

enum err_code layout_check_head(const struct layout_head *head, const struct framing_field *fields,
                                size_t count, struct err *err)
{
    struct walk walk = {.at = head->method, .end = head->method + head->bytes};
    bool joined = pass(&walk, head->method, strlen(head->method), 1) &&
                  pass(&walk, head->target, head->target_len, 1) &&
                  pass(&walk, head->version, strlen(head->version), 2);
    for (size_t i = 0; i < count && joined; i++)
        joined = pass_field(&walk, &fields[i]);
    if (joined && pass(&walk, walk.at, 0, 2) && walk.at == walk.end)
        return ERR_OK;
    return err_set(
        err, ERR_MALFORMED,
        "request head: not METHOD TARGET VERSION and lines of NAME: VALUE, each ended by "
        "CR LF");
}

/* ---- chunked bodies ---- */

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    const char small = (char)(byte | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

static bool is_control(char byte)
{
    return ((unsigned char)byte < 0x20 && byte != '\t') || byte == 0x7F;
}

/* A digit, or what ends the digits. */
static bool read_size(struct chunks *chunks, char byte)
{
    const int value = hex_value(byte);
    if (value >= 0 && chunks->digits < 16) {
        chunks->left = chunks->left * 16 + (unsigned)value;
        chunks->digits++;
        return true;
    }
    chunks->at = byte == '\r' ? CHUNKS_SIZE_LF : CHUNKS_EXTENSION;
    return chunks->digits > 0 && (byte == '\r' || byte == ';');
}

/* Reads a byte in the rest of a line; `end` is the state behind its CR. */
static bool read_rest(struct chunks *chunks, char byte, enum chunks_at end)
{
    if (byte == '\r')
        chunks->at = end;
    return byte == '\r' || !is_control(byte);
}

static bool read_end(struct chunks *chunks, char byte, char wanted, enum chunks_at next)
{
    chunks->at = next;
    return byte == wanted;
}

static bool read_byte(struct chunks *chunks, char byte)
{
    switch (chunks->at) {
    case CHUNKS_SIZE:
        return read_size(chunks, byte);
    case CHUNKS_EXTENSION:
        return read_rest(chunks, byte, CHUNKS_SIZE_LF);
    case CHUNKS_SIZE_LF:
        return read_end(chunks, byte, '\n', chunks->left > 0 ? CHUNKS_BYTES : CHUNKS_TRAILER);
    case CHUNKS_BYTES:
        chunks->at = --chunks->left > 0 ? CHUNKS_BYTES : CHUNKS_BYTES_CR;
        return true;
    case CHUNKS_BYTES_CR:
        return read_end(chunks, byte, '\r', CHUNKS_BYTES_LF);
    case CHUNKS_BYTES_LF:
        chunks->digits = 0;
        return read_end(chunks, byte, '\n', CHUNKS_SIZE);
    case CHUNKS_TRAILER: /* no name begins with a blank or a colon: a fold, or no name at all */
        chunks->at = byte == '\r' ? CHUNKS_END_LF : CHUNKS_TRAILER_REST;
        return byte == '\r' || (!is_control(byte) && byte != ' ' && byte != '\t' && byte != ':');
    case CHUNKS_TRAILER_REST:
        return read_rest(chunks, byte, CHUNKS_TRAILER_LF);
    case CHUNKS_TRAILER_LF:
        return read_end(chunks, byte, '\n', CHUNKS_TRAILER);
    case CHUNKS_END_LF:
        chunks->is_whole = true;
        return byte == '\n';
    }
    return false;
}

void chunks_read(struct chunks *chunks, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && !chunks->has_failed && !chunks->is_whole; i++) {
        if (chunks->at == CHUNKS_BYTES && chunks->left > 1 &&
            len - i > 1) { /* most bytes, at once */
            const uint64_t skipped = chunks->left - 1 < len - i ? chunks->left - 1 : len - i;
            chunks->left -= skipped;
            i += (size_t)skipped - 1;
            continue;
        }
        chunks->has_failed = !read_byte(chunks, bytes[i]);
    }
    chunks->is_whole = chunks->is_whole && !chunks->has_failed;
}
