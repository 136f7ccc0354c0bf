/* A precompiled_charsmap, and a text that it is applied to: a byte with the length of the text, the
 * text, then half trie, half replacements. The size of the trie is filled in, so that libFuzzer need
 * not find it. */
#include "engine/text/precompiled.h"

#include "engine/base/base64.h"
#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS = 512 };

static void check(const struct precompiled *table, const char *text, size_t len,
                  struct arena *arena)
{
    struct err err = {0};
    struct aligned in, out;
    struct precompiled_growth growth = precompiled_growth(table);
    size_t offset, characters = utf8_count(text, len);
    FUZZ_CLAIM(aligned_of_text(&in, text, len, 0, arena, &err) == ERR_OK);
    FUZZ_CLAIM(precompiled_apply(table, &in, &out, arena, NULL, &err) == ERR_OK);
    FUZZ_CLAIM(utf8_valid(out.bytes, out.len, &offset));
    FUZZ_CLAIM(out.len <= len * (growth.ascii > growth.other ? growth.ascii : growth.other));
    for (size_t i = 0; i < out.len; i++)
        FUZZ_CLAIM(out.starts[i] < out.ends[i] && out.ends[i] <= characters);
}

/* Four bytes of the input are a unit of the trie, as far as they go; the rest are replacements. */
static char *charsmap(const uint8_t *data, size_t size, size_t *len)
{
    uint32_t trie = (uint32_t)(size / 2 < 4 * UNITS ? size / 2 : 4 * UNITS) & ~3u;
    char *bytes = malloc(4 + size);
    FUZZ_CLAIM(bytes != NULL);
    memcpy(bytes, &trie, 4);
    memcpy(bytes + 4, data, size);
    *len = base64_encoded_size(4 + size) - 1;
    char *text = malloc(*len + 1);
    FUZZ_CLAIM(text != NULL);
    base64_encode(text, bytes, 4 + size);
    free(bytes);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t text_len = fuzz_byte(&input), len, offset;
    text_len = text_len < input.left ? text_len : input.left;
    char *text = fuzz_copy(input.at, text_len);
    char *map = charsmap(input.at + text_len, input.left - text_len, &len);
    struct arena arena;
    struct err err = {0};
    struct precompiled *table;
    arena_init(&arena);
    enum err_code code = precompiled_read(&table, map, len, &arena, &err);
    fuzz_check_err(&err);
    if (code == ERR_OK && utf8_valid(text, text_len, &offset))
        check(table, text, text_len, &arena);
    arena_deinit(&arena);
    free(map);
    free(text);
    return 0;
}
