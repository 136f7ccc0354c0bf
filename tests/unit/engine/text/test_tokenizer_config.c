#include "engine/base/file.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>
#include <string.h>

#define VOCAB "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n\xC3\xA9\ne\nA\n"

/* tokenizer.json with the given model members and the rest as transformers writes it. */
#define MODEL                                                                                      \
    "\"type\": \"WordPiece\", \"unk_token\": \"<u>\", \"continuing_subword_prefix\": \"@@\", "     \
    "\"max_input_chars_per_word\": 5, "                                                            \
    "\"vocab\": {\"<u>\": 1, \"[CLS]\": 2, \"[SEP]\": 0, \"a\": 5, \"@@b\": 9, \"\xC3\xA9\": 6, "  \
    "\"<x>\": 3}"
#define NORMALIZER                                                                                 \
    "\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "                        \
    "\"handle_chinese_chars\": true, \"strip_accents\": false, \"lowercase\": true}, "
#define PRE "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
#define ADDED(rest) "\"added_tokens\": [{\"id\": 3, \"content\": \"<x>\"" rest "}], "
#define SPECIAL ", \"special\": true, \"normalized\": false"
#define POST                                                                                       \
    "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 0], "                 \
    "\"cls\": [\"[CLS]\", 2]}, "
#define TOKENIZER "{" NORMALIZER PRE POST ADDED(SPECIAL) "\"model\": {" MODEL "}}"

