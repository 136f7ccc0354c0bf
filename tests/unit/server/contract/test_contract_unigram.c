/* A checkpoint with a Unigram model in its tokenizer.json, through the programs: the ids given to
 * the model, the characters that an explanation names, and the refusals of a broken table. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEIGHTS "tests/data/golden/bert-3/"
#define TOKENIZER "tests/data/tokenizer/xlm-roberta-1/tokenizer.json"
#define PREDICT(...) outcome_of("attnd-predict", (const char *[]){__VA_ARGS__, NULL})

/* A full-width A with an accent, which goes, two digits, and a ligature of two letters. */
#define TEXT "\xEF\xBC\xA1\xCC\x81\xEF\xBC\x91\xEF\xBC\x92 hello  \xEF\xAC\x81x"

static struct tempdir dir;

static void link_weights(const char *pattern)
{
    glob_t found;
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char from[PATH_MAX], to[PATH_MAX];
        ck_assert_ptr_nonnull(realpath(found.gl_pathv[i], from));
        snprintf(to, sizeof to, "%s%s", dir.path, strrchr(from, '/'));
        ck_assert_int_eq(symlink(from, to), 0);
    }
    globfree(&found);
}

/* bert-3 with another tokenizer, in which the first `from`, if any, is replaced by `to`, as long. */
static void open_model(const char *from, const char *to)
{
    size_t len;
    char *json = contract_file(TOKENIZER, &len);
    char *at = from != NULL ? strstr(json, from) : NULL;
    ck_assert((from == NULL) == (at == NULL));
    if (at != NULL)
        memcpy(at, to, strlen(to));
    tempdir_open(&dir);
    link_weights(WEIGHTS "config.json");
    link_weights(WEIGHTS "model*");
    tempdir_write(&dir, "tokenizer.json", json, len);
    free(json);
}

START_TEST(unigram_ids_are_those_of_the_reference)
{
    static const double ids[] = {0, 5, 202, 50, 5, 51, 14, 35, 35, 39, 5, 17, 42, 6, 2};
    open_model(NULL, NULL);
    struct json_t *found =
        outcome_json(PREDICT("--model", dir.path, "--text", TEXT, "--raw-logits"));
    ck_assert_uint_eq(doc_array_count(contract_at(found, "ids")), sizeof ids / sizeof ids[0]);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char path[16];
        snprintf(path, sizeof path, "ids.%zu", i);
        outcome_expect_number(found, path, ids[i]);
    }
    doc_free(found);
    tempdir_close(&dir);
}
END_TEST

START_TEST(unigram_explanations_name_the_characters_of_the_clients_text)
{
    char named[80];
    struct server_process server;
    open_model(NULL, NULL);
    snprintf(named, sizeof named, "text=%s", dir.path);
    server_process_start(&server, (const char *[]){"--model", named, NULL});
    struct reply reply = reply_of(
        http_post_json(server.port, "/predict", "{\"text\":\"" TEXT "\",\"explain\":true}"));
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "explanation.words"), 3);
    static const char *const paths[][2] = {
        {"explanation.words.0.start", "explanation.words.0.end"},
        {"explanation.words.1.start", "explanation.words.1.end"},
        {"explanation.words.2.start", "explanation.words.2.end"}};
    static const double extents[][2] = {{0, 4}, {5, 10}, {12, 14}};
    for (int i = 0; i < 3; i++)
        for (int side = 0; side < 2; side++)
            ck_assert_double_eq(reply_number(&reply, paths[i][side]), extents[i][side]);
    reply_free(&reply);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(unigram_tokenizers_that_are_not_understood_are_refused_by_name)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"ALQCAACE", "\"////////", "precompiled_charsmap: a trie of 4294967295 bytes"},
        {"\"ALQCAACE", "\"*LQCAACE", "precompiled_charsmap: invalid character at offset 0"},
        {"\"unk_id\": 3", "\"unk_id\":-1", "unk_id"},
        {"\"Precompiled\"", "\"Precompiles\"", "Precompiles"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_model(cases[i].from, cases[i].to);
        outcome_expect(PREDICT("--model", dir.path, "--text", "x"), 2, "", cases[i].says);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("contract_unigram", unigram_ids_are_those_of_the_reference,
      unigram_explanations_name_the_characters_of_the_clients_text,
      unigram_tokenizers_that_are_not_understood_are_refused_by_name)
