/* test_wordpiece_reference.c - ids and offsets of the reference tokenizer, case by case.
 *
 * The committed cases always run. ATTND_CORPORA names a directory with the complete corpora
 * (tokenizer/vocab.txt, *.jsonl.gz, hf_swift_cases.json, unit_vectors.json), ATTND_GOLDEN one with
 * checkpoint directories that hold cases.json: these are read if the variable is set. */
#include "engine/base/doc.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, TOKENS_MAX = 1000 * 1000 };

static struct json_t *parse_file(const char *path)
{
    struct err err = {0};
    struct json_t *root;
    ck_assert_msg(!doc_parse_file(&root, path, FILE_BYTES_MAX, &err), "%s: %s", path, err.text);
    return root;
}

static struct tokenizer *open_dir(const char *dir, unsigned tokens_max)
{
    struct err err = {0};
    struct tokenizer *out;
    ck_assert_msg(!tokenizer_open(&out, dir, tokens_max, &err), "%s: %s", dir, err.text);
    return out;
}

static double number_at(const struct json_t *array, size_t index)
{
    double number = -1;
    ck_assert(doc_as_number(doc_array_item(array, index), &number));
    return number;
}

/* The encoding without its first and last `margin` tokens has these ids. */
static void check_ids(const struct encoding *encoding, const struct json_t *ids, unsigned margin,
                      const char *where)
{
    ck_assert_msg(encoding->count == doc_array_count(ids) + 2 * margin, "%s: %u tokens, not %zu",
                  where, encoding->count - 2 * margin, doc_array_count(ids));
    for (unsigned i = 0; i + 2 * margin < encoding->count; i++)
        ck_assert_msg(encoding->ids[i + margin] == (int32_t)number_at(ids, i), "%s: token %u is %d",
                      where, i, (int)encoding->ids[i + margin]);
}

static void check_offsets(const struct encoding *encoding, const struct json_t *offsets,
                          const char *where)
{
    ck_assert_uint_eq(encoding->count, doc_array_count(offsets));
    for (unsigned i = 0; i < encoding->count; i++) {
        const struct json_t *pair = doc_array_item(offsets, i);
        ck_assert_msg(
            encoding->starts[i] == number_at(pair, 0) && encoding->ends[i] == number_at(pair, 1),
            "%s: token %u is at [%u, %u)", where, i, encoding->starts[i], encoding->ends[i]);
    }
}

/* A case: {text_key, ids_key, maybe offsets and truncated}. */
static void check_case(const struct tokenizer *tokenizer, const struct json_t *object,
                       const char *text_key, const char *ids_key, unsigned margin,
                       const char *where)
{
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    size_t len;
    const char *text = doc_text(doc_member(object, text_key), &len);
    size_t pair_len = 0;
    const char *pair = doc_text(doc_member(object, "text_pair"), &pair_len);
    ck_assert_ptr_nonnull(text);
    arena_init(&arena);
    ck_assert_msg(!tokenizer_encode_pair(tokenizer, 0, text, len, pair, pair != NULL ? pair_len : 0,
                                         NULL, &arena, &encoding, &err),
                  "%s: %s", where, err.text);
    check_ids(&encoding, doc_member(object, ids_key), margin, where);
    if (doc_member(object, "offsets") != NULL)
        check_offsets(&encoding, doc_member(object, "offsets"), where);
    bool truncated = encoding.truncated;
    ck_assert(!doc_get_bool(object, where, "truncated", &truncated, &err));
    ck_assert_msg(encoding.truncated == truncated, "%s: truncated", where);
    arena_deinit(&arena);
}

static size_t check_array(const struct tokenizer *tokenizer, const struct json_t *cases,
                          const char *ids_key, unsigned margin, const char *path)
{
    char where[512];
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        snprintf(where, sizeof where, "%s, case %zu", path, i);
        check_case(tokenizer, doc_array_item(cases, i), "text", ids_key, margin, where);
    }
    return doc_array_count(cases);
}

START_TEST(wordpiece_gives_the_ids_of_bert_base_uncased)
{
    static const char dir[] = "tests/data/tokenizer/bert-base-uncased";
    struct tokenizer *tokenizer = open_dir(dir, TOKENS_MAX);
    struct json_t *cases = parse_file("tests/data/tokenizer/bert-base-uncased/cases.json");
    ck_assert_uint_eq(check_array(tokenizer, cases, "ids", 1, dir), 190);
    doc_free(cases);
    tokenizer_close(tokenizer);
}
END_TEST

