#include "engine/base/base64.h"

#include <b64/cdecode.h>
#include <b64/cencode.h>

#include <stdbool.h>
#include <string.h>

enum {
    SCAN_BLOCK = 64,
    DECODE_PIECE = 1 << 20, /* libb64's lengths are int; a multiple of 4; some 10 ms */
    ENCODE_PIECE = 51,      /* libb64 breaks the line after 54 bytes; a multiple of 3 */
};

/* Has no branches, so that the compiler vectorises the loop around it. */
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

/* Checks the text. *data_len: the characters before the padding. */
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

/* Padding is not passed to libb64: at the end of its input it writes the whole bytes of an open
 * group. */
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

/* ---- base64 with common deviations ---- */

/* The state of base64_decode_sent: counts, and the alphabets that the text has used so far. */
struct sent {
    size_t data, padding; /* characters */
    bool is_url_safe, is_standard;
    unsigned bits; /* bits that are not yet written */
    size_t last_at;
};

static enum err_code take_sent(struct sent *sent, char c, size_t at, char **out, struct err *err)
{
    sent->is_url_safe = sent->is_url_safe || c == '-' || c == '_';
    sent->is_standard = sent->is_standard || c == '+' || c == '/';
    if (c == '=') {
        sent->padding++;
        return ERR_OK;
    }
    if (sent->padding > 0)
        return err_set(err, ERR_UNUSABLE, "a character behind '=' at offset %zu", at);
    if (!in_alphabet(c) && c != '-' && c != '_')
        return err_set(err, ERR_UNUSABLE, "invalid character at offset %zu", at);
    if (sent->is_url_safe && sent->is_standard)
        return err_set(err, ERR_UNUSABLE,
                       "characters of both alphabets, the standard and the URL-safe one, at offset "
                       "%zu",
                       at);
    /* The two characters of the URL-safe alphabet have the values of + and /. */
    const char standard = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    sent->bits = sent->bits << 6 | (unsigned)base64_decode_value(standard);
    sent->last_at = at;
    if (++sent->data % 4 == 0) {
        *(*out)++ = (char)(sent->bits >> 16);
        *(*out)++ = (char)(sent->bits >> 8);
        *(*out)++ = (char)sent->bits;
        sent->bits = 0;
    }
    return ERR_OK;
}

size_t base64_sent_size(size_t len)
{
    return len / 4 * 3 + 3;
}

enum err_code base64_decode_sent(char *out, size_t *out_len, const char *text, size_t len,
                                 size_t origin, struct interrupt *interrupt, struct err *err)
{
    struct sent sent = {0};
    char *end = out;
    size_t plain = base64_prefix(text, len);
    if (plain == len || memchr("-_\r\n", text[plain], 4) == NULL) {
        size_t tail = plain;
        while (tail < len && text[tail] == '=')
            tail++;
        if (tail == len || memchr("\r\n", text[tail], 2) == NULL)
            return base64_decode_while(out, out_len, text, len, origin, interrupt, err);
    }
    for (size_t at = 0; at < len; at++) {
        if (at % DECODE_PIECE == 0 && interrupt_look(interrupt, err))
            return err->code;
        if (text[at] != '\r' && text[at] != '\n' &&
            take_sent(&sent, text[at], origin + at, &end, err))
            return err->code;
    }
    /* The last group needs no padding in the URL-safe alphabet (RFC 4648, section 5). */
    size_t rest = sent.data % 4;
    bool is_open = sent.is_url_safe && sent.padding == 0;
    if (rest == 1 || sent.padding > 2 || (!is_open && (sent.data + sent.padding) % 4 != 0))
        return err_set(err, ERR_UNUSABLE, "%zu characters are not a multiple of 4",
                       sent.data + sent.padding);
    unsigned unused = rest == 3 ? 2 : rest == 2 ? 4 : 0;
    if ((sent.bits & ((1u << unused) - 1)) != 0)
        return err_set(err, ERR_UNUSABLE, "unused bits are not zero at offset %zu", sent.last_at);
    for (unsigned left = rest == 3 ? 2 : rest == 2 ? 1 : 0, bits = sent.bits >> unused; left > 0;)
        *end++ = (char)(bits >> 8 * --left);
    *out_len = (size_t)(end - out);
    return ERR_OK;
}

size_t base64_encoded_size(size_t len)
{
    return len / 3 * 4 + (len % 3 != 0 ? 4 : 0) + 1;
}

/* A new state for each piece keeps libb64's line counter below the line's end. The newline that
 * base64_encode_blockend appends is replaced by the NUL. */
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
