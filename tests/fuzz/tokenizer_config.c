/* tokenizer_config.json over a small vocab.txt. */
#include "engine/text/tokenizer_config.h"

#include "tests/fuzz/driver/fuzz.h"

#include <string.h>

enum { TOKENS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n";
    struct tokenizer_config config;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    fuzz_file("vocab.txt", vocab, strlen(vocab));
    fuzz_file("tokenizer_config.json", data, size);
    if (tokenizer_config_read(&config, fuzz_dir(), TOKENS_MAX, &arena, &err) == ERR_OK) {
        FUZZ_CLAIM(config.limit >= 3 && config.limit <= TOKENS_MAX);
        FUZZ_CLAIM((unsigned)config.cls < config.vocab_size);
        FUZZ_CLAIM((unsigned)config.sep < config.vocab_size);
        FUZZ_CLAIM((unsigned)config.unk < config.vocab_size);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
    return 0;
}
