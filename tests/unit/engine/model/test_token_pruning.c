/* Token pruning: the settings of attnd.json, the tokens that go on, and the families that need
 * all tokens. */
#include "engine/engine.h"
#include "engine/model/spec.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS_MAX = 40, ALWAYS = 2 };

/* The definition: a token goes on if fewer than `count` tokens come before it. */
static bool goes_on(const float *received, unsigned tokens, unsigned count, unsigned token)
{
    unsigned before = 0;
    for (unsigned t = ALWAYS; t < tokens; t++)
        before += received[t] > received[token] || (received[t] == received[token] && t < token);
    return token < ALWAYS || before < count - ALWAYS;
}

START_TEST(token_pruning_keeps_the_tokens_with_most_attention_and_the_first_of_equal_ones)
{
    unsigned seed = 1;
    for (unsigned tokens = ALWAYS; tokens < TOKENS_MAX; tokens++)
        for (unsigned count = ALWAYS; count <= tokens; count++) {
            float received[TOKENS_MAX];
            unsigned out[TOKENS_MAX], k = 0;
            for (unsigned t = 0; t < tokens; t++) {
                seed = seed * 1103515245 + 12345;
                received[t] = (float)(seed >> 16 & 7) / 7; /* many are equal, some zero */
            }
            token_pruning_choose(out, received, tokens, ALWAYS, count);
            for (unsigned t = 0; t < tokens; t++)
                if (goes_on(received, tokens, count, t))
                    ck_assert_uint_eq(out[k++], t);
            ck_assert_uint_eq(k, count);
        }
}
END_TEST

START_TEST(token_pruning_keeps_its_count_of_tokens_if_attention_is_not_finite)
{
    const float received[] = {0, NAN, INFINITY, 0.5F, -NAN, 1};
    unsigned out[4] = {9, 9, 9, 9};
    token_pruning_choose(out, received, 6, 1, 3);
    ck_assert_uint_eq(out[0], 0);
    ck_assert_uint_eq(out[1], 1);
    ck_assert_uint_eq(out[2], 4);
    ck_assert_uint_eq(out[3], 9);
}
END_TEST

static struct token_pruning parsed(const char *word)
{
    struct token_pruning out = {7, 7};
    struct err err = {0};
    ck_assert_msg(!token_pruning_parse(&out, word, &err), "%s", err.text);
    return out;
}

START_TEST(a_word_has_the_layers_and_the_share)
{
    ck_assert_uint_eq(parsed("none").full_layers, 0);
    ck_assert_uint_eq(parsed("2:0.28").full_layers, 2);
    ck_assert_double_eq(parsed("2:0.28").share, 0.28);
    ck_assert_double_eq(parsed("11:1").share, 1);
}
END_TEST

START_TEST(token_pruning_refuses_other_words)
{
    static const char *const words[] = {"",       "2",      ":0.5",   "0:0.5",  "2:0",
                                        "2:1.1",  "2:nan",  "2:-0.5", "2:0.5x", "none:0.5",
                                        "-1:0.3", "2: 0.5", " 2:0.5", "+2:0.5"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct token_pruning out = {0};
        struct err err = {0};
        ck_assert_msg(token_pruning_parse(&out, words[i], &err) == ERR_UNSUPPORTED, "%s", words[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "token_pruning: "));
    }
}
END_TEST

static void read(const char *text, struct token_pruning *out, struct err *err)
{
    struct json_t *object = NULL;
    *err = (struct err){0};
    ck_assert(!doc_parse(&object, text, strlen(text), &doc_limits_file, err));
    token_pruning_read(out, object, err);
    doc_free(object);
}

