/* A text -> tokens, with the vocabulary of tests/data; the first byte is the limit. Also what
 * counts words of texts. */
#include "engine/text/tokenizer.h"

#include "engine/base/utf8.h"
#include "engine/text/word_counts.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

enum { TOKENS_MAX = 64, LIMIT_MIN = 3 };

static const struct tokenizer *tokenizer(void)
{
    static struct tokenizer *opened;
    struct err err = {0};
    if (opened == NULL)
        FUZZ_CLAIM(tokenizer_open(&opened, "tests/data/tokenizer/unicode", TOKENS_MAX, &err) ==
                   ERR_OK);
    return opened;
}

static void check_encoding(const struct encoding *encoding, unsigned limit, size_t characters)
{
    struct tokenizer_specials specials = tokenizer()->specials;
    unsigned last = encoding->count - 1;
    uint32_t before = 0;
    FUZZ_CLAIM(encoding->count >= 2 && encoding->count <= limit);
    FUZZ_CLAIM(encoding->ids[0] == specials.cls && encoding->ids[last] == specials.sep);
    for (unsigned i = 0; i < encoding->count; i++)
        FUZZ_CLAIM(encoding->ids[i] >= 0 && (unsigned)encoding->ids[i] < tokenizer()->vocab_size);
    for (unsigned i = 1; i < last; i++) {
        FUZZ_CLAIM(encoding->starts[i] >= before && encoding->starts[i] < encoding->ends[i]);
        FUZZ_CLAIM(encoding->ends[i] <= characters);
        before = encoding->starts[i];
    }
}

static void count_words(const char *text, size_t len)
{
    struct word_counts words;
    struct err err = {0};
    uint64_t total = 0;
    size_t offset;
    word_counts_init(&words, (struct normalizer_flags){.clean_text = true, .lower_case = true});
    bool valid = word_counts_add(&words, text, len, &err) == ERR_OK;
    FUZZ_CLAIM(valid == utf8_valid(text, len, &offset));
    for (size_t i = 0; i < words.count; i++) {
        FUZZ_CLAIM(utf8_valid(word_counts_text(&words, i), words.items[i].len, &offset));
        total += words.items[i].count;
    }
    FUZZ_CLAIM(total <= 4 * len);
    word_counts_deinit(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned limit = LIMIT_MIN + fuzz_byte(&input) % TOKENS_MAX;
    char *text = fuzz_copy(input.at, input.left);
    struct encoding encoding;
    struct arena arena;
    struct err err = {0};
    size_t offset;
    arena_init(&arena);
    bool valid = tokenizer_encode(tokenizer(), limit, text, input.left, NULL, &arena, &encoding,
                                  &err) == ERR_OK;
    fuzz_check_err(&err);
    FUZZ_CLAIM(valid == utf8_valid(text, input.left, &offset));
    if (valid)
        check_encoding(&encoding, limit, utf8_count(text, input.left));
    count_words(text, input.left);
    arena_deinit(&arena);
    free(text);
    return 0;
}
