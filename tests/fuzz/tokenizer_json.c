/* tokenizer.json without a vocab.txt; after a byte 0, tokenizer_config.json. */
#include "engine/text/tokenizer.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

enum { TOKENS_MAX = 32 };

static void encode(const struct tokenizer *tokenizer)
{
    static const char text[] = "Unwanted [MASK] caf\xC3\xA9 \xE4\xB8\xAD running[SEP]! ab <m>";
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    size_t told = tokenizer_encode_bytes(tokenizer, text, sizeof text - 1);
    tokenizer_encode(tokenizer, 0, text, sizeof text - 1, NULL, &arena, &encoding, &err);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_TOO_LARGE); /* when normalised */
    FUZZ_CLAIM(arena.bytes <= told);
    for (unsigned i = 0; err.code == ERR_OK && i < encoding.count; i++)
        FUZZ_CLAIM((unsigned)encoding.ids[i] < tokenizer->vocab_size);
    FUZZ_CLAIM(err.code != ERR_OK || encoding.count <= tokenizer->limit);
    tokenizer_encode_pair(tokenizer, 0, text, sizeof text - 1, "ab [MASK]", 9, NULL, &arena,
                          &encoding, &err);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct tokenizer *tokenizer;
    struct err err = {0};
    size_t len;
    char *json = fuzz_part(&input, '\0', &len);
    fuzz_file("tokenizer.json", json, len);
    free(json);
    if (input.left > 0)
        fuzz_file("tokenizer_config.json", input.at, input.left);
    else
        fuzz_file_remove("tokenizer_config.json");
    if (tokenizer_open(&tokenizer, fuzz_dir(), TOKENS_MAX, &err) == ERR_OK)
        encode(tokenizer);
    fuzz_check_err(&err);
    tokenizer_close(tokenizer);
    return 0;
}
