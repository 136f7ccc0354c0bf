/* fixture.h - tokenizers opened from files that a test writes, and comparison of encodings. */
#ifndef ATTND_TESTS_UNIT_ENGINE_TEXT_FIXTURE_H
#define ATTND_TESTS_UNIT_ENGINE_TEXT_FIXTURE_H

#include "engine/text/tokenizer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The texts of a tokenizer's files; NULL leaves a file out. */
static inline void fixture_write(struct tempdir *dir, const char *vocab, const char *tokenizer,
                                 const char *config)
{
    tempdir_open(dir);
    if (vocab != NULL)
        tempdir_write(dir, "vocab.txt", vocab, strlen(vocab));
    if (tokenizer != NULL)
        tempdir_write(dir, "tokenizer.json", tokenizer, strlen(tokenizer));
    if (config != NULL)
        tempdir_write(dir, "tokenizer_config.json", config, strlen(config));
}

/* A tokenizer from them. */
static inline enum err_code fixture_try(struct tokenizer **out, const char *vocab,
                                        const char *tokenizer, const char *config,
                                        unsigned tokens_max, struct err *err)
{
    struct tempdir dir;
    fixture_write(&dir, vocab, tokenizer, config);
    enum err_code code = tokenizer_open(out, dir.path, tokens_max, err);
    tempdir_close(&dir);
    ck_assert_int_eq(code, err->code);
    ck_assert_int_eq(*out == NULL, code != ERR_OK);
    return code;
}

static inline struct tokenizer *fixture_open(const char *vocab, const char *tokenizer,
                                             const char *config)
{
    struct err err = {0};
    struct tokenizer *out;
    ck_assert_msg(!fixture_try(&out, vocab, tokenizer, config, 512, &err), "%s", err.text);
    return out;
}

/* The encoding as "id[start,end) ...", which reads well when a comparison fails. */
static inline const char *fixture_print(const struct encoding *encoding, struct arena *arena)
{
    size_t size = 40 * (size_t)encoding->count + 16, used = 0;
    char *text = arena_alloc(arena, size);
    ck_assert_ptr_nonnull(text);
    text[0] = '\0';
    for (unsigned i = 0; i < encoding->count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d[%u,%u)", i == 0 ? "" : " ",
                                 (int)encoding->ids[i], encoding->starts[i], encoding->ends[i]);
    if (encoding->truncated)
        snprintf(text + used, size - used, " truncated");
    return text;
}

/* Encodes `len` bytes and checks the printed result. */
static inline void fixture_check_bytes(const struct tokenizer *tokenizer, const char *text,
                                       size_t len, const char *expected)
{
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert_msg(!tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err), "%s",
                  err.text);
    ck_assert_str_eq(fixture_print(&encoding, &arena), expected);
    arena_deinit(&arena);
}

static inline void fixture_check(const struct tokenizer *tokenizer, const char *text,
                                 const char *expected)
{
    fixture_check_bytes(tokenizer, text, strlen(text), expected);
}

/* A small generator of its own, so that a failing case comes back with its seed. */
static inline unsigned fixture_random(unsigned long long *state, unsigned below)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(*state >> 33) % below;
}

#endif
