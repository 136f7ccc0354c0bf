/* Unicode forms and grapheme clusters of a text: valid, within their bounds, and stable. */
#include "engine/text/unicode.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_form(enum unicode_form form, const struct aligned *in, struct arena *arena)
{
    struct err err = {0};
    struct aligned out, again;
    size_t offset, before = arena->bytes;
    FUZZ_CLAIM(unicode_forms_apply(form, in, &out, arena, NULL, &err) == ERR_OK);
    FUZZ_CLAIM(arena->bytes - before <= 1024 + 48 * in->len + 36 * (in->len + out.len));
    FUZZ_CLAIM(out.len <= UNICODE_FORMS_GROWTH_MAX * in->len);
    FUZZ_CLAIM(utf8_valid(out.bytes, out.len, &offset));
    for (size_t i = 1; i < out.len; i++)
        FUZZ_CLAIM(out.starts[i - 1] <= out.starts[i] && out.starts[i] < out.ends[i]);
    FUZZ_CLAIM(unicode_forms_apply(form, &out, &again, arena, NULL, &err) == ERR_OK);
    FUZZ_CLAIM(again.len == out.len);
    FUZZ_CLAIM(out.len == 0 || memcmp(again.bytes, out.bytes, out.len) == 0);
}

static void check_clusters(const char *text, size_t len)
{
    for (size_t at = 0, end; at < len; at = end) {
        end = grapheme_end(text, len, at);
        FUZZ_CLAIM(end > at && end <= len);
        FUZZ_CLAIM(end == len || ((unsigned char)text[end] & 0xC0) != 0x80);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    struct arena arena;
    struct aligned in;
    struct err err = {0};
    size_t offset;
    arena_init(&arena);
    if (utf8_valid(text, size, &offset)) {
        FUZZ_CLAIM(aligned_of_text(&in, text, size, 0, &arena, &err) == ERR_OK);
        for (int form = UNICODE_NFC; form <= UNICODE_NFKD; form++)
            check_form((enum unicode_form)form, &in, &arena);
        check_clusters(text, size);
    }
    arena_deinit(&arena);
    free(text);
    return 0;
}
