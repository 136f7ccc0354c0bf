/* Comma-separated values: fields lie in the bytes, lines count up, and what is written again by the
 * rules reads the same. */
#include "learn/data/csv.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Writes one record, with every field quoted. Returns its bytes. */
static size_t write_record(const struct csv *csv, char *out)
{
    char *at = out;
    for (unsigned i = 0; i < csv->field_count; i++) {
        *at++ = '"';
        for (size_t j = 0; j < csv->fields[i].len; j++) {
            if (csv->fields[i].text[j] == '"')
                *at++ = '"';
            *at++ = csv->fields[i].text[j];
        }
        *at++ = '"';
        *at++ = i + 1 < csv->field_count ? ',' : '\n';
    }
    return (size_t)(at - out);
}

static void check_record(const struct csv *csv, const char *bytes, size_t len, size_t line_before)
{
    FUZZ_CLAIM(csv->field_count >= 1 && csv->field_count <= CSV_FIELDS_MAX);
    FUZZ_CLAIM(csv->record_line > line_before && csv->record_line <= csv->line);
    for (unsigned i = 0; i < csv->field_count; i++) {
        size_t at = (size_t)(csv->fields[i].text - bytes);
        FUZZ_CLAIM(at <= len && csv->fields[i].len <= len - at);
        FUZZ_CLAIM(csv->fields[i].text[csv->fields[i].len] == '\0');
    }
}

static void read_again(struct csv *csv, const struct csv *first, const char *text, size_t len)
{
    bool found = false;
    struct err err = {0};
    char *bytes = malloc(len + 1);
    FUZZ_CLAIM(bytes != NULL);
    memcpy(bytes, text, len);
    csv_open(csv, bytes, len);
    FUZZ_CLAIM(csv_next(csv, &found, &err) == ERR_OK && found);
    FUZZ_CLAIM(csv->field_count == first->field_count);
    for (unsigned i = 0; i < csv->field_count; i++)
        FUZZ_CLAIM(csv->fields[i].len == first->fields[i].len &&
                   memcmp(csv->fields[i].text, first->fields[i].text, csv->fields[i].len) == 0);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct csv csv, again;
    size_t line = 0, lines = 1;
    bool found = true;
    struct err err = {0};
    char *bytes = malloc(size + 1), *text = malloc(3 * size + 3);
    FUZZ_CLAIM(bytes != NULL && text != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    char separator = '\0';
    size_t first = csv_separator_line(bytes, size, &separator);
    FUZZ_CLAIM(first <= size && (first > 0) == (separator != '\0'));
    csv_open(&csv, bytes, size);
    while (csv_next(&csv, &found, &err) == ERR_OK && found) {
        check_record(&csv, bytes, size, line);
        line = csv.record_line;
        read_again(&again, &csv, text, write_record(&csv, text));
    }
    fuzz_check_err(&err);
    FUZZ_CLAIM(csv.line <= lines + 1);
    free(text);
    free(bytes);
    return 0;
}
