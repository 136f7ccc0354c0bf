/* The bytes are copied to memory of exactly their size and the NUL: a sanitizer sees one too far.
 */
#include "learn/data/csv.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads everything; records are printed to `out` as line:[field][field], errors as their text. */
static void dump(const char *bytes, size_t len, char *out, size_t size)
{
    struct csv *csv = malloc(sizeof *csv);
    char *copy = malloc(len + 1);
    struct err err = {0};
    bool found = true;
    FILE *file = fmemopen(out, size, "w");
    ck_assert(csv != NULL && copy != NULL && file != NULL);
    memcpy(copy, bytes, len);
    copy[len] = '\0';
    csv_open(csv, copy, len);
    while (!csv_next(csv, &found, &err) && found) {
        fprintf(file, "%zu:", csv->record_line);
        for (unsigned i = 0; i < csv->field_count; i++)
            fprintf(file, "[%s]", csv->fields[i].text);
        for (unsigned i = 0; i < csv->field_count; i++)
            ck_assert_int_eq(csv->fields[i].text[csv->fields[i].len], '\0');
    }
    fputs(err.text, file);
    fclose(file);
    free(copy);
    free(csv);
}

static void expect(const char *bytes, const char *expected)
{
    char found[512] = "";
    dump(bytes, strlen(bytes), found, sizeof found);
    ck_assert_str_eq(found, expected);
}

START_TEST(csv_reads_what_rfc_4180_shows)
{
    expect("aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", "1:[aaa][bbb][ccc]2:[zzz][yyy][xxx]");
    expect("aaa,bbb,ccc\nzzz,yyy,xxx", "1:[aaa][bbb][ccc]2:[zzz][yyy][xxx]");
    expect("\"aaa\",\"b \r\nbb\",\"ccc\"\r\nzzz,yyy,xxx",
           "1:[aaa][b \r\nbb][ccc]3:[zzz][yyy][xxx]");
    expect("\"aaa\",\"b\"\"bb\",\"ccc\"", "1:[aaa][b\"bb][ccc]");
    expect("\"a,b\",\"\"\"\"", "1:[a,b][\"]");
}
END_TEST

START_TEST(csv_keeps_empty_fields_and_skips_empty_lines)
{
    expect("a,,\n\n\r\n,\"\",b\n", "1:[a][][]4:[][][b]");
    expect("a,", "1:[a][]");
    expect("", "");
    expect("\n\r\n\n", "");
    expect("\"\"", "1:[]");
}
END_TEST

START_TEST(csv_skips_a_byte_order_mark)
{
    expect("\xEF\xBB\xBFtext,label\n", "1:[text][label]");
    expect("\xEF\xBB\xBF", "");
}
END_TEST

START_TEST(csv_takes_a_cut_line_end_as_a_line_end)
{
    expect("a,b\r", "1:[a][b]");
}
END_TEST

START_TEST(csv_names_the_line_of_a_mistake)
{
    expect("a\n\"b\nc", "1:[a]line 2: a quoted field is never closed");
    expect("\"", "line 1: a quoted field is never closed");
    expect("\"a\"\"", "line 1: a quoted field is never closed");
    expect("a\n\"b\nc\" d", "1:[a]line 3: after a field there must be a comma or the line's end, "
                            "not more text");
    expect("a\"b", "line 1: after a field there must be a comma or the line's end, not a quote");
    expect("a\nb\rc", "1:[a]line 2: after a field there must be a comma or the line's end, not a "
                      "lone carriage return");
}
END_TEST

START_TEST(csv_counts_a_nul_as_a_character)
{
    struct csv *csv = malloc(sizeof *csv);
    char bytes[] = "a\0b,\"c\0\"\n";
    struct err err = {0};
    bool found;
    ck_assert_ptr_nonnull(csv);
    csv_open(csv, bytes, sizeof bytes - 1);
    ck_assert_int_eq(csv_next(csv, &found, &err), ERR_OK);
    ck_assert_uint_eq(csv->field_count, 2);
    ck_assert_uint_eq(csv->fields[0].len, 3);
    ck_assert_uint_eq(csv->fields[1].len, 2);
    free(csv);
}
END_TEST

START_TEST(csv_refuses_more_fields_than_it_holds)
{
    char bytes[CSV_FIELDS_MAX + 1], found[2048] = "";
    memset(bytes, ',', sizeof bytes);
    dump(bytes, CSV_FIELDS_MAX, found, sizeof found);
    ck_assert_str_eq(found, "line 1: more than 256 fields");
    dump(bytes, CSV_FIELDS_MAX - 1, found, sizeof found);
    ck_assert_int_eq(strncmp(found, "1:[][]", 6), 0);
}
END_TEST

/* Every string of up to six of the characters that mean something: each ends in records or one
 * error, with no byte read or written outside. */
START_TEST(csv_survives_every_short_file)
{
    static const char alphabet[] = "a,\"\r\n";
    enum { LETTERS = sizeof alphabet - 1, LEN_MAX = 6 };
    char bytes[LEN_MAX + 1] = "", found[512];
    for (unsigned len = 0, words = 1; len <= LEN_MAX; len++, words *= LETTERS) {
        for (unsigned word = 0; word < words; word++) {
            for (unsigned i = 0, rest = word; i < len; i++, rest /= LETTERS)
                bytes[i] = alphabet[rest % LETTERS];
            dump(bytes, len, found, sizeof found);
        }
    }
}
END_TEST

START_TEST(a_first_line_may_name_the_separator)
{
    static const struct {
        const char *bytes;
        size_t len;
        char separator;
    } cases[] = {{"sep=;\r\na;b", 7, ';'},
                 {"SEP=,\na,b", 6, ','},
                 {"\"sep=\t\"\na", 8, '\t'},
                 {"\xEF\xBB\xBF"
                  "sep=|\n",
                  9, '|'},
                 {"sep=;", 5, ';'},
                 {"sep=x\na", 0, '?'},
                 {"sep=;a\n", 0, '?'},
                 {"sep=", 0, '?'},
                 {"", 0, '?'},
                 {"a,sep=;\n", 0, '?'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char separator = '?';
        ck_assert_uint_eq(csv_separator_line(cases[i].bytes, strlen(cases[i].bytes), &separator),
                          cases[i].len);
        ck_assert_int_eq(separator, cases[i].separator);
    }
}
END_TEST

START_TEST(a_separator_is_guessed_by_the_first_line)
{
    static const struct {
        const char *text;
        char separator;
    } rows[] = {{"", ','},
                {"text", ','},
                {"text,label", ','},
                {"text;label\na,b", ';'},
                {"text\tlabel", '\t'},
                {"a;b;c\td", ';'},
                {"a\tb\tc;d", '\t'},
                {"a;b;c,d", ','},
                {"\"a,b\";c", ';'},
                {"\"a\nb,c\";d\n,", ';'},
                {"text\n;", ','}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(csv_guess_separator(rows[i].text, strlen(rows[i].text)),
                         rows[i].separator);
}
END_TEST

SUITE("csv", a_first_line_may_name_the_separator, a_separator_is_guessed_by_the_first_line,
      csv_reads_what_rfc_4180_shows, csv_keeps_empty_fields_and_skips_empty_lines,
      csv_skips_a_byte_order_mark, csv_takes_a_cut_line_end_as_a_line_end,
      csv_names_the_line_of_a_mistake, csv_counts_a_nul_as_a_character,
      csv_refuses_more_fields_than_it_holds, csv_survives_every_short_file)
