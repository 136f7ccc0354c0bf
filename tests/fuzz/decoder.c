/* Strings of tokens -> a text, by the member "decoder" of tokenizer.json: a line of JSON, then a
 * token a line. A block of exactly the promised room holds each text, which is UTF-8 and the same
 * again. */
#include "engine/text/decoder.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 64 };

/* Tokens as a vocabulary has them: UTF-8, none empty. */
struct tokens {
    char *strings[TOKENS_MAX];
    size_t lens[TOKENS_MAX], bytes;
    unsigned count;
};

static void cut(struct tokens *out, struct fuzz_input *input)
{
    *out = (struct tokens){.count = 0};
    while (input->left > 0 && out->count < TOKENS_MAX) {
        size_t len;
        char *string = fuzz_part(input, '\n', &len);
        if (len == 0 || !utf8_is_valid(string, len)) {
            free(string);
            continue;
        }
        out->strings[out->count] = string;
        out->lens[out->count++] = len;
        out->bytes += len;
    }
}

static char *decode(const struct decoder *decoder, const struct tokens *tokens, size_t *len)
{
    const size_t room = decoder_room(tokens->bytes, tokens->count);
    char *text = malloc(room);
    struct decoding decoding;
    FUZZ_CLAIM(text != NULL);
    decoding_begin(&decoding, decoder, text, room);
    for (unsigned i = 0; i < tokens->count; i++)
        decoding_add(&decoding, tokens->strings[i], tokens->lens[i]);
    FUZZ_CLAIM(decoding_end(&decoding, len) == text);
    FUZZ_CLAIM(*len < room && text[*len] == '\0' && utf8_is_valid(text, *len));
    return text;
}

/* Bytes of tokens that all stand for bytes are those of the tokens joined. */
static void check_joined(const struct decoder *decoder, const struct tokens *tokens,
                         const char *text, size_t len)
{
    char *all = malloc(tokens->bytes + 1);
    struct tokens one = {.count = 1, .bytes = tokens->bytes};
    size_t used = 0, len_of_one;
    FUZZ_CLAIM(all != NULL);
    for (unsigned i = 0; i < tokens->count; used += tokens->lens[i++])
        memcpy(all + used, tokens->strings[i], tokens->lens[i]);
    bool has_all = true;
    for (size_t at = 0; at < used;)
        has_all = decoder_byte(utf8_decode(all, &at)) >= 0 && has_all;
    one.strings[0] = all;
    one.lens[0] = used;
    char *joined = decode(decoder, &one, &len_of_one);
    FUZZ_CLAIM(!has_all || (len_of_one == len && memcmp(joined, text, len) == 0));
    free(joined);
    free(all);
}

static void check(const struct decoder *decoder, const struct tokens *tokens)
{
    size_t len, again_len;
    char *text = decode(decoder, tokens, &len);
    char *again = decode(decoder, tokens, &again_len);
    FUZZ_CLAIM(len == again_len && memcmp(text, again, len) == 0);
    if (decoder->kind == DECODER_BYTE_LEVEL)
        check_joined(decoder, tokens, text, len);
    const size_t tidy_len = decoding_tidy(again, again_len);
    FUZZ_CLAIM(tidy_len <= len && utf8_is_valid(again, tidy_len));
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct json_t *json = NULL;
    struct decoder decoder;
    struct tokens tokens;
    struct err err = {0};
    size_t len;
    char *text = fuzz_part(&input, '\n', &len);
    if (!doc_parse(&json, text, len, &doc_limits_request, &err) &&
        !decoder_read(&decoder, json, &err) && !decoder_check(&decoder, &err)) {
        cut(&tokens, &input);
        check(&decoder, &tokens);
        for (unsigned i = 0; i < tokens.count; i++)
            free(tokens.strings[i]);
    }
    fuzz_check_err(&err);
    doc_free(json);
    free(text);
    return 0;
}
