/* test_text_pipeline_reference.c - ids, offsets and types of the reference's fast tokenizers.
 *
 * The committed cases always run. ATTND_GOLDEN names a directory with checkpoint directories that
 * hold cases.json: all those with a tokenizer.json are read if the variable is set. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/unit/engine/text/fixture.h"

#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, TOKENS_MAX = 1000 * 1000 };

static struct json_t *parse_file(const char *path)
{
    struct err err = {0};
    struct json_t *root;
    ck_assert_msg(!doc_parse_file(&root, path, FILE_BYTES_MAX, &err), "%s: %s", path, err.text);
    return root;
}

static double number_at(const struct json_t *array, size_t index)
{
    double number = -1;
    ck_assert(doc_as_number(doc_array_item(array, index), &number));
    return number;
}

static void check_encoding(const struct encoding *encoding, const struct json_t *expected,
                           const char *where)
{
    const struct json_t *ids = doc_member(expected, "ids");
    const struct json_t *offsets = doc_member(expected, "offsets");
    const struct json_t *types = doc_member(expected, "token_type_ids");
    ck_assert_msg(encoding->count == doc_array_count(ids), "%s: %u tokens, not %zu", where,
                  encoding->count, doc_array_count(ids));
    for (unsigned i = 0; i < encoding->count; i++) {
        ck_assert_msg(encoding->ids[i] == (int32_t)number_at(ids, i), "%s: token %u is %d", where,
                      i, (int)encoding->ids[i]);
        const struct json_t *extent = doc_array_item(offsets, i);
        ck_assert_msg(offsets == NULL || (encoding->starts[i] == number_at(extent, 0) &&
                                          encoding->ends[i] == number_at(extent, 1)),
                      "%s: token %u is at [%u, %u)", where, i, encoding->starts[i],
                      encoding->ends[i]);
        unsigned type = encoding->types != NULL ? encoding->types[i] : 0;
        ck_assert_msg(types == NULL || type == number_at(types, i), "%s: token %u has type %u",
                      where, i, type);
    }
}

static void check_case(const struct tokenizer *tokenizer, const struct json_t *expected,
                       const char *where)
{
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    size_t len, pair_len = 0;
    const char *text = doc_text(doc_member(expected, "text"), &len);
    const char *pair = doc_text(doc_member(expected, "text_pair"), &pair_len);
    pair_len = pair != NULL ? pair_len : 0;
    arena_init(&arena);
    ck_assert_msg(!tokenizer_encode_pair(tokenizer, 0, text, len, pair, pair_len, NULL, &arena,
                                         &encoding, &err),
                  "%s: %s", where, err.text);
    check_encoding(&encoding, expected, where);
    ck_assert_uint_le(arena.bytes,
                      tokenizer_encode_pair_bytes(tokenizer, text, len, pair, pair_len));
    arena_deinit(&arena);
}

/* Checks a list of cases; returns the number of its texts. */
static size_t check_cases(const struct tokenizer *tokenizer, const struct json_t *cases,
                          const char *where)
{
    size_t count = 0;
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        char name[600];
        snprintf(name, sizeof name, "%s, case %zu", where, i);
        if (doc_member(doc_array_item(cases, i), "text") == NULL)
            continue;
        check_case(tokenizer, doc_array_item(cases, i), name);
        count++;
    }
    return count;
}

static size_t check_checkpoint(const char *dir)
{
    struct tokenizer *tokenizer;
    struct err err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/cases.json", dir);
    ck_assert_msg(!tokenizer_open(&tokenizer, dir, TOKENS_MAX, &err), "%s: %s", dir, err.text);
    struct json_t *root = parse_file(path);
    const struct json_t *cases = doc_member(root, "cases");
    size_t count = check_cases(tokenizer, cases != NULL ? cases : root, dir);
    doc_free(root);
    tokenizer_close(tokenizer);
    return count;
}

START_TEST(checkpoints_of_every_family_encode_as_the_reference)
{
    static const struct {
        const char *name;
        size_t texts;
    } checkpoints[] = {{"roberta-1", 37},     {"modernbert-1", 44},  {"clip-0", 28},
                       {"mpnet-0", 37},       {"bert-5", 27},        {"albert-0", 37},
                       {"xlm-roberta-1", 42}, {"xlm-roberta-0", 37}, {"deberta-v2-0", 37}};
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
        char dir[128];
        snprintf(dir, sizeof dir, "tests/data/tokenizer/%s", checkpoints[i].name);
        ck_assert_uint_eq(check_checkpoint(dir), checkpoints[i].texts);
    }
}
END_TEST

/* Families whose cases have another language each, or are padded, or have a prompt. */
static bool is_unserved(const char *dir)
{
    static const char *const families[] = {"/mbart-", "/han-", "/nystromformer-", "/st-"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strstr(dir, families[i]) != NULL)
            return true;
    return false;
}

START_TEST(every_golden_checkpoint_encodes_as_the_reference)
{
    const char *golden = getenv("ATTND_GOLDEN");
    if (golden == NULL)
        suite_skip("ATTND_GOLDEN is not set");
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*-[0-9]/tokenizer.json", golden);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        *strrchr(found.gl_pathv[i], '/') = '\0';
        if (!is_unserved(found.gl_pathv[i]))
            check_checkpoint(found.gl_pathv[i]);
    }
    globfree(&found);
}
END_TEST

/* The text of one member of each line of steps.json: "tokenizer" is between name and cases. */
static void check_step(const char *line, const struct json_t *entry)
{
    const char *name = doc_as_string(doc_member(entry, "name"));
    const char *start = strstr(line, "\"tokenizer\":") + strlen("\"tokenizer\":");
    const char *end = strstr(start, ",\"cases\":[");
    struct err err = {0};
    struct tokenizer *tokenizer;
    char *json = strndup(start, (size_t)(end - start));
    ck_assert_msg(!fixture_try(&tokenizer, NULL, json, NULL, TOKENS_MAX, &err), "%s: %s", name,
                  err.text);
    ck_assert_uint_eq(check_cases(tokenizer, doc_member(entry, "cases"), name), 20);
    tokenizer_close(tokenizer);
    free(json);
}

START_TEST(each_step_alone_does_what_the_reference_does)
{
    static const char path[] = "tests/data/tokenizer/steps.json";
    struct json_t *root = parse_file(path);
    struct err err = {0};
    char *bytes, *rest;
    size_t len;
    ck_assert(!file_read(&bytes, &len, path, FILE_BYTES_MAX, &err));
    bytes[len - 1] = '\0';
    rest = strchr(bytes, '\n') + 1;
    ck_assert_uint_eq(doc_array_count(root), 57);
    for (size_t i = 0; i < doc_array_count(root); i++) {
        char *line = strsep(&rest, "\n");
        check_step(line, doc_array_item(root, i));
    }
    free(bytes);
    doc_free(root);
}
END_TEST

SUITE("text_pipeline_reference", checkpoints_of_every_family_encode_as_the_reference,
      every_golden_checkpoint_encodes_as_the_reference,
      each_step_alone_does_what_the_reference_does)
