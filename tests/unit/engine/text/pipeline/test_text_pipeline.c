/* Accepted and refused fields of tokenizer.json, long texts, limits, pairs, memory. */
#include "tests/support/look_counter.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

#define VOCAB "\"vocab\": {\"?\": 0, \"a\": 1, \"b\": 2, \"ab\": 3, \" \": 4, \"<s>\": 5}"
#define MODEL                                                                                      \
    "\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", " VOCAB ", \"merges\": [[\"a\", "        \
    "\"b\"]]}"
#define SPLIT "\"pre_tokenizer\": {\"type\": \"Whitespace\"}"
#define PLAIN "{" SPLIT ", " MODEL "}"

static void check_refusal(const char *tokenizer, const char *config, const char *text)
{
    struct err err = {0};
    struct tokenizer *t;
    ck_assert_msg(fixture_try(&t, NULL, tokenizer, config, 512, &err) != ERR_OK, "%s", tokenizer);
    ck_assert_str_eq(err.text, text);
}

START_TEST(tokenizer_refuses_unsupported_steps_by_their_place)
{
    static const struct {
        const char *tokenizer, *text;
    } cases[] = {
        {"{\"normalizer\": {\"type\": \"Bytes\"}, " MODEL "}",
         "$.normalizer.type 'Bytes' is not supported"},
        {"{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, "
         "{}]}, " MODEL "}",
         "$.normalizer.normalizers[1].type is missing"},
        {"{\"normalizer\": {\"type\": \"NFC\", \"fast\": true}, " MODEL "}",
         "$.normalizer.fast is not supported"},
        {"{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"[0-9]+\"}, "
         "\"content\": \"0\"}, " MODEL "}",
         "$.normalizer.pattern: the regular expression '[0-9]+' is not supported, only those of "
         "GPT-2 and "
         "CLIP, '\\s+', ' {2,}' and '\\s{2,}|[\\n\\r\\t]'"},
        {"{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \"\"}, \"content\": "
         "\"0\"}, " MODEL "}",
         "$.normalizer.pattern: expected {\"String\": text} or {\"Regex\": text}"},
        {"{\"pre_tokenizer\": {\"type\": \"UnicodeScripts\"}, " MODEL "}",
         "$.pre_tokenizer.type 'UnicodeScripts' is not supported"},
        {"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"String\": \"a\"}, "
         "\"behavior\": \"Gone\"}, " MODEL "}",
         "$.pre_tokenizer.behavior 'Gone' is not supported"},
        {"{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\"}, " MODEL "}",
         "$.pre_tokenizer.replacement: only U+2581 is supported"},
        {"{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"prepend_scheme\": \"last\"}, " MODEL "}",
         "$.pre_tokenizer.prepend_scheme 'last' is not supported"},
        {"{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
         "\"ByteLevel\"}, "
         "{\"type\": \"Whitespace\"}]}, " MODEL "}",
         "$.pre_tokenizer.pretokenizers[1]: a step behind ByteLevel is not supported"},
        {"{\"model\": {\"type\": \"WordLevel\"}}", "$.model.type 'WordLevel' is not supported"},
        {"{\"model\": {\"type\": \"BPE\", \"dropout\": 0.1, " VOCAB "}}",
         "$.model.dropout: only 0 is supported"},
        {"{\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, " VOCAB "}}",
         "$.model.byte_fallback is not supported"},
        {"{\"model\": {\"type\": \"BPE\", " VOCAB "}}",
         "$.model: without an unk_token every byte needs a piece of its own"},
        {"{\"model\": {\"type\": \"BPE\", \"unk_token\": \"<u>\", " VOCAB "}}",
         "$.model.unk_token '<u>' is not in the vocabulary"},
        {"{\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", " VOCAB
         ", \"merges\": [\"a b\", \"b a\"]}}",
         "$.model.merges[1]: a part or the whole is not in the vocabulary"},
        {"{\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", " VOCAB ", \"merges\": [\"ab\"]}}",
         "$.model.merges[0]: expected \"a b\" or [\"a\", \"b\"]"},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1e9}}}",
         "$.model.vocab: entry 0 is not an integer from 0 to 16777215"},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": []}}",
         "$.model.vocab: expected an object with pieces, found an array"},
        {"{\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": []}, " MODEL "}",
         "$.post_processor.single: expected the sequence A once"},
        {"{\"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"<s>\", 5]}, " MODEL
         "}",
         "$.post_processor.sep: expected an id from 0 to 16777215"},
        {"{\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"<s>\", -5], \"sep\": "
         "[\"\", 1]}, " MODEL "}",
         "$.post_processor.cls: expected an id from 0 to 16777215"},
        {"{\"added_tokens\": [{\"id\": 7, \"content\": \"<x>\"}], " MODEL "}",
         "added token '<x>' has the id 7 instead of 6"},
        {"{\"added_tokens\": [{\"id\": 6}], " MODEL "}", "added token 6 has no content"},
        {"{\"encoder\": {}, " MODEL "}", "$.encoder is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "tokenizer.json: %s", cases[i].text);
        check_refusal(cases[i].tokenizer, NULL, text);
    }
    check_refusal(PLAIN, "{\"model_max_length\": 2}",
                  "tokenizer_config.json: $.model_max_length: must be at least 3");
    check_refusal(
        PLAIN, "{\"added_tokens_decoder\": {\"x\": {}}}",
        "tokenizer_config.json: $.added_tokens_decoder: a name is not an id from 0 to 16777215");
    check_refusal(PLAIN, "{\"pad_token\": 3}",
                  "tokenizer_config.json: $.pad_token: expected a string of at most 1024 bytes");
}
END_TEST

