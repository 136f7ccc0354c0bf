/* The records of attnd-batch: they lie in the file in its order, lines count up, and what is one
 * record of CSV is one for learn/data/csv.h too. The first byte says which form is read. */
#include "tools/batch/sources.h"

#include "engine/base/gunzip.h"
#include "learn/data/csv.h"
#include "tests/fuzz/driver/fuzz.h"
#include "tools/batch/record.h"

#include <stdlib.h>
#include <string.h>

/* Checks that no second record lies in the span, even if the record is unsound. */
static void check_csv(const struct record_span *span, char separator)
{
    static struct csv csv;
    bool found = true;
    struct err err = {0};
    char *copy = malloc(span->len + 1);
    FUZZ_CLAIM(copy != NULL);
    memcpy(copy, span->bytes, span->len);
    csv_open(&csv, copy, span->len);
    csv.at = 0; /* as tools/batch/record.c */
    csv.separator = separator;
    if (csv_next(&csv, &found, &err) == ERR_OK && found)
        FUZZ_CLAIM(csv_next(&csv, &found, &err) == ERR_OK && !found);
    free(copy);
}

static void check_line(const struct record_span *span)
{
    FUZZ_CLAIM(memchr(span->bytes, '\n', span->len) == NULL);
}

/* Anything may be in it; what is taken lies in it or is a copy. */
static void parse(const struct record_span *span, enum record_kind kind)
{
    struct record_form form = {.kind = kind,
                               .path = "lists/a",
                               .text_field = "text",
                               .image_field = "image",
                               .separator = ',',
                               .columns = 2,
                               .text = 0,
                               .image = RECORD_NO_COLUMN,
                               .pair = RECORD_NO_COLUMN,
                               .id = 1};
    char *bytes = malloc(span->len + 1);
    FUZZ_CLAIM(bytes != NULL);
    memcpy(bytes, span->bytes, span->len);
    bytes[span->len] = '\0';
    struct record record = {.form = &form, .bytes = bytes, .len = span->len, .line = span->line};
    struct record_input input;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (record_parse(&record, span->len % 2 == 0, true, &arena, &input, &err) == ERR_OK)
        FUZZ_CLAIM((input.listed.path != NULL) != (input.listed.text != NULL));
    arena_deinit(&arena);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned form = fuzz_byte(&input) % 3;
    struct record_reader reader = {0};
    struct record_span span;
    struct err err = {0};
    unsigned line = 0;
    bool found = true;
    size_t len = input.left;
    const bool is_packed = gunzip_is_packed(input.at, len);
    if (record_reader_open(&reader, fuzz_file("records", input.at, len), &err)) {
        FUZZ_CLAIM(is_packed || /* else broken UTF-16 */
                   (len >= 3 && (input.at[0] == 0xFF || input.at[0] == 0xFE)));
        record_reader_close(&reader);
        fuzz_check_err(&err);
        return 0;
    }
    len = reader.total; /* of UTF-16, of its UTF-8 */
    reader.is_csv = form == 2;
    while (record_reader_next(&reader, &span, &found, &err) == ERR_OK && found) {
        FUZZ_CLAIM(span.line > line && !span.is_too_long && (is_packed || span.len <= len));
        line = span.line;
        if (form == 2)
            check_csv(&span, ',');
        else
            check_line(&span);
        parse(&span, form == 2 ? RECORD_CSV : form == 1 ? RECORD_JSON : RECORD_LINE);
    }
    FUZZ_CLAIM(is_packed || err.code == ERR_OK);
    record_reader_close(&reader);
    FUZZ_CLAIM(reader.taken == len || (is_packed && reader.taken < len));
    return 0;
}
