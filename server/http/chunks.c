#include "server/http/chunks.h"

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