/* Sequences in sequences, five deep. */
START_TEST(deep_nesting_is_refused)
{
    char json[2048];
    int used = snprintf(json, sizeof json, "{\"normalizer\": ");
    for (int i = 0; i < 5; i++)
        used += snprintf(json + used, sizeof json - (size_t)used,
                         "{\"type\": \"Sequence\", \"normalizers\": [");
    used += snprintf(json + used, sizeof json - (size_t)used, "{\"type\": \"NFC\"}");
    for (int i = 0; i < 5; i++)
        used += snprintf(json + used, sizeof json - (size_t)used, "]}");
    snprintf(json + used, sizeof json - (size_t)used, ", %s}", MODEL);
    check_refusal(json, NULL,
                  "tokenizer.json: $.normalizer.normalizers[0].normalizers[0].normalizers[0]."
                  "normalizers[0]: sequences nested more than 4 deep");
}
END_TEST

START_TEST(special_tokens_come_from_the_template_and_the_configuration)
{
    struct tokenizer *t = fixture_open(
        NULL,
        "{\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"a\", 1], \"sep\": [\"b\", "
        "9]}, " MODEL "}",
        "{\"pad_token\": \"<s>\", \"mask_token\": {\"content\": \"<m>\", \"lstrip\": true}}");
    ck_assert(t->specials.cls == 1 && t->specials.sep == 9 && t->specials.unk == 0);
    ck_assert(t->specials.pad == 5 && t->specials.mask == 6);
    ck_assert_uint_eq(t->vocab_size, 10);
    fixture_check(t, "a <m><s>", "1[0,0) 1[0,1) 6[1,5) 5[5,8) 9[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(truncation_and_padding_of_the_file_do_not_count)
{
    struct tokenizer *t = fixture_open(
        NULL, "{\"truncation\": {\"max_length\": 1}, \"padding\": {}, " SPLIT ", " MODEL "}", NULL);
    fixture_check(t, "ab a", "3[0,2) 1[3,4)");
    fixture_check(t, "", "");
    tokenizer_close(t);
}
END_TEST

/* ---- long texts ---- */

/* Words of a and b, some kilobytes, without a space or with. */
static char *long_text(size_t len, unsigned long long seed, bool has_spaces)
{
    static const char letters[] = "ab c";
    char *text = malloc(len);
    for (size_t i = 0; i < len; i++)
        text[i] = letters[fixture_random(&seed, has_spaces ? 4 : 2)];
    return text;
}

/* Tokens of a text do not depend on where its chunks end: each split by itself gives the same. */
START_TEST(a_text_of_many_chunks_gives_what_its_words_give)
{
    enum { LEN = 40000 };
    struct tokenizer *t = fixture_open(NULL, PLAIN, "{\"model_max_length\": 1000000}");
    struct err err = {0};
    struct arena arena;
    struct encoding whole;
    tokenizer_close(t);
    ck_assert(!fixture_try(&t, NULL, PLAIN, NULL, 1000 * 1000, &err));
    char *text = long_text(LEN, 3, true);
    arena_init(&arena);
    ck_assert(!tokenizer_encode(t, 0, text, LEN, NULL, &arena, &whole, &err));
    unsigned at = 0;
    for (size_t start = 0, end; start < LEN; start = end + 1) {
        struct encoding word;
        for (end = start; end < LEN && text[end] != ' ';)
            end++;
        ck_assert(!tokenizer_encode(t, 0, text + start, end - start, NULL, &arena, &word, &err));
        for (unsigned i = 0; i < word.count; i++, at++) {
            ck_assert_int_eq(whole.ids[at], word.ids[i]);
            ck_assert_uint_eq(whole.starts[at], word.starts[i] + start);
            ck_assert_uint_eq(whole.ends[at], word.ends[i] + start);
            ck_assert_int_eq(whole.continued[at], word.continued[i]);
        }
    }
    ck_assert_uint_eq(at, whole.count);
    arena_deinit(&arena);
    free(text);
    tokenizer_close(t);
}
END_TEST

/* The rest of a text is not looked at when the limit is reached. */
START_TEST(encoding_ends_with_the_chunk_that_reaches_the_limit)
{
    enum { LEN = 1000 * 1000 };
    struct tokenizer *t = fixture_open(NULL, PLAIN, NULL);
    char *text = long_text(LEN, 5, true);
    struct look_counter few, many;
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!tokenizer_encode_utf8(t, 512, text, LEN, look_counter_init(&few, 0), &arena,
                                     &encoding, &err));
    ck_assert(encoding.truncated && encoding.count == 512);
    ck_assert(!tokenizer_encode_utf8(t, 1 << 30, text, LEN, look_counter_init(&many, 0), &arena,
                                     &encoding, &err));
    ck_assert(!encoding.truncated);
    ck_assert_uint_gt(many.looks, 50 * few.looks);
    arena_deinit(&arena);
    free(text);
    tokenizer_close(t);
}
END_TEST

START_TEST(encoding_is_left_at_any_look)
{
    enum { LEN = 30000 };
    struct tokenizer *t = fixture_open(
        NULL,
        "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKD\"}, "
        "{\"type\": \"Lowercase\"}]}, " SPLIT ", " MODEL "}",
        NULL);
    char *text = long_text(LEN, 5, false);
    struct look_counter counter;
    struct err err = {0};
    unsigned looks = 1;
    for (unsigned last = 0; last <= looks; last++) {
        struct arena arena;
        struct encoding encoding;
        err = (struct err){0};
        arena_init(&arena);
        tokenizer_encode(t, 0, text, LEN, look_counter_init(&counter, last), &arena, &encoding,
                         &err);
        looks = last == 0 ? counter.looks : looks;
        ck_assert_int_eq(err.code, last == 0 ? ERR_OK : ERR_DEADLINE);
        arena_deinit(&arena);
    }
    ck_assert_uint_gt(looks, 5);
    free(text);
    tokenizer_close(t);
}
END_TEST

/* U+FDFA becomes eighteen characters: told, and kept to. */
START_TEST(tokenizer_encode_bytes_counts_characters_that_grow)
{
    enum { COUNT = 3000 };
    struct tokenizer *t =
        fixture_open(NULL, "{\"normalizer\": {\"type\": \"NFKC\"}, " SPLIT ", " MODEL "}", NULL);
    char *text = malloc(3 * COUNT);
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + 3 * i, "\xEF\xB7\xBA", 3);
    arena_init(&arena);
    ck_assert(!tokenizer_encode(t, 1 << 20, text, 3 * COUNT, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.count, 15 * COUNT);
    ck_assert_uint_gt(tokenizer_encode_bytes(t, 0, text, 3 * COUNT), 33 * COUNT * 9);
    size_t plain = tokenizer_encode_bytes(t, 0, "ab ab", 5);
    ck_assert_uint_le(plain, 100 * 1000);
    arena_deinit(&arena);
    free(text);
    tokenizer_close(t);
}
END_TEST

/* ---- pairs ---- */

#define PAIR                                                                                       \
    "{\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"?\", 0], \"sep\": [\"<s>\", " \
    "5]}, " SPLIT ", " MODEL "}"

static void check_pair(const struct tokenizer *t, unsigned limit, const char *text,
                       const char *pair, const char *expected, const char *types)
{
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!tokenizer_encode_pair(t, limit, text, strlen(text), pair, strlen(pair), NULL, &arena,
                                     &encoding, &err));
    ck_assert_str_eq(fixture_print(&encoding, &arena), expected);
    for (unsigned i = 0; i < encoding.count; i++)
        ck_assert_int_eq(encoding.types != NULL ? encoding.types[i] : 0, types[i] - '0');
    arena_deinit(&arena);
}

