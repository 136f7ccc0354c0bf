/* vocab.txt, and then a text with what it holds: the vocabulary itself. Also as the list that a
 * vocabulary is trimmed by. */
#include "engine/text/tokenizer.h"
#include "engine/text/vocab_use.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

enum { TOKENS_MAX = 32 };

static void encode(const struct tokenizer *tokenizer, const uint8_t *data, size_t size)
{
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    FUZZ_CLAIM(tokenizer_encode(tokenizer, 0, (const char *)data, size, NULL, &arena, &encoding,
                                &err) == ERR_OK);
    FUZZ_CLAIM(encoding.count <= tokenizer->limit);
    for (unsigned i = 0; i < encoding.count; i++)
        FUZZ_CLAIM((unsigned)encoding.ids[i] < tokenizer->vocab_size);
    arena_deinit(&arena);
}

static void trim(const uint8_t *data, size_t size)
{
    struct vocab_use *use;
    struct err err = {0};
    if (vocab_use_open(&use, fuzz_dir(), &err) == ERR_OK &&
        vocab_use_add(use, (const char *)data, size, &err) == ERR_OK) {
        size_t lines = vocab_use_size(use);
        int32_t *ids = malloc((lines + 1) * sizeof *ids);
        FUZZ_CLAIM(ids != NULL);
        size_t kept = vocab_use_choose(use, &(struct vocab_choice){.keep_min = 1}, ids);
        FUZZ_CLAIM(kept <= lines);
        for (size_t i = 0; i < kept; i++)
            FUZZ_CLAIM((size_t)ids[i] < lines && (i == 0 || ids[i] > ids[i - 1]));
        free(ids);
    }
    fuzz_check_err(&err);
    vocab_use_close(use);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tokenizer *tokenizer;
    struct err err = {0};
    fuzz_file("vocab.txt", data, size);
    if (tokenizer_open(&tokenizer, fuzz_dir(), TOKENS_MAX, &err) == ERR_OK) {
        encode(tokenizer, data, size);
        trim(data, size);
    }
    fuzz_check_err(&err);
    tokenizer_close(tokenizer);
    return 0;
}