/* ---- every combination of flags, over difficult characters ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    char *text = calloc(1, 1 << 20);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_lt(fread(text, 1, 1 << 20, file), 1 << 20);
    fclose(file);
    return text;
}

static struct tokenizer *open_for_case(const struct json_t *object, const char *vocab)
{
    struct err err = {0};
    bool lower = true, cjk = true, strip = false;
    long long limit = 512;
    ck_assert(!doc_get_bool(object, "$", "lower", &lower, &err));
    ck_assert(!doc_get_bool(object, "$", "cjk", &cjk, &err));
    ck_assert(!doc_get_bool(object, "$", "strip", &strip, &err));
    ck_assert(!doc_get_integer(object, "$", "limit", 3, 512, &limit, &err));
    const char *strips = doc_member(object, "strip") == NULL ? "null" : strip ? "true" : "false";
    char config[256];
    snprintf(config, sizeof config,
             "{\"do_lower_case\": %s, \"tokenize_chinese_chars\": %s, \"strip_accents\": %s, "
             "\"model_max_length\": %lld}",
             lower ? "true" : "false", cjk ? "true" : "false", strips, limit);
    return fixture_open(vocab, NULL, config);
}

START_TEST(wordpiece_gives_ids_and_offsets_for_difficult_characters)
{
    char *vocab = read_text("tests/data/tokenizer/unicode/vocab.txt");
    struct json_t *cases = parse_file("tests/data/tokenizer/unicode/cases.json");
    ck_assert_uint_eq(doc_array_count(cases), 480);
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        const struct json_t *object = doc_array_item(cases, i);
        struct tokenizer *tokenizer = open_for_case(object, vocab);
        char where[64];
        snprintf(where, sizeof where, "unicode case %zu", i);
        check_case(tokenizer, object, "text", "ids", 0, where);
        tokenizer_close(tokenizer);
    }
    doc_free(cases);
    free(vocab);
}
END_TEST

/* ---- the complete corpora ---- */

/* One JSON object a line, compressed. */
static size_t check_lines(const struct tokenizer *tokenizer, const char *path)
{
    char command[600], where[600], *line = NULL;
    size_t size = 0, count = 0;
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    FILE *lines = popen(command, "r");
    ck_assert_ptr_nonnull(lines);
    for (ssize_t len; (len = getline(&line, &size, lines)) > 0; count++) {
        struct err err = {0};
        struct json_t *object;
        snprintf(where, sizeof where, "%s, line %zu", path, count + 1);
        ck_assert_msg(!doc_parse(&object, line, (size_t)len, &doc_limits_file, &err), "%s: %s",
                      where, err.text);
        check_case(tokenizer, object, "text", "ids", 1, where);
        doc_free(object);
    }
    free(line);
    ck_assert_int_eq(pclose(lines), 0);
    return count;
}

static void check_swift(const struct tokenizer *tokenizer, const char *path)
{
    struct json_t *root = parse_file(path);
    const struct json_t *cases = doc_member(root, "bert-base-uncased");
    ck_assert_uint_gt(doc_array_count(cases), 0);
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        const struct json_t *object = doc_array_item(cases, i);
        size_t len;
        struct arena arena;
        struct err err = {0};
        struct encoding encoding;
        const char *text = doc_text(doc_member(object, "input"), &len);
        arena_init(&arena);
        ck_assert(!tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err));
        check_ids(&encoding, doc_member(doc_member(object, "encoded"), "input_ids"), 0, path);
        arena_deinit(&arena);
    }
    doc_free(root);
}

/* Cases of the reference's unit tests name tokens: a vocabulary is made of `pieces`, and the ids
 * must be where the expected tokens stand in it. */
static void check_vector(const struct json_t *object, const struct json_t *pieces, bool lower)
{
    char vocab[4096] = "[UNK]\n[CLS]\n[SEP]\n", config[128];
    const struct json_t *tokens = doc_member(object, "tokens");
    for (size_t i = 0; i < doc_array_count(pieces); i++) {
        const char *piece = doc_as_string(doc_array_item(pieces, i));
        ck_assert_uint_lt(strlen(vocab) + strlen(piece) + 2, sizeof vocab);
        snprintf(vocab + strlen(vocab), sizeof vocab - strlen(vocab), "%s\n", piece);
    }
    const struct json_t *strip = doc_member(object, "strip_accents");
    struct err err = {0};
    bool strips = false;
    ck_assert(!doc_get_bool(object, "$", "strip_accents", &strips, &err));
    snprintf(config, sizeof config, "{\"do_lower_case\": %s, \"strip_accents\": %s}",
             lower ? "true" : "false",
             strip == NULL ? "null"
             : strips      ? "true"
                           : "false");
    struct tokenizer *tokenizer = fixture_open(vocab, NULL, config);
    struct arena arena;
    struct encoding encoding;
    size_t len;
    const char *text = doc_text(doc_member(object, "text"), &len);
    arena_init(&arena);
    ck_assert(!tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err));
    ck_assert_uint_eq(encoding.count, doc_array_count(tokens) + 2);
    for (unsigned i = 0; i + 2 < encoding.count; i++) {
        const char *token = doc_as_string(doc_array_item(tokens, i));
        char *line = vocab;
        for (int32_t id = encoding.ids[i + 1]; id > 0; id--)
            line = strchr(line, '\n') + 1;
        ck_assert_msg(strncmp(line, token, strlen(token)) == 0 && line[strlen(token)] == '\n',
                      "expected %s in %s", token, text);
    }
    arena_deinit(&arena);
    tokenizer_close(tokenizer);
}