START_TEST(pairs_are_cut_longest_first)
{
    struct tokenizer *t = fixture_open(NULL, PAIR, NULL);
    check_pair(t, 0, "ab", "a b", "0[0,0) 3[0,2) 5[0,0) 1[0,1) 2[2,3) 5[0,0)", "000111");
    check_pair(t, 0, "ab", "", "0[0,0) 3[0,2) 5[0,0)", "000");
    /* Room for 4: the shorter stays whole. */
    check_pair(t, 7, "a", "b b b b b", "0[0,0) 1[0,1) 5[0,0) 2[0,1) 2[2,3) 2[4,5) 5[0,0) truncated",
               "0001111");
    check_pair(t, 7, "b b b b b", "a", "0[0,0) 2[0,1) 2[2,3) 2[4,5) 5[0,0) 1[0,1) 5[0,0) truncated",
               "0000011");
    /* Room for 3, both longer than that: the longer gets the odd one, of equals the second. */
    check_pair(t, 6, "a a a a", "b b b b b", "0[0,0) 1[0,1) 5[0,0) 2[0,1) 2[2,3) 5[0,0) truncated",
               "000111");
    check_pair(t, 6, "a a a a a", "b b b b", "0[0,0) 1[0,1) 1[2,3) 5[0,0) 2[0,1) 5[0,0) truncated",
               "000011");
    check_pair(t, 6, "a a a a", "b b b b", "0[0,0) 1[0,1) 5[0,0) 2[0,1) 2[2,3) 5[0,0) truncated",
               "000111");
    tokenizer_close(t);
}
END_TEST

