/* Lists of a model that writes texts: a text or a picture, and the text to write. */
#include "learn/data/dataset.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct tempdir dir;
static struct err err;

static enum err_code open_list(struct dataset *out, const char *name, const char *text,
                               enum engine_kind kind, const char *field)
{
    char path[256];
    const struct dataset_options options = {
        .kind = kind, .label_field = field, .reads_targets = true};
    err = (struct err){0};
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    tempdir_write(&dir, name, text, strlen(text));
    return dataset_open(out, path, &options, &err);
}

static void expect(const char *name, const char *text, enum engine_kind kind, const char *field,
                   const char *second)
{
    struct dataset dataset;
    ck_assert_msg(!open_list(&dataset, name, text, kind, field), "%s", err.text);
    ck_assert_uint_eq(dataset.count, 2);
    ck_assert_str_eq(dataset.items[0].label, "AB-1|C");
    ck_assert_str_eq(dataset.items[1].label, second);
    dataset_close(&dataset);
}

START_TEST(targets_are_read_of_lists_and_may_be_empty)
{
    tempdir_open(&dir);
    expect("a.jsonl",
           "{\"text\":\"x\",\"target\":\"AB-1|C\",\"label\":\"no\"}\n"
           "{\"text\":\"y\",\"target\":\"\"}\n",
           ENGINE_TEXT, NULL, "");
    expect("b.csv", "image,target\n1.png,AB-1|C\n2.png,\n", ENGINE_IMAGE, "label", "");
    expect("c.csv", "text;id\nx;AB-1|C\ny;\"two\nlines\"\n", ENGINE_TEXT, "id", "two\nlines");
    tempdir_close(&dir);
}
END_TEST

/* The validation file of a training has the text to write as its `label`. */
START_TEST(targets_of_a_split_are_read)
{
    tempdir_open(&dir);
    expect("s.jsonl",
           "{\"attnd_split\":1}\n{\"part\":\"train\",\"name\":\"line 1\",\"label\":\"z\"}\n"
           "{\"part\":\"validation\",\"name\":\"line 2\",\"label\":\"AB-1|C\",\"text\":\"x\"}\n"
           "{\"part\":\"validation\",\"name\":\"line 3\",\"label\":\"\",\"text\":\"y\"}\n",
           ENGINE_TEXT, NULL, "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(lists_without_targets_are_refused)
{
    static const struct {
        const char *name, *text, *why;
    } rows[] = {
        {"a.jsonl", "{\"text\":\"x\",\"label\":\"y\"}\n", "line 1: member 'target' is missing"},
        {"a.jsonl", "{\"text\":\"x\",\"target\":null}\n", "line 1: member 'target' is missing"},
        {"a.jsonl", "{\"text\":\"x\",\"target\":[\"y\"]}\n", "expected a string, found an array"},
        {"a.jsonl", "{\"text\":\"x\",\"target\":\"a\\u0000b\"}\n", "contains a NUL character"},
        {"a.csv", "text,label\nx,y\n", "line 1: no column is named 'target'"},
        {"a.csv", "text,target\nx,\xFF\n",
         "line 2: invalid UTF-8 at byte 0 of the label (iconv -f windows-1252 -t UTF-8 converts a "
         "file)"},
        {"a.txt", "x\n",
         "texts to write are read of a list, a file .jsonl, .ndjson or .csv (or these .gz): each "
         "input has `target`, and `text` or `image`"},
    };
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dataset dataset;
        ck_assert_int_ne(open_list(&dataset, rows[i].name, rows[i].text, ENGINE_TEXT, NULL),
                         ERR_OK);
        ck_assert_msg(strstr(err.text, rows[i].why) != NULL, "%s", err.text);
        dataset_close(&dataset);
    }
    tempdir_close(&dir);
}
END_TEST

SUITE("dataset_targets", targets_are_read_of_lists_and_may_be_empty, targets_of_a_split_are_read,
      lists_without_targets_are_refused)
