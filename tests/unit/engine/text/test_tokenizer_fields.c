/* BERT's tokenizer takes each field of the files, and refuses values beyond its limits, word for
 * word. (test_tokenizer_config.c looks at the encodings that follow.) */
#include "engine/text/pipeline/steps.h"
#include "tests/unit/engine/text/fixture.h"

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

struct subject {
    struct tokenizer *tokenizer;
    const struct steps *steps;
    struct err err;
};

static void setup(struct subject *subject, const char *vocab, const char *tokenizer,
                  const char *config, unsigned tokens_max)
{
    *subject = (struct subject){0};
    fixture_try(&subject->tokenizer, vocab, tokenizer, config, tokens_max, &subject->err);
    if (subject->err.code == ERR_OK)
        subject->steps = subject->tokenizer->steps;
}

static void drop(struct subject *subject)
{
    tokenizer_close(subject->tokenizer);
}

static void expect_flags(const struct subject *subject, const char *expected)
{
    ck_assert_str_eq(subject->err.text, "");
    struct normalizer_flags flags = steps_flags(subject->steps);
    char found[5] = {flags.clean_text ? 'c' : '-', flags.space_cjk ? 's' : '-',
                     flags.strip_accents ? 'a' : '-', flags.lower_case ? 'l' : '-'};
    ck_assert_str_eq(found, expected);
}

static int32_t id_of(const struct vocab *vocab, const char *piece)
{
    return vocab_find(vocab, piece, strlen(piece));
}

static int32_t added_id(const struct subject *subject, const char *content)
{
    return added_tokens_find(&subject->steps->added, content, strlen(content));
}

START_TEST(tokenizer_of_a_vocabulary_alone_has_these_fields)
{
    struct subject s;
    setup(&s, SPECIALS "a\n##b\n#\n##\nab", NULL, NULL, 512);
    expect_flags(&s, "csal");
    ck_assert_int_eq(s.tokenizer->specials.pad, 0);
    ck_assert_int_eq(s.tokenizer->specials.unk, 1);
    ck_assert_int_eq(s.tokenizer->specials.cls, 2);
    ck_assert_int_eq(s.tokenizer->specials.sep, 3);
    ck_assert_int_eq(s.tokenizer->specials.mask, 4);
    ck_assert_uint_eq(s.steps->model.word_characters_max, 100);
    ck_assert_uint_eq(s.tokenizer->vocab_size, 10);
    ck_assert_uint_eq(s.tokenizer->limit, 512);
    ck_assert_int_eq(id_of(&s.steps->model.initial, "##b"), 6);
    ck_assert_int_eq(id_of(&s.steps->model.initial, "b"), VOCAB_NONE);
    ck_assert_int_eq(id_of(&s.steps->model.continued, "b"), 6);
    ck_assert_int_eq(id_of(&s.steps->model.continued, "a"), VOCAB_NONE);
    ck_assert_int_eq(id_of(&s.steps->model.continued, "##b"), VOCAB_NONE);
    ck_assert_int_eq(id_of(&s.steps->model.initial, "##"), 8);
    ck_assert_int_eq(added_id(&s, "[MASK]"), 4);
    ck_assert_int_eq(added_id(&s, "a"), VOCAB_NONE);
    drop(&s);
    setup(&s, "[UNK]\n[CLS]\n[SEP]\n", NULL, NULL, 3);
    ck_assert_int_eq(s.err.code, ERR_OK);
    ck_assert_int_eq(s.tokenizer->specials.pad, 3); /* as the reference adds them */
    ck_assert_int_eq(s.tokenizer->specials.mask, 4);
    ck_assert_uint_eq(s.tokenizer->vocab_size, 5);
    tokenizer_fit(s.tokenizer, 3); /* the model has no rows for them */
    ck_assert_int_eq(s.tokenizer->specials.pad, VOCAB_NONE);
    ck_assert_int_eq(s.tokenizer->specials.mask, VOCAB_NONE);
    ck_assert_uint_eq(s.tokenizer->limit, 3);
    ck_assert_uint_eq(s.tokenizer->vocab_size, 3);
    drop(&s);
}
END_TEST

