/* Strings of tokens become the texts that Hugging Face tokenizers 0.22.1 makes of them. */
#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/decoder.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define WORDPIECE "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":true}"
#define MARKS                                                                                      \
    "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"always\"}"

enum { TOKENS_MAX = 8 };

static struct decoder decoder_of(const char *text)
{
    struct decoder decoder;
    struct json_t *json = NULL;
    struct err err = {0};
    if (text != NULL)
        ck_assert(!doc_parse(&json, text, strlen(text), &doc_limits_request, &err));
    ck_assert_msg(!decoder_read(&decoder, json, &err), "%s", err.text);
    doc_free(json);
    return decoder;
}

static char *decode(const struct decoder *decoder, const char *const *tokens, size_t *len)
{
    struct decoding decoding;
    size_t bytes = 0, count = 0;
    for (; tokens[count] != NULL; count++)
        bytes += strlen(tokens[count]);
    char *room = malloc(decoder_room(bytes, count));
    decoding_begin(&decoding, decoder, room, decoder_room(bytes, count));
    for (size_t i = 0; i < count; i++)
        decoding_add(&decoding, tokens[i], strlen(tokens[i]));
    ck_assert_ptr_eq(decoding_end(&decoding, len), room);
    return room;
}

START_TEST(decoder_agrees_with_the_reference)
{
    static const struct {
        const char *decoder, *tokens[TOKENS_MAX], *text;
    } cases[] = {
        {WORDPIECE, {"the", "die", "##s", "fail", "##ed", "."}, "the dies failed."},
        {WORDPIECE, {"##ing", "##ing"}, "##inging"},
        {WORDPIECE, {"it", "'s", "do not", "##x", "a . b"}, "it's don'tx a. b"},
        {"{\"type\":\"WordPiece\",\"cleanup\":false}", {"it", "'s", "."}, "it 's ."},
        {BYTES, {"Hello", "Ġthe", "Ã©", "Ċ"}, "Hello the\xC3\xA9\n"},
        {BYTES, {"â", "Ķ"}, "\xEF\xBF\xBD"},
        {BYTES, {"â", "x"}, "\xEF\xBF\xBDx"},
        {BYTES, {"ð", "Ł", "ĺ"}, "\xEF\xBF\xBD"},
        {BYTES, {"Ģ", "Ģ"}, "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {BYTES, {"a b", "Ġc", "é"}, "a b c\xEF\xBF\xBD"},
        {BYTES, {"ì", "ł", "Ģ", "í", "ł", "Ģ"}, "\xEC\xA0\x80\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {BYTES, {"ô", "Ĳ"}, "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {BYTES, {NULL}, ""},
        {MARKS, {"▁the", "▁die", "s"}, "the dies"},
        {MARKS, {"a▁b", "▁", "c"}, "ab c"},
        {MARKS, {"▁▁", "▁x"}, " x"},
        {"{\"type\":\"Metaspace\",\"prepend_scheme\":\"never\"}", {"▁the", "▁die"}, " the die"},
        {"{\"type\":\"Metaspace\",\"add_prefix_space\":false}", {"▁the"}, " the"},
        {NULL, {"a", "##b", "."}, "a ##b ."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct decoder decoder = decoder_of(cases[i].decoder);
        size_t len;
        char *text = decode(&decoder, cases[i].tokens, &len);
        ck_assert_str_eq(text, cases[i].text);
        ck_assert_uint_eq(len, strlen(text));
        free(text);
    }
}
END_TEST

START_TEST(decoder_keeps_a_nul_among_bytes)
{
    const struct decoder decoder = decoder_of(BYTES);
    size_t len;
    char *text = decode(&decoder, (const char *const[]){"a", "Ā", "b", NULL}, &len);
    ck_assert_uint_eq(len, 3);
    ck_assert_mem_eq(text, "a\0b", 3);
    free(text);
}
END_TEST

START_TEST(decoder_makes_utf8_of_any_bytes_within_its_room)
{
    const struct decoder decoder = decoder_of(BYTES);
    unsigned state = 1;
    for (int round = 0; round < 20000; round++) {
        char tokens[TOKENS_MAX][UTF8_BYTES_MAX + 1];
        const char *list[TOKENS_MAX + 1] = {NULL};
        for (int i = 0; i < 1 + round % TOKENS_MAX; i++) {
            uint32_t character;
            do
                character = (state = state * 1664525u + 1013904223u) >> 8 & 0x1FF;
            while (decoder_byte(character) < 0x80);
            tokens[i][utf8_encode(character, tokens[i])] = '\0';
            list[i] = tokens[i];
        }
        size_t len;
        char *text = decode(&decoder, list, &len);
        ck_assert(utf8_is_valid(text, len));
        free(text);
    }
}
END_TEST

START_TEST(decoder_of_another_type_is_refused_when_it_is_used)
{
    const struct decoder decoder = decoder_of("{\"type\":\"CTC\"}");
    struct err err = {0};
    ck_assert_int_eq(decoder_check(&decoder, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "$.decoder.type 'CTC' is not supported") != NULL, "%s",
                  err.text);
}
END_TEST

START_TEST(decoder_tidies_a_text_as_transformers_does)
{
    char text[] = "it 's a die , do n't . ' x ' we 're do not";
    const size_t len = decoding_tidy(text, strlen(text));
    ck_assert_str_eq(text, "it's a die, don't.'x'we're do not");
    ck_assert_uint_eq(len, strlen(text));
}
END_TEST

SUITE("decoder", decoder_agrees_with_the_reference, decoder_keeps_a_nul_among_bytes,
      decoder_makes_utf8_of_any_bytes_within_its_room,
      decoder_of_another_type_is_refused_when_it_is_used,
      decoder_tidies_a_text_as_transformers_does)
