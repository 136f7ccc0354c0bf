/* BERT's text cleaning; the first byte chooses what it does. */
#include "engine/text/normalizer.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

enum { FIRST_INDEX = 5, GROWTH_MAX = UNICODE_DECOMPOSITION_MAX * 2 + 2 };

static void normalize(struct normalizer_flags flags, const char *text, size_t len,
                      struct arena *arena)
{
    struct normalizer normalizer;
    struct normalized out;
    struct err err = {0};
    size_t characters = utf8_count(text, len), count = 0;
    normalizer_init(&normalizer, flags, text, len, FIRST_INDEX, arena);
    while (normalizer_next(&normalizer, &out, &err)) {
        FUZZ_CLAIM(out.character <= 0x10FFFF);
        FUZZ_CLAIM(out.character < 0xD800 || out.character > 0xDFFF);
        FUZZ_CLAIM(out.source >= FIRST_INDEX && out.source < FIRST_INDEX + characters);
        FUZZ_CLAIM(!flags.clean_text || (out.character != 0 && out.character != 0xFFFD));
        count++;
    }
    FUZZ_CLAIM(err.code == ERR_OK && count <= characters * GROWTH_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned choice = fuzz_byte(&input);
    struct normalizer_flags flags = {.clean_text = (choice & 1) != 0,
                                     .space_cjk = (choice & 2) != 0,
                                     .strip_accents = (choice & 4) != 0,
                                     .lower_case = (choice & 8) != 0};
    char *text = fuzz_copy(input.at, input.left);
    size_t offset;
    struct arena arena;
    arena_init(&arena);
    if (utf8_valid(text, input.left, &offset))
        normalize(flags, text, input.left, &arena);
    arena_deinit(&arena);
    free(text);
    return 0;
}