START_TEST(tokenizer_lines_end_in_three_ways)
{
    static const struct {
        const char *vocab;
        unsigned size;
    } cases[] = {
        {"[UNK]\n[CLS]\n[SEP]", 3},          {"[UNK]\r[CLS]\r[SEP]\r", 3},
        {"[UNK]\r\n[CLS]\r\n[SEP]\r\n", 3},  {"[UNK]\n\n[CLS]\n[SEP]\n\nx", 6},
        {"[UNK]\n\r[CLS]\n[SEP]\r\r\nx", 6}, {"[UNK]\n[CLS]\n[SEP]\nx\r", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject s;
        setup(&s, cases[i].vocab, NULL, NULL, 512);
        ck_assert_str_eq(s.err.text, "");
        tokenizer_fit(s.tokenizer, 3);
        unsigned last = cases[i].size - 1;
        ck_assert_int_eq(id_of(&s.steps->model.initial, last == 2 ? "[SEP]" : "x"), (int)last);
        ck_assert_uint_eq(s.tokenizer->vocab_size, cases[i].size);
        drop(&s);
    }
}
END_TEST

START_TEST(tokenizer_flags_are_those_of_the_file)
{
    static const struct {
        const char *config, *flags;
    } cases[] = {
        {"{}", "csal"},
        {"{\"do_lower_case\": false}", "cs--"},
        {"{\"do_lower_case\": true}", "csal"},
        {"{\"do_lower_case\": false, \"strip_accents\": true}", "csa-"},
        {"{\"strip_accents\": false}", "cs-l"},
        {"{\"strip_accents\": null}", "csal"},
        {"{\"tokenize_chinese_chars\": false}", "c-al"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject s;
        setup(&s, SPECIALS, NULL, cases[i].config, 512);
        expect_flags(&s, cases[i].flags);
        drop(&s);
    }
}
END_TEST

/* tokenizer.json with what stands between the braces of the normaliser and of the model, and the
 * added tokens. */
#define PRE "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
#define MODEL(members)                                                                             \
    "\"model\": {\"type\": \"WordPiece\", " members                                                \
    "\"vocab\": {\"[UNK]\": 0, \"[CLS]\": 1, \"[SEP]\": 2, \"##a\": 3, \"@@b\": 4}}"
#define NORMALIZER(members) "\"normalizer\": {\"type\": \"BertNormalizer\"" members "}, "
#define FILE_OF(normalizer, model) "{" normalizer PRE MODEL(model) "}"
#define ADDED(token) "{\"normalizer\": null, " PRE "\"added_tokens\": [" token "], " MODEL("") "}"

START_TEST(tokenizer_json_says_the_same_in_its_own_words)
{
    static const struct {
        const char *tokenizer, *flags;
        unsigned characters;
        int32_t a, b;
    } cases[] = {
        {FILE_OF("", ""), "----", 100, 3, VOCAB_NONE},
        {FILE_OF("\"normalizer\": null, ", ""), "----", 100, 3, VOCAB_NONE},
        {FILE_OF(NORMALIZER(""), ""), "csal", 100, 3, VOCAB_NONE},
        {FILE_OF(NORMALIZER(", \"clean_text\": false"), ""), "-sal", 100, 3, VOCAB_NONE},
        {FILE_OF(NORMALIZER(", \"handle_chinese_chars\": false"), ""), "c-al", 100, 3, VOCAB_NONE},
        {FILE_OF(NORMALIZER(", \"lowercase\": false"), ""), "cs--", 100, 3, VOCAB_NONE},
        {FILE_OF(NORMALIZER(", \"strip_accents\": false"), ""), "cs-l", 100, 3, VOCAB_NONE},
        {FILE_OF("", "\"continuing_subword_prefix\": \"@@\", "), "----", 100, VOCAB_NONE, 4},
        {FILE_OF("", "\"max_input_chars_per_word\": 1, "), "----", 1, 3, VOCAB_NONE},
        {FILE_OF("", "\"max_input_chars_per_word\": 1000, "), "----", 1000, 3, VOCAB_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject s;
        setup(&s, NULL, cases[i].tokenizer, NULL, 512);
        expect_flags(&s, cases[i].flags);
        ck_assert_uint_eq(s.steps->model.word_characters_max, cases[i].characters);
        ck_assert_int_eq(id_of(&s.steps->model.continued, "a"), cases[i].a);
        ck_assert_int_eq(id_of(&s.steps->model.continued, "b"), cases[i].b);
        ck_assert_int_eq(s.tokenizer->specials.unk, 0);
        ck_assert_uint_eq(s.tokenizer->vocab_size, 5);
        drop(&s);
    }
}
END_TEST

START_TEST(tokenizer_added_tokens_of_both_files_are_matched)
{
    struct subject s;
    setup(&s, NULL,
          ADDED("{\"id\": 5, \"content\": \"<x>\", \"special\": true}, "
                "{\"id\": 6, \"content\": \"<y>\", \"normalized\": false, \"lstrip\": false}, "
                "{\"id\": 3, \"content\": \"##a\", \"special\": true}"),
          "{\"added_tokens_decoder\": {\"7\": {\"content\": \"<z>\", \"special\": true}, "
          "\"6\": {\"content\": \"<y>\", \"special\": true}}}",
          512);
    ck_assert_str_eq(s.err.text, "");
    ck_assert_uint_eq(s.tokenizer->vocab_size, 8);
    ck_assert_int_eq(added_id(&s, "<x>"), 5);
    ck_assert_int_eq(added_id(&s, "<y>"), 6);
    ck_assert_int_eq(added_id(&s, "<z>"), 7);
    ck_assert_int_eq(added_id(&s, "##a"), 3); /* the vocabulary's */
    ck_assert_int_eq(id_of(&s.steps->model.initial, "<x>"), VOCAB_NONE);
    drop(&s);
}
END_TEST

START_TEST(tokenizer_length_is_cut_to_whole_tokens)
{
    static const struct {
        const char *config;
        unsigned limit;
    } cases[] = {{"{\"model_max_length\": 3}", 3},
                 {"{\"model_max_length\": 7.9}", 7},
                 {"{\"model_max_length\": 511}", 511},
                 {"{\"model_max_length\": 512}", 512},
                 {"{\"model_max_length\": 513}", 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject s;
        setup(&s, SPECIALS, NULL, cases[i].config, 512);
        ck_assert_str_eq(s.err.text, "");
        ck_assert_uint_eq(s.tokenizer->limit, cases[i].limit);
        drop(&s);
    }
}
END_TEST

#define VOCAB_TOKEN(token) "{\"added_tokens_decoder\": {" token "}}"
#define NO_ID "$.added_tokens_decoder: a name is not an id from 0 to 16777215"

START_TEST(tokenizer_config_json_is_refused_member_by_member)
{
    static const struct {
        const char *config, *text;
    } cases[] = {
        {"{\"model_max_length\": 2.9}", "$.model_max_length: must be at least 3"},
        {"{\"model_max_length\": \"x\"}", "$.model_max_length: expected a number, found a string"},
        {"{\"strip_accents\": 1}", "$.strip_accents: expected true or false, found a number"},
        {"{\"tokenize_chinese_chars\": 1}",
         "$.tokenize_chinese_chars: expected true or false, found a number"},
        {"{\"sep_token\": {\"content\": 7}}",
         "$.sep_token: expected a string of at most 1024 bytes"},
        {"{\"pad_token\": true}", "$.pad_token: expected a string of at most 1024 bytes"},
        {"{\"mask_token\": {}}", "$.mask_token: expected a string of at most 1024 bytes"},
        {VOCAB_TOKEN("\"16777216\": {\"content\": \"y\"}"), NO_ID},
        {VOCAB_TOKEN("\"-1\": {\"content\": \"y\"}"), NO_ID},
        {VOCAB_TOKEN("\"1.5\": {\"content\": \"y\"}"), NO_ID},
        {VOCAB_TOKEN("\"1x\": {\"content\": \"y\"}"), NO_ID},
        {VOCAB_TOKEN("\"\": {\"content\": \"y\"}"), NO_ID},
        {VOCAB_TOKEN("\"5\": {\"special\": true}"), "added token 5 has no content"},
        {VOCAB_TOKEN("\"5\": {\"special\": true, \"content\": 7}"),
         "added token.content: expected a string, found a number"},
        {VOCAB_TOKEN("\"5\": {\"content\": \"y\", \"special\": 1}"),
         "added token.special: expected true or false, found a number"},
        {VOCAB_TOKEN("\"5\": {\"content\": \"y\", \"special\": true, \"rstrip\": 1}"),
         "added token.rstrip: expected true or false, found a number"},
        {VOCAB_TOKEN("\"6\": {\"content\": \"y\"}"), "added token 'y' has the id 6 instead of 5"},
        {"{\"truncation_side\": \"middle\"}",
         "$.truncation_side: 'middle' is neither left nor right"},
        {"{\"split_special_tokens\": true}", "$.split_special_tokens: true is not supported"},
        {"{\"from_slow\": true}", "$.from_slow is not supported"},
        {"{\"init_inputs\": [1]}", "$.init_inputs is not supported"},
        {"{\"vocab_file\": \"/x\"}", "$.vocab_file: another file than the directory's own is not "
                                     "supported; remove the member"},
        {"[", "JSON ends too early at byte 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject s;
        char text[200];
        setup(&s, SPECIALS, NULL, cases[i].config, 512);
        snprintf(text, sizeof text, "tokenizer_config.json: %s", cases[i].text);
        ck_assert_str_eq(s.err.text, text);
        drop(&s);
    }
}
END_TEST

START_TEST(tokenizer_json_is_refused_member_by_member)
{
    static const struct {
        const char *tokenizer, *text;
    } cases[] = {
        {FILE_OF("", "\"continuing_subword_prefix\": 7, "),
         "$.model.continuing_subword_prefix: expected a string, found a number"},
        {FILE_OF("", "\"unk_token\": 7, "), "$.model.unk_token: expected a string, found a number"},
        {FILE_OF("", "\"unk_token\": \"<u>\", "), "the vocabulary has no unk_token '<u>'"},
        {FILE_OF("", "\"max_input_chars_per_word\": 0, "),
         "$.model.max_input_chars_per_word: must be from 1 to 1000"},
        {FILE_OF("", "\"max_input_chars_per_word\": 1001, "),
         "$.model.max_input_chars_per_word: must be from 1 to 1000"},
        {FILE_OF(NORMALIZER(", \"clean_text\": 1"), ""),
         "$.normalizer.clean_text: expected true or false, found a number"},
        {FILE_OF(NORMALIZER(", \"handle_chinese_chars\": 1"), ""),
         "$.normalizer.handle_chinese_chars: expected true or false, found a number"},
        {FILE_OF(NORMALIZER(", \"lowercase\": 1"), ""),
         "$.normalizer.lowercase: expected true or false, found a number"},
        {FILE_OF(NORMALIZER(", \"strip_accents\": 1"), ""),
         "$.normalizer.strip_accents: expected true or false, found a number"},
        {"{\"model\": {\"type\": 7}}", "$.model.type: expected a string, found a number"},
        {ADDED("{\"content\": \"y\"}"), "added token 'y' has the id -1 instead of 5"},
        {ADDED("{\"id\": \"7\", \"content\": \"y\"}"),
         "$.added_tokens[].id: expected a number, found a string"},
        {ADDED("{\"id\": 16777216, \"content\": \"y\"}"),
         "added token 'y' has the id 16777216 instead of 5"},
        {ADDED("{\"id\": 7, \"special\": true}"), "added token 7 has no content"},
        {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": \"1\"}}}",
         "$.model.vocab: entry 0 is not an integer from 0 to 16777215"},
        {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 16777215, \"b\": 16777216}}}",
         "$.model.vocab: entry 1 is not an integer from 0 to 16777215"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject s;
        char text[200];
        setup(&s, NULL, cases[i].tokenizer, NULL, 512);
        snprintf(text, sizeof text, "tokenizer.json: %s", cases[i].text);
        ck_assert_str_eq(s.err.text, text);
        ck_assert_int_ne(s.err.code, ERR_OK);
        drop(&s);
    }
}
END_TEST

START_TEST(tokenizer_pieces_are_bounded_in_length)
{
    struct subject s;
    char vocab[sizeof SPECIALS + VOCAB_PIECE_BYTES_MAX + 1] = SPECIALS;
    char text[80];
    memset(vocab + strlen(SPECIALS), 'a', VOCAB_PIECE_BYTES_MAX);
    setup(&s, vocab, NULL, NULL, 512);
    ck_assert_str_eq(s.err.text, "");
    drop(&s);
    vocab[strlen(SPECIALS) + VOCAB_PIECE_BYTES_MAX] = 'a';
    setup(&s, vocab, NULL, NULL, 512);
    snprintf(text, sizeof text, "vocab.txt: piece 5 is longer than %d bytes",
             VOCAB_PIECE_BYTES_MAX);
    ck_assert_str_eq(s.err.text, text);
    drop(&s);
}
END_TEST

/* The first file is to blame, also where there is a second one. */
START_TEST(tokenizer_names_the_file_that_is_wrong)
{
    struct subject s;
    setup(&s, SPECIALS "\xFF\n", NULL, "{}", 512);
    ck_assert_str_eq(s.err.text, "vocab.txt: invalid UTF-8 at byte 31");
    drop(&s);
    setup(&s, "[CLS]\n[UNK]\n", NULL, "{}", 512);
    ck_assert_str_eq(s.err.text, "vocab.txt: the vocabulary has no sep_token '[SEP]'");
    drop(&s);
    setup(&s, NULL, "{}", "{}", 512);
    ck_assert_str_eq(s.err.text, "tokenizer.json: $.model.type is missing");
    drop(&s);
    setup(&s, NULL, NULL, "{}", 512);
    ck_assert_ptr_nonnull(
        strstr(s.err.text, "vocab.txt: missing, and there is no tokenizer.json either"));
    drop(&s);
    setup(&s, SPECIALS, NULL, NULL, 2);
    ck_assert_str_eq(s.err.text, "vocab.txt: a limit of 2 tokens; at least 3 are needed");
    drop(&s);
}
END_TEST

SUITE("tokenizer_fields", tokenizer_of_a_vocabulary_alone_has_these_fields,
      tokenizer_lines_end_in_three_ways, tokenizer_flags_are_those_of_the_file,
      tokenizer_json_says_the_same_in_its_own_words,
      tokenizer_added_tokens_of_both_files_are_matched, tokenizer_length_is_cut_to_whole_tokens,
      tokenizer_config_json_is_refused_member_by_member, tokenizer_json_is_refused_member_by_member,
      tokenizer_pieces_are_bounded_in_length, tokenizer_names_the_file_that_is_wrong)
