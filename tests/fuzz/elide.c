/* Cutting long strings out of JSON: the shortened text parses exactly when the whole does, to the
 * same tree, and each placeholder stands for what was cut.
 *
 * Strings count from ELIDE_BYTES_MIN bytes, more than a small input has: in an input a byte 0x80 +
 * n stands for n + 1 runs of 600 base64 characters, as long as a sum of runs is not reached. */
#include "wire/elide.h"

#include "engine/base/doc.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_BYTES = 600, RUNS_MAX = 8, ALL_RUNS_MAX = 12, STRINGS_MAX = 64 };

static char *expand(const uint8_t *data, size_t size, size_t *len)
{
    char *text = malloc(size + ALL_RUNS_MAX * RUN_BYTES + 1);
    size_t left = ALL_RUNS_MAX;
    FUZZ_CLAIM(text != NULL);
    *len = 0;
    for (size_t i = 0; i < size; i++) {
        size_t runs = data[i] >= 0x80 && data[i] < 0x80 + RUNS_MAX ? data[i] - 0x7Fu : 0;
        runs = runs < left ? runs : left;
        left -= runs;
        memset(text + *len, 'A' + (int)(i % 26), runs * RUN_BYTES);
        *len += runs * RUN_BYTES;
        if (runs == 0)
            text[(*len)++] = (char)data[i];
    }
    return text;
}

struct comparison {
    const struct elided *elided;
    const struct json_t *cut;
};

static void compare(const struct elided *elided, const struct json_t *whole,
                    const struct json_t *cut);

static enum err_code compare_member(void *context, const char *key, const struct json_t *value,
                                    struct err *err)
{
    const struct comparison *with = context;
    const struct json_t *member = doc_member(with->cut, key);
    (void)err;
    if (member != NULL)
        compare(with->elided, value, member);
    else
        FUZZ_CLAIM(strcmp(doc_type_name(value), "null") == 0);
    return ERR_OK;
}

static void compare_strings(const struct elided *elided, const struct json_t *whole,
                            const struct json_t *cut)
{
    size_t len, cut_len;
    const char *text = doc_text(whole, &len), *cut_text = doc_text(cut, &cut_len);
    const struct elided_span *span = elide_find(elided, cut_text, cut_len);
    if (span != NULL) {
        cut_text = span->bytes;
        cut_len = span->len;
    }
    FUZZ_CLAIM(len == cut_len && memcmp(text, cut_text, len) == 0);
}

static void compare(const struct elided *elided, const struct json_t *whole,
                    const struct json_t *cut)
{
    struct comparison with = {.elided = elided, .cut = cut};
    struct err err = {0};
    size_t len;
    FUZZ_CLAIM(strcmp(doc_type_name(whole), doc_type_name(cut)) == 0);
    FUZZ_CLAIM(doc_object_count(whole) == doc_object_count(cut));
    FUZZ_CLAIM(doc_array_count(whole) == doc_array_count(cut));
    if (doc_text(whole, &len) != NULL)
        compare_strings(elided, whole, cut);
    for (size_t i = 0; i < doc_array_count(whole); i++)
        compare(elided, doc_array_item(whole, i), doc_array_item(cut, i));
    doc_each_member(whole, compare_member, &with, &err);
}

/* A string with NUL where only a key may stand is refused as such; without it what follows is. */
static bool has_nul(const char *text, size_t len)
{
    return memmem(text, len, "\\u0000", strlen("\\u0000")) != NULL;
}

static void check(const char *text, size_t len, struct arena *arena)
{
    struct elided elided;
    struct json_t *whole = NULL, *cut = NULL;
    struct err err = {0}, whole_err = {0}, cut_err = {0};
    FUZZ_CLAIM(elide_strings(&elided, text, len, STRINGS_MAX, arena, &err) == ERR_OK);
    FUZZ_CLAIM(elided.span_count <= STRINGS_MAX);
    for (size_t at = 0, before = 0; at <= elided.len; at += 1 + elided.len / 64) {
        size_t origin = elide_origin(&elided, at);
        FUZZ_CLAIM(origin >= before && origin <= len);
        before = origin;
    }
    doc_parse(&whole, text, len, &doc_limits_request, &whole_err);
    doc_parse_mapped(&cut, elided.text, elided.len, &doc_limits_request, elide_origin, &elided,
                     &cut_err);
    FUZZ_CLAIM((whole_err.code == ERR_OK) == (cut_err.code == ERR_OK));
    FUZZ_CLAIM(whole_err.code == cut_err.code || has_nul(text, len));
    if (whole != NULL && cut != NULL)
        compare(&elided, whole, cut);
    doc_free(whole);
    doc_free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    size_t len;
    char *text = expand(data, size, &len), *exact = fuzz_copy((const uint8_t *)text, len);
    free(text);
    arena_init(&arena);
    check(exact, len, &arena);
    arena_deinit(&arena);
    free(exact);
    return 0;
}