static void check_vectors(const char *path, const struct tokenizer *bert)
{
    struct json_t *root = parse_file(path);
    struct err err = {0};
    static const char *const groups[] = {"full", "basic", "wordpiece"};
    for (size_t g = 0; g < 3; g++) {
        const struct json_t *cases = doc_member(root, groups[g]);
        ck_assert_uint_gt(doc_array_count(cases), 0);
        for (size_t i = 0; i < doc_array_count(cases); i++) {
            const struct json_t *object = doc_array_item(cases, i);
            const char *vocab = NULL;
            bool lower = g < 2;
            ck_assert(!doc_get_bool(object, "$", "lower", &lower, &err));
            ck_assert(!doc_get_string(object, "$", "vocab", &vocab, &err));
            const char *pieces = vocab != NULL ? vocab : "tokens";
            check_vector(object, doc_member(vocab != NULL ? root : object, pieces), lower);
        }
    }
    const struct json_t *offsets = doc_member(root, "offsets_bert_base_uncased");
    for (size_t i = 0; i < doc_array_count(offsets); i++) {
        const struct json_t *object = doc_array_item(offsets, i);
        struct arena arena;
        struct encoding encoding;
        size_t len;
        const char *text = doc_text(doc_member(object, "text"), &len);
        arena_init(&arena);
        ck_assert(!tokenizer_encode(bert, 0, text, len, NULL, &arena, &encoding, &err));
        check_offsets(&encoding, doc_member(object, "offsets"), path);
        arena_deinit(&arena);
    }
    doc_free(root);
}

START_TEST(wordpiece_agrees_with_the_complete_corpora)
{
    const char *corpora = getenv("ATTND_CORPORA");
    if (corpora == NULL)
        suite_skip("ATTND_CORPORA is not set");
    char path[512];
    snprintf(path, sizeof path, "%s/tokenizer", corpora);
    struct tokenizer *tokenizer = open_dir(path, TOKENS_MAX);
    snprintf(path, sizeof path, "%s/tokenizer/golden_mixed.jsonl.gz", corpora);
    ck_assert_uint_eq(check_lines(tokenizer, path), 2891);
    snprintf(path, sizeof path, "%s/tokenizer/squad_questions_golden.jsonl.gz", corpora);
    ck_assert_uint_eq(check_lines(tokenizer, path), 5285);
    snprintf(path, sizeof path, "%s/tokenizer/hf_swift_cases.json", corpora);
    check_swift(tokenizer, path);
    snprintf(path, sizeof path, "%s/tokenizer/unit_vectors.json", corpora);
    check_vectors(path, tokenizer);
    tokenizer_close(tokenizer);
}
END_TEST

START_TEST(wordpiece_agrees_with_every_golden_checkpoint)
{
    const char *golden = getenv("ATTND_GOLDEN");
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/*bert-[0-9]",
             golden != NULL ? golden : "tests/data/golden");
    glob_t found;
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    size_t checked = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *dir = found.gl_pathv[i];
        if (strstr(dir, "modernbert") != NULL) /* byte-level BPE */
            continue;
        snprintf(pattern, sizeof pattern, "%s/cases.json", dir);
        struct tokenizer *tokenizer = open_dir(dir, 512);
        struct json_t *cases = parse_file(pattern);
        checked += check_array(tokenizer, cases, "ids", 0, dir);
        doc_free(cases);
        tokenizer_close(tokenizer);
    }
    ck_assert_uint_ge(checked, golden != NULL ? 156 : 23);
    globfree(&found);
}
END_TEST

SUITE("wordpiece_reference", wordpiece_gives_the_ids_of_bert_base_uncased,
      wordpiece_gives_ids_and_offsets_for_difficult_characters,
      wordpiece_agrees_with_the_complete_corpora, wordpiece_agrees_with_every_golden_checkpoint)