START_TEST(tokenizer_config_defaults_are_an_uncased_bert)
{
    struct tokenizer *t = fixture_open(VOCAB, NULL, NULL);
    fixture_check(t, "Ab \xC3\x89", "2[0,0) 5[0,1) 6[1,2) 8[3,4) 3[0,0)");
    ck_assert_uint_eq(t->vocab_size, 10);
    ck_assert_uint_eq(t->limit, 512);
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_flags_are_obeyed)
{
    struct tokenizer *t = fixture_open(VOCAB, NULL, "{\"do_lower_case\": false}");
    fixture_check(t, "A \xC3\xA9", "2[0,0) 9[0,1) 7[2,3) 3[0,0)"); /* accents stay, too */
    tokenizer_close(t);
    t = fixture_open(VOCAB, NULL, "{\"do_lower_case\": false, \"strip_accents\": true}");
    fixture_check(t, "A \xC3\xA9", "2[0,0) 9[0,1) 8[2,3) 3[0,0)");
    tokenizer_close(t);
    t = fixture_open(VOCAB, NULL, "{\"do_lower_case\": true, \"strip_accents\": false}");
    fixture_check(t, "A \xC3\x89", "2[0,0) 5[0,1) 7[2,3) 3[0,0)");
    tokenizer_close(t);
    t = fixture_open(VOCAB, NULL, "{\"tokenize_chinese_chars\": false}");
    fixture_check(t, "a\xE4\xB8\xAD", "2[0,0) 1[0,2) 3[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_limit_is_the_smaller_one)
{
    struct tokenizer *t = fixture_open(VOCAB, NULL, "{\"model_max_length\": 7}");
    ck_assert_uint_eq(t->limit, 7);
    tokenizer_close(t);
    t = fixture_open(VOCAB, NULL, "{\"model_max_length\": 1000000000000000019884624838656}");
    ck_assert_uint_eq(t->limit, 512);
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_names_of_special_tokens_may_differ)
{
    struct tokenizer *t = fixture_open(
        "<u>\n<s>\n</s>\na\n", NULL,
        "{\"cls_token\": \"<s>\", \"sep_token\": {\"content\": \"</s>\", \"lstrip\": false}, "
        "\"unk_token\": \"<u>\", \"mask_token\": null}");
    fixture_check(t, "a b</s>", "1[0,0) 3[0,1) 0[2,3) 2[3,7) 2[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_added_tokens_match_literally)
{
    struct tokenizer *t = fixture_open(
        VOCAB, NULL,
        "{\"added_tokens_decoder\": {\"11\": {\"content\": \"[DIE]\", \"special\": true}, "
        "\"10\": {\"content\": \"[DIE]s\", \"normalized\": false, \"special\": false}}}");
    fixture_check(t, "a[DIE][DIE]s", "2[0,0) 5[0,1) 11[1,6) 10[6,12) 3[0,0)");
    ck_assert_uint_eq(t->vocab_size, 12);
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_vocab_lines_end_as_in_python)
{
    struct tokenizer *t = fixture_open("[UNK]\r\n[CLS]\r[SEP]\n\na\n\xC2\xA0\nb\nb", NULL, NULL);
    fixture_check(t, "a b", "1[0,0) 4[0,1) 7[2,3) 2[0,0)");
    tokenizer_fit(t, 8);
    ck_assert_uint_eq(t->vocab_size, 8);
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_reads_tokenizer_json_without_vocab_txt)
{
    struct tokenizer *t = fixture_open(NULL, TOKENIZER, NULL);
    fixture_check(t, "Ab\xC3\x89 <x>aaaaaa <u>\xC3\x89",
                  "2[0,0) 1[0,3) 3[4,7) 1[7,13) 1[14,15) 1[15,16) 1[16,17) 6[17,18) 0[0,0)");
    fixture_check(t, "ab abbbb", "2[0,0) 5[0,1) 9[1,2) 5[3,4) 9[4,5) 9[5,6) 9[6,7) 9[7,8) 0[0,0)");
    ck_assert_uint_eq(t->vocab_size, 10);
    tokenizer_close(t);
    t = fixture_open(VOCAB "x\n", TOKENIZER, NULL); /* vocab.txt does not count */
    ck_assert_uint_eq(t->vocab_size, 10);
    fixture_check(t, "x", "2[0,0) 1[0,1) 0[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_overrides_tokenizer_json)
{
    struct tokenizer *t =
        fixture_open(NULL, TOKENIZER,
                     "{\"do_lower_case\": false, \"strip_accents\": null, \"unk_token\": \"<u>\", "
                     "\"tokenizer_class\": \"BertTokenizer\"}");
    fixture_check(t, "A a", "2[0,0) 1[0,1) 5[2,3) 0[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_without_normaliser_changes_nothing)
{
    struct tokenizer *t =
        fixture_open(NULL, "{\"normalizer\": null, " PRE POST "\"model\": {" MODEL "}}", NULL);
    fixture_check(t, "A\x01 a\t\xC3\xA9", "2[0,0) 1[0,2) 5[3,4) 6[5,6) 0[0,0)");
    tokenizer_close(t);
}
END_TEST

START_TEST(tokenizer_config_refusals_say_which_file_and_why)
{
    static const struct {
        const char *vocab, *tokenizer, *config, *text;
    } cases[] = {
        {NULL, NULL, NULL,
         "vocab.txt: missing, and there is no tokenizer.json either: with transformers, "
         "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) makes one of what the "
         "checkpoint has (spm.model, sentencepiece.bpe.model)"},
        {"a\n[CLS]\n[SEP]\n", NULL, NULL, "vocab.txt: the vocabulary has no unk_token '[UNK]'"},
        {"[UNK]\n", NULL, NULL, "vocab.txt: the vocabulary has no cls_token '[CLS]'"},
        {"[CLS]\n\xFF\n", NULL, NULL, "vocab.txt: invalid UTF-8 at byte 6"},
        {VOCAB, NULL, "{\"do_lower_case\": 1}",
         "tokenizer_config.json: $.do_lower_case: expected true or false, found a number"},
        {VOCAB, NULL, "{\"model_max_length\": 2}",
         "tokenizer_config.json: $.model_max_length: must be at least 3"},
        {VOCAB, NULL, "{\"model_max_length\": -1}",
         "tokenizer_config.json: $.model_max_length: must be at least 3"},
        {VOCAB, NULL, "{\"cls_token\": 7}",
         "tokenizer_config.json: $.cls_token: expected a string of at most 1024 bytes"},
        {VOCAB, NULL, "{\"cls_token\": \"<s>\"}",
         "vocab.txt: the vocabulary has no cls_token '<s>'"},
        {VOCAB, NULL, "{\"added_tokens_decoder\": {\"x\": {\"content\": \"y\"}}}",
         "tokenizer_config.json: "
         "$.added_tokens_decoder: a name is not an id from 0 to 16777215"},
        {NULL, "{}", NULL, "tokenizer.json: $.model.type is missing"},
        {NULL, "[]", NULL, "tokenizer.json: expected an object, found an array"},
        {VOCAB, NULL, "{\"added_tokens_decoder\": {\"1\": {\"content\": \"y\"}}}",
         "tokenizer_config.json: added token 'y' has the id 1 instead of 10"},
        {NULL, "{" PRE "\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 1.5}}}", NULL,
         "tokenizer.json: $.model.vocab: entry 0 is not an integer from 0 to 16777215"},
        {NULL, "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 1, \"b\": -1}}}", NULL,
         "tokenizer.json: $.model.vocab: entry 1 is not an integer from 0 to 16777215"},
        {NULL,
         "{" PRE "\"model\": {\"type\": \"WordPiece\", \"max_input_chars_per_word\": 100000, "
         "\"vocab\": {\"[UNK]\": 0}}}",
         NULL, "tokenizer.json: $.model.max_input_chars_per_word: must be from 1 to 1000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        struct tokenizer *t;
        ck_assert_msg(fixture_try(&t, cases[i].vocab, cases[i].tokenizer, cases[i].config, 512,
                                  &err) != ERR_OK,
                      "case %zu", i);
        ck_assert_ptr_null(t);
        ck_assert_str_eq(err.text, cases[i].text);
    }
}
END_TEST

START_TEST(tokenizer_config_refuses_a_limit_without_room_for_a_token)
{
    struct err err = {0};
    struct tokenizer *t;
    ck_assert_int_eq(fixture_try(&t, VOCAB, NULL, NULL, 2, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "vocab.txt: a limit of 2 tokens; at least 3 are needed");
}
END_TEST

START_TEST(tokenizer_config_of_half_a_file_is_an_error)
{
    char text[] = TOKENIZER;
    for (size_t len = strlen(text) - 1; len > 0; len--) {
        text[len] = '\0';
        struct err err = {0};
        struct tokenizer *t;
        ck_assert(fixture_try(&t, NULL, text, NULL, 512, &err) != ERR_OK);
        ck_assert_int_eq(strncmp(err.text, "tokenizer.json: ", 16), 0);
    }
}
END_TEST

/* A damaged file opens or gives an error; a tokenizer that opens can encode. */
START_TEST(tokenizer_config_survives_mutated_files)
{
    static const char config[] = "{\"do_lower_case\": true, \"model_max_length\": 512, "
                                 "\"added_tokens_decoder\": {\"3\": {\"content\": \"<x>\", "
                                 "\"special\": true}}, \"cls_token\": \"[CLS]\"}";
    unsigned long long state = 5;
    unsigned opened = 0;
    for (int round = 0; round < 1000; round++) {
        char a[] = TOKENIZER, b[sizeof config];
        memcpy(b, config, sizeof config);
        char *victim = round % 2 == 0 ? a : b;
        unsigned len = (unsigned)strlen(victim);
        for (unsigned i = 1 + fixture_random(&state, 2); i-- > 0;)
            victim[fixture_random(&state, len)] = (char)(1 + fixture_random(&state, 127));
        struct err err = {0};
        struct tokenizer *t;
        if (fixture_try(&t, NULL, a, b, 512, &err))
            continue;
        opened++;
        struct arena arena;
        struct encoding encoding;
        arena_init(&arena);
        ck_assert(!tokenizer_encode(t, 0, "ab <x> \xC3\xA9", 9, NULL, &arena, &encoding, &err));
        arena_deinit(&arena);
        tokenizer_close(t);
    }
    ck_assert_uint_gt(opened, 30);
}
END_TEST

SUITE("tokenizer_config", tokenizer_config_defaults_are_an_uncased_bert,
      tokenizer_config_flags_are_obeyed, tokenizer_config_limit_is_the_smaller_one,
      tokenizer_config_names_of_special_tokens_may_differ,
      tokenizer_config_added_tokens_match_literally, tokenizer_config_vocab_lines_end_as_in_python,
      tokenizer_config_reads_tokenizer_json_without_vocab_txt,
      tokenizer_config_overrides_tokenizer_json,
      tokenizer_config_without_normaliser_changes_nothing,
      tokenizer_config_refusals_say_which_file_and_why,
      tokenizer_config_refuses_a_limit_without_room_for_a_token,
      tokenizer_config_of_half_a_file_is_an_error, tokenizer_config_survives_mutated_files)
