/* Base64, strict and as people send it: against a second reader of RFC 4648, and back and forth. */
#include "engine/base/base64.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* 0 to 63, or -1. */
static int value_of(char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
    return at != NULL ? (int)(at - alphabet) : -1;
}

static size_t prefix_of(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && value_of(text[at]) >= 0)
        at++;
    return at;
}

/* Bit by bit: whether text[len] is what an encoder writes, and which bytes. */
static bool decode_slowly(const char *text, size_t len, char *out, size_t *out_len)
{
    size_t characters = prefix_of(text, len), padding = len - characters;
    unsigned bits = 0, count = 0;
    *out_len = 0;
    if (len % 4 != 0 || padding > 2)
        return false;
    for (size_t i = characters; i < len; i++)
        if (text[i] != '=')
            return false;
    for (size_t i = 0; i < characters; i++) {
        bits = bits << 6 | (unsigned)value_of(text[i]);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[(*out_len)++] = (char)(bits >> count);
            bits &= (1u << count) - 1;
        }
    }
    return bits == 0;
}

static void check_decoding(const char *text, size_t len)
{
    size_t got = 0, expected = 0, size = base64_decoded_size(len);
    char *bytes = malloc(size), *slow = malloc(len + 1);
    struct err err = {0};
    FUZZ_CLAIM(bytes != NULL && slow != NULL);
    bool valid = base64_decode(bytes, &got, text, len, 7, &err) == ERR_OK;
    fuzz_check_err(&err);
    FUZZ_CLAIM(valid == decode_slowly(text, len, slow, &expected));
    FUZZ_CLAIM(!valid || (got == expected && got < size && memcmp(bytes, slow, got) == 0));
    FUZZ_CLAIM(base64_prefix(text, len) == prefix_of(text, len));
    free(bytes);
    free(slow);
}

static void check_round_trip(const char *bytes, size_t len)
{
    size_t size = base64_encoded_size(len), got = 0;
    char *text = malloc(size), *back = malloc(base64_decoded_size(size - 1));
    struct err err = {0};
    FUZZ_CLAIM(text != NULL && back != NULL);
    base64_encode(text, bytes, len);
    FUZZ_CLAIM(strlen(text) == size - 1);
    FUZZ_CLAIM(base64_decode(back, &got, text, size - 1, 0, &err) == ERR_OK);
    FUZZ_CLAIM(got == len && memcmp(back, bytes, len) == 0);
    free(text);
    free(back);
}

/* Removes line ends, changes a text of the other alphabet to the standard one, and pads it: the
 * strict reader must then read the same bytes. */
static void check_sent(const char *text, size_t len)
{
    size_t got = 0, expected = 0, count = 0, dashes = 0, plain = 0, size = base64_sent_size(len);
    char *bytes = malloc(size), *strict = malloc(len + 4), *slow = malloc(len + 4);
    struct err err = {0};
    FUZZ_CLAIM(bytes != NULL && strict != NULL && slow != NULL);
    bool valid = base64_decode_sent(bytes, &got, text, len, 7, NULL, &err) == ERR_OK;
    fuzz_check_err(&err);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        dashes += c == '-' || c == '_';
        plain += c == '+' || c == '/';
        if (c != '\r' && c != '\n')
            strict[count++] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    bool is_open = dashes > 0 && count > 0 && strict[count - 1] != '=';
    while (is_open && count % 4 != 0)
        strict[count++] = '=';
    bool expects = (dashes == 0 || plain == 0) && decode_slowly(strict, count, slow, &expected);
    FUZZ_CLAIM(valid == expects);
    FUZZ_CLAIM(!valid || (got == expected && got < size && memcmp(bytes, slow, got) == 0));
    free(bytes);
    free(strict);
    free(slow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    check_decoding(text, size);
    check_sent(text, size);
    check_round_trip(text, size);
    free(text);
    return 0;
}