START_TEST(token_pruning_is_read_from_attnd_json)
{
    struct token_pruning out = {0};
    struct err err;
    read("{}", &out, &err);
    ck_assert_int_eq(err.code, ERR_OK);
    ck_assert_uint_eq(out.full_layers, 0);
    read("{\"token_pruning\": {\"full_layers\": 3, \"share\": 0.5}}", &out, &err);
    ck_assert_int_eq(err.code, ERR_OK);
    ck_assert_uint_eq(out.full_layers, 3);
    ck_assert_double_eq(out.share, 0.5);
}
END_TEST

START_TEST(a_member_of_attnd_json_that_is_wrong_is_named)
{
    static const char *const rows[][2] = {
        {"{\"token_pruning\": 2}", "$.token_pruning: expected an object"},
        {"{\"token_pruning\": {}}", "$.token_pruning.full_layers"},
        {"{\"token_pruning\": {\"full_layers\": 2}}", "$.token_pruning.share"},
        {"{\"token_pruning\": {\"full_layers\": 0, \"share\": 0.5}}",
         "$.token_pruning.full_layers"},
        {"{\"token_pruning\": {\"full_layers\": 2, \"share\": 0}}", "$.token_pruning.share"},
        {"{\"token_pruning\": {\"full_layers\": 2, \"share\": 1.5}}", "$.token_pruning.share"},
        {"{\"token_pruning\": {\"layer\": 2, \"share\": 0.5}}", "$.token_pruning.layer"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct token_pruning out = {0};
        struct err err;
        read(rows[i][0], &out, &err);
        ck_assert_msg(err.code != ERR_OK && strstr(err.text, rows[i][1]) != NULL, "%s: %s",
                      rows[i][0], err.text);
    }
}
END_TEST

START_TEST(a_family_that_needs_all_tokens_says_why)
{
    static const char *const rows[][3] = {{"golden/swin-0", "swin", "windows"},
                                          {"golden/beit-0", "beit", "distance"},
                                          {"golden/dinov2-0", "dinov2", "first token"},
                                          {"golden/mpnet-0", "mpnet", "distance"},
                                          {"encoders/deberta-v2-0", "deberta", "distance"},
                                          {"encoders/longformer-0", "longformer", "local"},
                                          {"encoders/modernbert-1", "modernbert", "local"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char dir[128];
        struct err err = {0};
        snprintf(dir, sizeof dir, "tests/data/%s", rows[i][0]);
        ck_assert_int_eq(
            engine_check(dir, &(struct engine_options){.token_pruning = "1:0.5"}, &err),
            ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, "token_pruning") != NULL &&
                          strstr(err.text, rows[i][1]) != NULL &&
                          strstr(err.text, rows[i][2]) != NULL,
                      "%s: %s", dir, err.text);
    }
}
END_TEST

START_TEST(the_others_need_a_layer_for_the_rest)
{
    static const char *const dirs[] = {"golden/bert-3", "golden/vit-1",
                                       "golden/deit-1", "golden/distilbert-0",
                                       "golden/clip-0", "encoders/electra-0"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char dir[128];
        struct err err = {0};
        snprintf(dir, sizeof dir, "tests/data/%s", dirs[i]);
        ck_assert_msg(
            !engine_check(dir, &(struct engine_options){.token_pruning = "1:0.5"}, &err) ||
                strstr(err.text, "token_pruning") == NULL,
            "%s: %s", dir, err.text);
        err = (struct err){0};
        ck_assert(engine_check(dir, &(struct engine_options){.token_pruning = "2:0.5"}, &err));
        ck_assert_ptr_nonnull(strstr(err.text, "token_pruning: 2 full layers of 3"));
    }
}
END_TEST

SUITE("token_pruning",
      token_pruning_keeps_the_tokens_with_most_attention_and_the_first_of_equal_ones,
      token_pruning_keeps_its_count_of_tokens_if_attention_is_not_finite,
      a_word_has_the_layers_and_the_share, token_pruning_refuses_other_words,
      token_pruning_is_read_from_attnd_json, a_member_of_attnd_json_that_is_wrong_is_named,
      a_family_that_needs_all_tokens_says_why, the_others_need_a_layer_for_the_rest)
