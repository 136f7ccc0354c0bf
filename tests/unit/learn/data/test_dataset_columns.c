/* Lists as spreadsheets write them, and what is said of columns that are not there. */
#include "learn/data/dataset.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct tempdir dir;
static struct err err;
static char path[128];

static enum err_code open_list(struct dataset *out, const char *text)
{
    struct dataset_options options = {.kind = ENGINE_TEXT};
    err = (struct err){0};
    snprintf(path, sizeof path, "%s/a.csv", dir.path);
    tempdir_write(&dir, "a.csv", text, strlen(text));
    return dataset_open(out, path, &options, &err);
}

static void expect_read(const char *text)
{
    struct dataset dataset;
    ck_assert_msg(!open_list(&dataset, text), "%s", err.text);
    ck_assert_uint_eq(dataset.count, 1);
    ck_assert_str_eq(dataset.items[0].input, "a, b");
    ck_assert_str_eq(dataset.items[0].label, "x");
    dataset_close(&dataset);
}

static void expect_refused(const char *text, const char *why)
{
    struct dataset dataset;
    ck_assert_int_ne(open_list(&dataset, text), ERR_OK);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    dataset_close(&dataset);
}

START_TEST(columns_may_be_parted_by_semicolons_and_tabs)
{
    tempdir_open(&dir);
    expect_read("text,label\n\"a, b\",x\n");
    expect_read("text;label\na, b;x\n");
    expect_read("\xEF\xBB\xBFtext\tlabel\r\na, b\tx\r\n");
    expect_refused("text;label\n\"a\"b;x\n",
                   "line 2: after a field there must be a semicolon or the line's end, not more");
    expect_refused("text\tlabel\na\"b\tx\n", "after a field there must be a tab or");
    tempdir_close(&dir);
}
END_TEST

START_TEST(columns_that_are_there_are_listed)
{
    char text[1200] = "";
    tempdir_open(&dir);
    expect_refused("log,cause\na,b\n", "line 1: no column is named 'text'; the columns are: log, "
                                       "cause (--text-field, --image-field and --label-field say "
                                       "which to take)");
    for (unsigned i = 0; i < 60; i++)
        snprintf(text + strlen(text), 16, "column%u,", i);
    expect_refused(strcat(text, "last\n"), ", ... (--text-field, ");
    memset(text, 'a', 1000);
    strcpy(text + 1000, ",b\n");
    expect_refused(text, "the columns are: ... (--text-field");
    tempdir_close(&dir);
}
END_TEST

/* The columns' names fill the room for them in all ways. */
START_TEST(dataset_error_lists_the_columns_that_fit)
{
    static const char *const columns[] = {"a,", "ab,", "abcd,", "abcdefg,"};
    tempdir_open(&dir);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        for (unsigned count = 15; count < 220; count++) {
            char text[2000] = "";
            for (unsigned i = 0; i < count; i++)
                strcat(text, columns[k]);
            strcat(text, "z\n");
            expect_refused(text, count > 100 ? ", ... (--text-field" : " (--text-field");
        }
    tempdir_close(&dir);
}
END_TEST

/* Returns the id of a list's first item. NULL: it has none, or the list is refused. */
static const char *id_of(struct dataset *dataset, const char *name, const char *text)
{
    const struct dataset_options options = {.kind = ENGINE_TEXT, .id_field = "id"};
    err = (struct err){0};
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    tempdir_write(&dir, name, text, strlen(text));
    return dataset_open(dataset, path, &options, &err) == ERR_OK ? dataset->items[0].id : NULL;
}

START_TEST(ids_are_read_if_asked_for)
{
    static const struct {
        const char *name, *text, *id, *why;
    } rows[] = {
        {"a.csv", "text,label,id\na,x,die-7\n", "die-7", ""},
        {"a.csv", "text,label,id\na,x,\n", NULL, ""},
        {"a.csv", "text,label\na,x\n", NULL, ""},
        {"a.csv", "text,label,id\na,x,\xFF\n", NULL,
         "line 2: invalid UTF-8 at byte 0 of the id (iconv -f windows-1252 -t UTF-8 converts a "
         "file)"},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\", \"id\": \"die-7\"}\n", "die-7", ""},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\", \"id\": 42}\n", "42", ""},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\", \"id\": null}\n", NULL, ""},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\", \"id\": []}\n", NULL,
         "line 1: member 'id': expected a string, found an array"},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\", \"id\": \"a\\u0000\"}\n", NULL,
         "line 1: the id contains a NUL character"},
    };
    struct dataset dataset;
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *id = id_of(&dataset, rows[i].name, rows[i].text);
        ck_assert_msg(strstr(err.text, rows[i].why) != NULL, "%zu: %s", i, err.text);
        ck_assert_int_eq(err.code != ERR_OK, rows[i].why[0] != '\0');
        ck_assert_int_eq(id != NULL, rows[i].id != NULL);
        if (id != NULL)
            ck_assert_str_eq(id, rows[i].id);
        dataset_close(&dataset);
    }
    ck_assert_int_eq(open_list(&dataset, "text,label,id\na,x,die-7\n"), ERR_OK);
    ck_assert_ptr_null(dataset.items[0].id);
    dataset_close(&dataset);
    tempdir_close(&dir);
}
END_TEST

SUITE("dataset_columns", columns_may_be_parted_by_semicolons_and_tabs,
      columns_that_are_there_are_listed, dataset_error_lists_the_columns_that_fit,
      ids_are_read_if_asked_for)
