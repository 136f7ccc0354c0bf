/* aligned_fixture.h - aligned texts printed, so that a comparison reads well when it fails. */
#ifndef ATTND_TESTS_UNIT_ENGINE_TEXT_ALIGNED_FIXTURE_H
#define ATTND_TESTS_UNIT_ENGINE_TEXT_ALIGNED_FIXTURE_H

#include "engine/base/utf8.h"
#include "engine/text/aligned.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static inline struct aligned aligned_fixture(const char *text, size_t len, struct arena *arena)
{
    struct aligned out;
    struct err err = {0};
    ck_assert_msg(!aligned_of_text(&out, text, len, 0, arena, &err), "%s", err.text);
    return out;
}

/* "0-1 1-2": the extent of each character; all bytes of one have the same. */
static inline const char *aligned_fixture_extents(const struct aligned *text, struct arena *arena)
{
    size_t size = 24 * text->len + 1, used = 0;
    char *out = arena_alloc(arena, size);
    ck_assert_ptr_nonnull(out);
    out[0] = '\0';
    for (size_t at = 0, next = 0; at < text->len; at = next) {
        utf8_decode(text->bytes, &next);
        for (size_t i = at; i < next; i++)
            ck_assert(text->starts[i] == text->starts[at] && text->ends[i] == text->ends[at]);
        used += (size_t)snprintf(out + used, size - used, "%s%u-%u", at == 0 ? "" : " ",
                                 text->starts[at], text->ends[at]);
    }
    return out;
}

static inline void aligned_fixture_check(const struct aligned *text, const char *bytes,
                                         const char *extents, struct arena *arena)
{
    size_t offset;
    const char *got = text->len > 0 ? text->bytes : "";
    ck_assert(utf8_valid(got, text->len, &offset));
    ck_assert_msg(text->len == strlen(bytes) && memcmp(got, bytes, text->len) == 0, "%.*s, not %s",
                  (int)text->len, got, bytes);
    ck_assert_str_eq(aligned_fixture_extents(text, arena), extents);
}

#endif
