/* logit_list.h: another model's logits of each input, found by the inputs' names, and the files
 * that are refused. */
#include "learn/data/logit_list.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 4, LABELS = 3 };

static const char *const labels[LABELS] = {"none", "Edge \"x\"", "Scratch"};
static struct dataset_item items[ITEMS] = {
    {.name = "b.png"}, {.name = "a.png"}, {.name = "line 7"}, {.name = "b.png"}};
static const struct dataset dataset = {.items = items, .count = ITEMS};
static struct tempdir dir;
static struct logit_list list;
static struct err err;

static enum err_code read_bytes(const char *text, size_t len)
{
    char path[128];
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "logits.jsonl", text, len);
    snprintf(path, sizeof path, "%s/logits.jsonl", dir.path);
    ck_assert_int_eq(logit_list_open(&list, path, &dataset, labels, LABELS, &err), err.code);
    tempdir_close(&dir);
    return err.code;
}

static void expect_row(size_t item, float first, float second, float third)
{
    const float *row = logit_list_row(&list, item);
    ck_assert_ptr_nonnull(row);
    ck_assert(row[0] == first && row[1] == second && row[2] == third);
}

/* The file has another order of lines and of labels, a line of no input, a byte order mark and
 * blanks. */
START_TEST(rows_are_found_by_the_names_of_inputs_and_labels)
{
    static const char text[] =
        "\xEF\xBB\xBF{\"input\":\"line 7\",\"logits\":{\"Scratch\":3,\"none\":1,\"Edge "
        "\\\"x\\\"\":2},\"label\":\"none\"}\r\n\n"
        "{\"input\":\"z.png\",\"logits\":{\"Scratch\":9,\"none\":9,\"Edge \\\"x\\\"\":9}}\n"
        "{\"logits\":{\"Edge \\\"x\\\"\":-1e6,\"Scratch\":1e6,\"none\":0.5},\"digest\":"
        "\"00000000000000ff\",\"input\":\"b.png\"}";
    ck_assert_msg(!read_bytes(text, strlen(text)), "%s", err.text);
    expect_row(2, 1, 2, 3);
    expect_row(0, 0.5f, -1e6f, 1e6f);
    expect_row(3, 0.5f, -1e6f, 1e6f); /* two inputs of one name */
    ck_assert_ptr_null(logit_list_row(&list, 1));
    ck_assert(list.entries[2].line == 1 && list.entries[2].digest == 0);
    ck_assert(list.entries[0].line == 4 && list.entries[0].digest == 255);
    logit_list_close(&list);
}
END_TEST

START_TEST(logit_list_reads_the_lines_that_it_wrote)
{
    static const float logits[][LABELS] = {{1, -2.5f, 1e-9f}, {3, 0.1f, -7}};
    static const char *const strange[LABELS] = {"none", "\xFF", "Scratch"};
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    struct logit_list_line line = {.name = "a.png",
                                   .digest = 0x0123456789abcdef,
                                   .logits = logits[0],
                                   .ood_method = "energy",
                                   .ood = -1e9f};
    ck_assert(logit_list_write(file, &line, labels, LABELS));
    line = (struct logit_list_line){.name = "line 7", .digest = 1, .logits = logits[1]};
    ck_assert(logit_list_write(file, &line, labels, LABELS));
    line.name = "\xFF.png";
    ck_assert(!logit_list_write(file, &line, labels, LABELS));
    line.name = "b.png";
    ck_assert(!logit_list_write(file, &line, strange, LABELS));
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "{\"input\":\"a.png\",\"digest\":\"0123456789abcdef\","
                                       "\"logits\":{\"none\":1,\"Edge \\\"x\\\"\":-2.5,"));
    ck_assert_msg(!read_bytes(text, len), "%s", err.text);
    free(text);
    expect_row(1, 1, -2.5f, 1e-9f);
    expect_row(2, 3, 0.1f, -7);
    ck_assert(list.entries[1].digest == 0x0123456789abcdef);
    ck_assert(list.ood[1] == -1e9f && isnan(list.ood[2]) && isnan(list.ood[0]));
    ck_assert_str_eq(list.ood_method, "energy");
    ck_assert_ptr_null(logit_list_row(&list, 0));
    logit_list_close(&list);
}
END_TEST

START_TEST(rows_are_found_by_digests_whatever_inputs_are_called)
{
    static const char text[] =
        "{\"input\":\"x\",\"digest\":\"00000000000000ff\",\"logits\":{\"none\":1,\"Edge "
        "\\\"x\\\"\":2,\"Scratch\":3}}\n"
        "{\"input\":\"x\",\"digest\":\"00000000000000ff\",\"logits\":{\"none\":7,\"Edge "
        "\\\"x\\\"\":7,\"Scratch\":7}}\n";
    static const char without[] = "{\"input\":\"x\",\"logits\":{\"none\":1,\"Edge "
                                  "\\\"x\\\"\":2,\"Scratch\":3}}";
    const uint64_t digests[] = {7, 255, 255};
    for (unsigned has_digest = 0; has_digest < 2; has_digest++) {
        char path[128];
        err = (struct err){0};
        tempdir_open(&dir);
        tempdir_write(&dir, "logits.jsonl", has_digest ? text : without,
                      has_digest ? sizeof text - 1 : sizeof without - 1);
        snprintf(path, sizeof path, "%s/logits.jsonl", dir.path);
        logit_list_open_digests(&list, path, digests, 3, labels, LABELS, &err);
        if (has_digest) {
            ck_assert_ptr_null(logit_list_row(&list, 0));
            expect_row(1, 1, 2, 3); /* the first line's */
            expect_row(2, 1, 2, 3);
        } else {
            ck_assert_str_eq(err.text, "line 1: member 'digest' is missing");
        }
        logit_list_close(&list);
        tempdir_close(&dir);
    }
}
END_TEST

