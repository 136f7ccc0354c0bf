#include "engine/base/base64.h"

#include <b64/cdecode.h>
#include <b64/cencode.h>

#include <stdbool.h>

enum {
    SCAN_BLOCK = 64,
    DECODE_PIECE = 1 << 20, /* libb64's lengths are int; a multiple of 4; some 10 ms */
    ENCODE_PIECE = 51,      /* libb64 breaks the line after 54 bytes; a multiple of 3 */
};

/* Without branches, so that the compiler vectorises the loop around it. */
static bool in_alphabet(char character)
{
    unsigned char c = (unsigned char)character;
    unsigned char letter = (unsigned char)((c | 0x20) - 'a');
    unsigned char digit = (unsigned char)(c - '0');
    return (letter < 26) | (digit < 10) | (c == '+') | (c == '/');
}

static bool block_in_alphabet(const char *text)
{
    unsigned char outside = 0;
    for (int i = 0; i < SCAN_BLOCK; i++)
        outside |= (unsigned char)!in_alphabet(text[i]);
    return outside == 0;
}

size_t base64_prefix(const char *text, size_t len)
{
    size_t at = 0;
    while (len - at >= SCAN_BLOCK && block_in_alphabet(text + at))
        at += SCAN_BLOCK;
    while (at < len && in_alphabet(text[at]))
        at++;
    return at;
}

size_t base64_decoded_size(size_t len)
{
    return len / 4 * 3 + 1;
}

/* *data_len: the characters before the padding. */
static enum err_code check(const char *text, size_t len, size_t origin, size_t *data_len,
                           struct err *err)
{
    size_t data = base64_prefix(text, len);
    size_t padding = len - data;
    *data_len = data;
    if (padding > 0 && text[data] != '=')
        return err_set(err, ERR_UNUSABLE, "invalid character at offset %zu", origin + data);
    if (padding > 2 || (padding == 2 && text[data + 1] != '='))
        return err_set(err, ERR_UNUSABLE, "'=' at offset %zu is not in the last two places",
                       origin + data);
    if (len % 4 != 0)
        return err_set(err, ERR_UNUSABLE, "%zu characters are not a multiple of 4", len);
    if (padding == 0)
        return ERR_OK;
    int unused = padding == 1 ? 0x03 : 0x0F;
    if ((base64_decode_value(text[data - 1]) & unused) != 0)
        return err_set(err, ERR_UNUSABLE, "unused bits are not zero at offset %zu",
                       origin + data - 1);
    return ERR_OK;
}

/* Padding is not passed on: at the end of its input libb64 writes the whole bytes of an open group.
 */
enum err_code base64_decode_while(char *out, size_t *out_len, const char *text, size_t len,
                                  size_t origin, struct interrupt *interrupt, struct err *err)
{
    size_t data;
    if (check(text, len, origin, &data, err))
        return err->code;
    for (size_t at = 0; at < data; at += DECODE_PIECE) {
        size_t piece = data - at < DECODE_PIECE ? data - at : DECODE_PIECE;
        base64_decodestate state;
        if (interrupt_look(interrupt, err))
            return err->code;
        base64_init_decodestate(&state);
        base64_decode_block(text + at, (int)piece, out + at / 4 * 3, &state);
    }
    *out_len = data / 4 * 3 + data % 4 * 3 / 4;
    return ERR_OK;
}

enum err_code base64_decode(char *out, size_t *out_len, const char *text, size_t len, size_t origin,
                            struct err *err)
{
    return base64_decode_while(out, out_len, text, len, origin, NULL, err);
}

size_t base64_encoded_size(size_t len)
{
    return len / 3 * 4 + (len % 3 != 0 ? 4 : 0) + 1;
}

/* A state of its own for each piece keeps libb64's line counter below the line's end; the newline
 * that base64_encode_blockend appends takes the place of the NUL. */
void base64_encode(char *out, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += ENCODE_PIECE) {
        size_t piece = len - at < ENCODE_PIECE ? len - at : ENCODE_PIECE;
        base64_encodestate state;
        base64_init_encodestate(&state);
        out += base64_encode_block(bytes + at, (int)piece, out, &state);
        if (len - at <= ENCODE_PIECE)
            out += base64_encode_blockend(out, &state) - 1;
    }
    *out = '\0';
}
