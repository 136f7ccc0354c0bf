/* test_unigram_checkpoints.c - texts of hostile hands through whole tokenizers with a Unigram model:
 * NFKD and StripAccents (ALBERT), Precompiled in each place of a sequence, both forms of Metaspace.
 * Their ids and offsets are in pipeline/test_text_pipeline_reference.c. */
#include "tests/support/suite.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 100000, TEXT_BYTES = 200000 };

static const char *const names[] = {"albert-0", "xlm-roberta-0", "xlm-roberta-1", "deberta-v2-0"};
enum { NAMES = sizeof names / sizeof names[0] };

static struct tokenizer *open_named(const char *name)
{
    char path[128];
    struct err err = {0};
    struct tokenizer *out;
    snprintf(path, sizeof path, "tests/data/tokenizer/%s", name);
    ck_assert_msg(!tokenizer_open(&out, path, TOKENS_MAX, &err), "%s: %s", path, err.text);
    return out;
}

/* Hostile texts: a sort or a walk that begins again and again would not survive them. */
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
            size_t bytes = strlen(rows[i]), len = TEXT_BYTES / bytes * bytes;
            char *text = malloc(len);
            ck_assert_ptr_nonnull(text);
            for (size_t at = 0; at < len; at += bytes)
                memcpy(text + at, rows[i], bytes);
            arena_init(&arena);
            ck_assert(!tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err));
            ck_assert_uint_le(arena.bytes, tokenizer_encode_bytes(tokenizer, 0, text, len));
            arena_deinit(&arena);
            free(text);
        }
        tokenizer_close(tokenizer);
    }
}
END_TEST

SUITE("unigram_checkpoints", unigram_checkpoints_take_hostile_texts_within_what_they_claim)