#define GOOD "{\"input\":\"a.png\",\"logits\":{\"none\":1,\"Edge \\\"x\\\"\":2,\"Scratch\":3}}\n"
#define OF(logits) "{\"input\":\"b.png\",\"logits\":{" logits "}}"
#define SCORED(input, members)                                                                     \
    "{\"input\":\"" input "\",\"logits\":{\"none\":1,\"Edge \\\"x\\\"\":2,\"Scratch\":3}," members \
    "}\n"

START_TEST(a_file_that_is_no_list_of_logits_is_refused_with_line_and_reason)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {GOOD "[]", "line 2: expected an object, found an array"},
        {GOOD "\n{", "line 3: "},
        {SCORED("b.png", "\"ood_score\":1"),
         "line 1: member 'ood_score' needs 'ood_method', of 1 to 15 bytes"},
        {SCORED("b.png", "\"ood_score\":1,\"ood_method\":\"0123456789abcdef\""),
         "line 1: member 'ood_score' needs 'ood_method', of 1 to 15 bytes"},
        {SCORED("b.png", "\"ood_score\":\"1\",\"ood_method\":\"energy\""),
         "line 1: member 'ood_score': expected a number from -1e+30 to 1e+30"},
        {SCORED("b.png", "\"ood_score\":1e31,\"ood_method\":\"energy\""),
         "line 1: member 'ood_score': expected a number from -1e+30 to 1e+30"},
        {SCORED("a.png", "\"ood_score\":1,\"ood_method\":\"energy\"")
             SCORED("b.png", "\"ood_score\":1,\"ood_method\":\"neighbours\""),
         "line 2: member 'ood_method' is 'neighbours', on lines before it 'energy'"},
        {GOOD GOOD, "line 2: the input 'a.png' has been on line 1 already"},
        {"{\"logits\":{}}", "line 1: member 'input' is missing"},
        {"{\"input\":7}", "line 1: $.input: expected a string, found a number"},
        {"{\"input\":\"a\\u0000b\"}", "line 1: "},
        {"{\"input\":\"b.png\"}", "line 1: member 'logits' is missing"},
        {"{\"input\":\"b.png\",\"logits\":[1,2,3]}",
         "line 1: member 'logits': expected an object, found an array"},
        {OF("\"none\":1,\"Scratch\":3"), "line 1: there is no logit of 'Edge \"x\"'"},
        {OF("\"none\":1,\"scratch\":3"), "line 1: 'scratch' is not among the labels to learn"},
        {OF("\"none\":1,\"none\":3"), "line 1: "},
        {OF("\"none\":null"), "line 1: the logit of 'none': expected a number, found null"},
        {OF("\"none\":\"1\""), "line 1: the logit of 'none': expected a number, found a string"},
        {OF("\"none\":1000000.5"),
         "line 1: the logit of 'none' is 1000000.5; it is from -1e+06 to 1e+06"},
        {OF("\"none\":-1e300"),
         "line 1: the logit of 'none' is -1e+300; it is from -1e+06 to 1e+06"},
        {OF("\"none\":1e999"), "line 1: "},
        {OF("\"none\":NaN"), "line 1: "},
        {"{\"input\":\"b.png\",\"digest\":\"0123\",\"logits\":{\"none\":1,\"Edge "
         "\\\"x\\\"\":2,\"Scratch\":3}}",
         "line 1: member 'digest': expected the first 16 hexadecimal digits of a SHA-256"},
        {"{\"input\":\"b.png\",\"digest\":\"0123456789abcdeg\",\"logits\":{\"none\":1,\"Edge "
         "\\\"x\\\"\":2,\"Scratch\":3}}",
         "line 1: member 'digest': expected the first 16 hexadecimal digits of a SHA-256"},
        {GOOD "\xFF", "line 2: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(read_bytes(rows[i].text, strlen(rows[i].text)) != ERR_OK, "%s", rows[i].text);
        ck_assert_msg(strncmp(err.text, rows[i].why, strlen(rows[i].why)) == 0, "%s: %s",
                      rows[i].text, err.text);
        logit_list_close(&list);
        ck_assert(list.entries == NULL && list.values == NULL);
    }
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error_of_the_system)
{
    err = (struct err){0};
    ck_assert_int_eq(logit_list_open(&list, "/no/where", &dataset, labels, LABELS, &err), ERR_IO);
    logit_list_close(&list);
}
END_TEST

SUITE("logit_list", rows_are_found_by_the_names_of_inputs_and_labels,
      logit_list_reads_the_lines_that_it_wrote,
      rows_are_found_by_digests_whatever_inputs_are_called,
      a_file_that_is_no_list_of_logits_is_refused_with_line_and_reason,
      a_file_that_is_not_there_is_an_error_of_the_system)