START_TEST(a_limit_without_room_for_a_pair_is_refused)
{
    struct tokenizer *t = fixture_open(NULL, PAIR, NULL);
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(tokenizer_encode_pair(t, 4, "a", 1, "b", 1, NULL, &arena, &encoding, &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "a limit of 4 tokens; a pair needs at least 5");
    err = (struct err){0};
    ck_assert_int_eq(tokenizer_encode(t, 2, "a", 1, NULL, &arena, &encoding, &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "a limit of 2 tokens; at least 3 are needed");
    arena_deinit(&arena);
    tokenizer_close(t);
}
END_TEST

/* The first token of the second text, whatever the types are. */
START_TEST(an_encoding_tells_where_the_second_text_begins)
{
    struct tokenizer *t = fixture_open(
        NULL,
        "{\"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"?\", 0], \"sep\": "
        "[\"<s>\", 5]}, " SPLIT ", " MODEL "}",
        NULL);
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!tokenizer_encode_pair(t, 0, "a ab", 4, "b", 1, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.count, 7);
    ck_assert_uint_eq(encoding.pair_at, 5);
    ck_assert_int_eq(encoding.ids[5], 2);
    ck_assert_ptr_null(encoding.types);
    ck_assert(!tokenizer_encode(t, 0, "a ab", 4, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.pair_at, 0);
    arena_deinit(&arena);
    tokenizer_close(t);
}
END_TEST

SUITE("text_pipeline", tokenizer_refuses_unsupported_steps_by_their_place, deep_nesting_is_refused,
      special_tokens_come_from_the_template_and_the_configuration,
      truncation_and_padding_of_the_file_do_not_count,
      a_text_of_many_chunks_gives_what_its_words_give,
      encoding_ends_with_the_chunk_that_reaches_the_limit, encoding_is_left_at_any_look,
      tokenizer_encode_bytes_counts_characters_that_grow, pairs_are_cut_longest_first,
      a_limit_without_room_for_a_pair_is_refused, an_encoding_tells_where_the_second_text_begins)
