/* test_unigram_reference.c - ids and offsets of checkpoints with a Unigram model, as transformers
 * answered them: NFKD and StripAccents (ALBERT), Precompiled in each place of a sequence, both forms
 * of Metaspace, pairs, cut texts. */
#include "engine/base/doc.h"
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20, TOKENS_MAX = 100000, MARKS = 200000 };
#define FOLDER "tests/data/tokenizer/"

static const char *const names[] = {"albert-0", "xlm-roberta-0", "xlm-roberta-1", "deberta-v2-0"};
enum { NAMES = sizeof names / sizeof names[0] };

static struct tokenizer *open_named(const char *name)
{
    char path[128];
    struct err err = {0};
    struct tokenizer *out;
    snprintf(path, sizeof path, FOLDER "%s", name);
    ck_assert_msg(!tokenizer_open(&out, path, TOKENS_MAX, &err), "%s: %s", path, err.text);
    return out;
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
    const struct json_t *ids = doc_member(expected, "ids"),
                        *offsets = doc_member(expected, "offsets");
    ck_assert_msg(encoding->count == doc_array_count(ids), "%s: %u tokens, not %zu", where,
                  encoding->count, doc_array_count(ids));
    ck_assert_uint_eq(encoding->count, doc_array_count(offsets));
    for (unsigned i = 0; i < encoding->count; i++) {
        const struct json_t *extent = doc_array_item(offsets, i);
        ck_assert_msg(encoding->ids[i] == number_at(ids, i), "%s: token %u is %d", where, i,
                      (int)encoding->ids[i]);
        ck_assert_msg(encoding->starts[i] == number_at(extent, 0) &&
                          encoding->ends[i] == number_at(extent, 1),
                      "%s: token %u is at [%u, %u)", where, i, encoding->starts[i],
                      encoding->ends[i]);
    }
}

static void check_case(const struct tokenizer *tokenizer, const struct json_t *expected,
                       const char *where)
{
    size_t len, pair_len = 0;
    const char *text = doc_text(doc_member(expected, "text"), &len);
    const char *pair = doc_text(doc_member(expected, "text_pair"), &pair_len);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert_ptr_nonnull(text);
    enum err_code code =
        pair == NULL ? tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err)
                     : tokenizer_encode_pair(tokenizer, 0, text, len, pair, pair_len, NULL, &arena,
                                             &encoding, &err);
    ck_assert_msg(code == ERR_OK, "%s: %s", where, err.text);
    check_encoding(&encoding, expected, where);
    size_t claimed = pair == NULL
                         ? tokenizer_encode_bytes(tokenizer, text, len)
                         : tokenizer_encode_pair_bytes(tokenizer, text, len, pair, pair_len);
    ck_assert_uint_le(arena.bytes, claimed);
    arena_deinit(&arena);
}

static void check_cases(const char *name)
{
    char path[128], where[64];
    struct err err = {0};
    struct json_t *cases;
    struct tokenizer *tokenizer = open_named(name);
    snprintf(path, sizeof path, FOLDER "%s/cases.json", name);
    ck_assert_msg(!doc_parse_file(&cases, path, FILE_BYTES_MAX, &err), "%s", err.text);
    ck_assert_uint_ge(doc_array_count(cases), 31);
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        snprintf(where, sizeof where, "%s, case %zu", name, i);
        check_case(tokenizer, doc_array_item(cases, i), where);
    }
    doc_free(cases);
    tokenizer_close(tokenizer);
}

START_TEST(unigram_checkpoints_have_the_ids_and_offsets_of_the_reference)
{
    for (size_t i = 0; i < NAMES; i++)
        check_cases(names[i]);
}
END_TEST

/* What only a sort or a walk that begins again and again would not survive. */
START_TEST(unigram_checkpoints_take_hostile_texts_within_what_they_claim)
{
    static const char *const rows[] = {
        "\xCC\x81", "\xCD\x84", "\xEF\xB7\xBA", "\xF0\x9F\x87\xA6",
        "a",        " ",        "\xE2\x96\x81", "\xE0\xA4\x95\xE0\xA5\x8D",
        "\x01"};
    for (size_t n = 0; n < NAMES; n++) {
        struct tokenizer *tokenizer = open_named(names[n]);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            struct arena arena;
            struct err err = {0};
            struct encoding encoding;
            size_t bytes = strlen(rows[i]), len = MARKS / bytes * bytes;
            char *text = malloc(len);
            ck_assert_ptr_nonnull(text);
            for (size_t at = 0; at < len; at += bytes)
                memcpy(text + at, rows[i], bytes);
            arena_init(&arena);
            ck_assert(!tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err));
            ck_assert_uint_le(arena.bytes, tokenizer_encode_bytes(tokenizer, text, len));
            arena_deinit(&arena);
            free(text);
        }
        tokenizer_close(tokenizer);
    }
}
END_TEST

SUITE("unigram_reference", unigram_checkpoints_have_the_ids_and_offsets_of_the_reference,
      unigram_checkpoints_take_hostile_texts_within_what_they_claim)
