/* tokenizer_config.json over a small vocab.txt; after a byte 0 each, special_tokens_map.json and
 * added_tokens.json. */
#include "engine/text/tokenizer.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 32 };

static void put_part(struct fuzz_input *input, const char *name)
{
    size_t len;
    if (input->left == 0) {
        fuzz_file_remove(name);
        return;
    }
    char *part = fuzz_part(input, '\0', &len);
    fuzz_file(name, part, len);
    free(part);
}

static void encode(const struct tokenizer *tokenizer)
{
    static const char text[] = "ab [MASK] <x> a[X]b caf\xC3\xA9";
    struct arena arena;
    struct encoding encoding;
    struct err err = {0};
    arena_init(&arena);
    FUZZ_CLAIM(tokenizer_encode(tokenizer, 0, text, sizeof text - 1, NULL, &arena, &encoding,
                                &err) == ERR_OK);
    FUZZ_CLAIM(encoding.count <= tokenizer->limit);
    for (unsigned i = 0; i < encoding.count; i++)
        FUZZ_CLAIM((unsigned)encoding.ids[i] < tokenizer->vocab_size);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n";
    struct fuzz_input input = {data, size};
    struct tokenizer *tokenizer;
    struct err err = {0};
    fuzz_file("vocab.txt", vocab, strlen(vocab));
    put_part(&input, "tokenizer_config.json");
    put_part(&input, "special_tokens_map.json");
    put_part(&input, "added_tokens.json");
    if (tokenizer_open(&tokenizer, fuzz_dir(), TOKENS_MAX, &err) == ERR_OK) {
        FUZZ_CLAIM(tokenizer->limit >= 3 && tokenizer->limit <= TOKENS_MAX);
        encode(tokenizer);
    }
    fuzz_check_err(&err);
    tokenizer_close(tokenizer);
    return 0;
}
