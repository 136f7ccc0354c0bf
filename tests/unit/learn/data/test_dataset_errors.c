/* The contents of a data set after a record fails, the texts of its refusals, and its own
 * growth. */
#include "learn/data/dataset.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct dataset_options texts = {.kind = ENGINE_TEXT};
static const struct dataset_options images = {.kind = ENGINE_IMAGE};
static const struct dataset_options unlabelled = {.kind = ENGINE_TEXT, .labels_optional = true};
static const struct dataset_options unlabelled_images = {.kind = ENGINE_IMAGE,
                                                         .labels_optional = true};
static const struct dataset_options lines = {
    .kind = ENGINE_TEXT, .labels_optional = true, .line_documents = true};

struct subject {
    struct tempdir dir;
    struct dataset dataset;
    struct err err;
};

static void setup(struct subject *subject, const char *name, const char *bytes, size_t len,
                  const struct dataset_options *options)
{
    char path[128];
    tempdir_open(&subject->dir);
    tempdir_write(&subject->dir, name, bytes, len);
    snprintf(path, sizeof path, "%s/%s", subject->dir.path, name);
    subject->err = (struct err){0};
    enum err_code code = dataset_open(&subject->dataset, path, options, &subject->err);
    ck_assert_int_eq(code, subject->err.code);
}

static void drop(struct subject *subject)
{
    dataset_close(&subject->dataset);
    ck_assert_ptr_null(subject->dataset.items);
    ck_assert_uint_eq(subject->dataset.count, 0);
    tempdir_close(&subject->dir);
}

struct refusal {
    const char *name, *bytes;
    const struct dataset_options *options;
    size_t count, len; /* of items kept; of the bytes, 0: up to the NUL */
    enum err_code code;
    const char *text;
};

static void expect_refusals(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct subject subject;
        char text[256];
        size_t len = cases[i].len != 0 ? cases[i].len : strlen(cases[i].bytes);
        setup(&subject, cases[i].name, cases[i].bytes, len, cases[i].options);
        snprintf(text, sizeof text, "%s/%s: %s", subject.dir.path, cases[i].name, cases[i].text);
        ck_assert_str_eq(subject.err.text, text);
        ck_assert_int_eq(subject.err.code, cases[i].code);
        ck_assert_msg(subject.dataset.count == cases[i].count, "case %zu: %zu items", i,
                      subject.dataset.count);
        drop(&subject);
    }
}

/* A refused record is not kept; the records before it are. */
START_TEST(dataset_keeps_nothing_of_a_record_that_it_refuses)
{
    static const struct refusal cases[] = {
        {"a.csv", "text,label\na,x\nb,\n", &texts, 1, 0, ERR_UNUSABLE,
         "line 3: the label is empty: give one, or take the line out"},
        {"a.csv", "text,label\na,x\nb,\xFF\n", &texts, 1, 0, ERR_UNUSABLE,
         "line 3: invalid UTF-8 at byte 0 of the label (iconv -f windows-1252 -t UTF-8 converts a "
         "file)"},
        {"a.csv", "text,label\na,x\nb,y\0\n", &texts, 1, 19, ERR_UNUSABLE,
         "line 3: the label contains a NUL character"},
        {"a.csv", "text,label\na,x\nb\n", &texts, 1, 0, ERR_MALFORMED,
         "line 3: 1 fields, but the header has 2"},
        {"a.csv", "text,label\na,x\nb\nc,y\n", &texts, 1, 0, ERR_MALFORMED,
         "line 3: 1 fields, but the header has 2"},
        {"a.csv", "text,label\na,x\nb,\nc,y\n", &texts, 1, 0, ERR_UNUSABLE,
         "line 3: the label is empty: give one, or take the line out"},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"\"}\n{\"text\": \"a\", \"label\": \"x\"}\n",
         &texts, 0, 0, ERR_UNUSABLE, "line 1: the label is empty: give one, or take the line out"},
        {"a.csv", "image,label\na,x\n,y\n", &images, 1, 0, ERR_UNUSABLE,
         "line 3: the image's path is empty"},
        {"a.csv", "image,label\na,x\nb\0c,y\n", &images, 1, 22, ERR_UNUSABLE,
         "line 3: the image's path is cut by a NUL character"},
        {"a.jsonl",
         "{\"image\": \"a\", \"label\": \"x\"}\n"
         "{\"image\": \"b\", \"label\": \"x\", \"mask\": \"\"}\n",
         &images, 1, 0, ERR_UNUSABLE, "line 2: the mask's path is empty"},
        {"a.jsonl", "{\"image\": \"b\", \"label\": \"x\", \"mask\": \"a\\u0000\"}\n", &images, 0, 0,
         ERR_UNUSABLE, "line 1: the mask's path is cut by a NUL character"},
        {"a.jsonl", "{\"image\": \"b\", \"label\": \"x\", \"mask\": 1}\n", &images, 0, 0,
         ERR_UNUSABLE, "line 1: member 'mask': expected a string, found a number"},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\", \"label\": {}}\n",
         &texts, 1, 0, ERR_UNUSABLE, "line 2: member 'label': expected a string, found an object"},
        {"a.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n[]\n", &texts, 1, 0, ERR_UNUSABLE,
         "line 2: expected an object, found an array"},
        {"a.jsonl", "{\"text\": \"a\", \"label\": true}\n", &unlabelled, 0, 0, ERR_UNUSABLE,
         "line 1: member 'label': expected a string, found a boolean"},
    };
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(dataset_refuses_a_file_that_holds_no_records_of_its_kind)
{
    static const struct refusal cases[] = {
        {"a.csv", "label\na\n", &texts, 0, 0, ERR_UNUSABLE,
         "line 1: no column is named 'text'; the columns are: label (--text-field, "
         "--image-field and --label-field say which to take)"},
        {"a.csv", "text,label,label\na,b,c\n", &texts, 0, 0, ERR_UNUSABLE,
         "line 1: two columns are named 'label'"},
        {"a.csv", "\"a\n", &texts, 0, 0, ERR_MALFORMED, "line 1: a quoted field is never closed"},
        {"a.csv", "text\n", &unlabelled, 0, 0, ERR_UNUSABLE, "no input is in it"},
        {"a.jsonl", "\n", &texts, 0, 0, ERR_UNUSABLE, "no labelled input is in it"},
        {"a.txt", "\xEF\xBB\xBF", &unlabelled, 0, 0, ERR_UNUSABLE, "no input is in it"},
        {"a.txt", "a", &texts, 0, 0, ERR_UNUSABLE,
         "a plain text has no labels; .jsonl, .ndjson and .csv files have"},
        {"a.log", "a", &images, 0, 0, ERR_UNUSABLE, "a plain text, but images are wanted"},
        {"a.stdf", "a", &unlabelled_images, 0, 0, ERR_UNUSABLE,
         "a data set is a file .jsonl, .ndjson or .csv (or these .gz), or a folder with a folder "
         "of "
         "images for each class"},
        {"a.dat", "a", &unlabelled, 0, 0, ERR_UNUSABLE,
         "a data set is a file .jsonl, .ndjson, .csv, .txt or .log (or these .gz)"},
    };
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(dataset_says_what_is_wrong_with_a_folder)
{
    struct tempdir dir;
    struct dataset dataset;
    struct err err = {0};
    char path[128], text[200];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/class", dir.path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(dataset_open(&dataset, dir.path, &texts, &err), ERR_UNUSABLE);
    snprintf(text, sizeof text,
             "%s: a folder holds images, but texts are wanted: give a .jsonl or .csv file",
             dir.path);
    ck_assert_str_eq(err.text, text);
    dataset_close(&dataset);
    err = (struct err){0};
    ck_assert_int_eq(dataset_open(&dataset, dir.path, &images, &err), ERR_UNUSABLE);
    snprintf(text, sizeof text, "%s: no labelled input is in it", dir.path);
    ck_assert_str_eq(err.text, text);
    dataset_close(&dataset);
    ck_assert_int_eq(rmdir(path), 0);
    tempdir_close(&dir);
}
END_TEST

enum { RECORDS = 600 }; /* more than twice the room that a data set begins with */

static void expect_records(const char *name, const char *header, const char *format)
{
    static char bytes[RECORDS * 64];
    size_t used = (size_t)snprintf(bytes, sizeof bytes, "%s", header);
    unsigned first_line = header[0] != '\0' ? 2 : 1;
    for (unsigned i = 0; i < RECORDS; i++) {
        char number[16];
        snprintf(number, sizeof number, "n%u", i);
        for (const char *at = format; *at != '\0'; at++)
            used += (size_t)snprintf(bytes + used, sizeof bytes - used, *at == '@' ? "%s" : "%.1s",
                                     *at == '@' ? number : at);
    }
    struct subject subject;
    setup(&subject, name, bytes, used, &texts);
    ck_assert_str_eq(subject.err.text, "");
    ck_assert_uint_eq(subject.dataset.count, RECORDS);
    for (unsigned i = 0; i < RECORDS; i++) {
        const struct dataset_item *item = &subject.dataset.items[i];
        char line[16], input[16];
        snprintf(line, sizeof line, "line %u", first_line + i);
        snprintf(input, sizeof input, "n%u", i);
        ck_assert_str_eq(item->name, line);
        ck_assert_str_eq(item->input, input);
        ck_assert_uint_eq(item->input_len, strlen(input));
        ck_assert_str_eq(item->label, "x");
    }
    drop(&subject);
}

START_TEST(dataset_grows_with_its_records)
{
    expect_records("a.jsonl", "", "{\"text\": \"@\", \"label\": \"x\"}\n");
    expect_records("a.ndjson", "", "{\"label\": \"x\", \"text\": \"@\"}\r\n");
    expect_records("a.csv", "label,text\n", "x,@\n");
}
END_TEST

START_TEST(dataset_reads_lines_of_a_plain_text_up_to_its_limit)
{
    static const char text[] = "one\r\n\r\n \ttwo\n\t\r\nthree\rx\n\r";
    static const char *const names[] = {"line 1", "line 3", "line 5"};
    static const char *const inputs[] = {"one", " \ttwo", "three\rx"};
    struct subject subject;
    mallopt(M_PERTURB, 0xFF ^ '\n'); /* the byte behind the text would end its last line */
    setup(&subject, "a.txt", text, strlen(text) - 2, &lines);
    mallopt(M_PERTURB, 0);
    ck_assert_uint_eq(subject.dataset.count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(subject.dataset.items[i].name, names[i]);
        ck_assert_uint_eq(subject.dataset.items[i].input_len, strlen(inputs[i]));
        ck_assert_mem_eq(subject.dataset.items[i].input, inputs[i], strlen(inputs[i]));
        ck_assert_ptr_null(subject.dataset.items[i].label);
    }
    drop(&subject);
    struct dataset_options two = lines;
    two.items_max = 2;
    setup(&subject, "a.txt", text, strlen(text), &two);
    ck_assert_uint_eq(subject.dataset.count, 2);
    drop(&subject);
}
END_TEST

/* The names that the error lists are cut, not lost. */
START_TEST(dataset_match_lists_as_many_labels_as_there_is_room_for)
{
    enum { LABELS = 30, LISTED = 255 };
    char names[LABELS][16], list[LABELS * 18] = "", expected[512];
    const char *labels[LABELS];
    unsigned classes[1];
    struct subject subject;
    struct err err = {0};
    for (unsigned i = 0; i < LABELS; i++) {
        snprintf(names[i], sizeof names[i], "class-%04u", i);
        labels[i] = names[i];
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "",
                 names[i]);
    }
    setup(&subject, "a.csv", "text,label\na,stranger\n", 22, &texts);
    for (unsigned count = 20; count <= LABELS; count++) {
        size_t len = 10 * (size_t)count + 2 * ((size_t)count - 1);
        err = (struct err){0};
        ck_assert_int_eq(dataset_match(&subject.dataset, labels, count, classes, &err),
                         ERR_UNUSABLE);
        snprintf(expected, sizeof expected,
                 "line 2: the model has no label 'stranger' (it has: %.*s)",
                 (int)(len < LISTED ? len : LISTED), list);
        ck_assert_str_eq(err.text, expected);
    }
    labels[29] = "stranger";
    err = (struct err){0};
    ck_assert_int_eq(dataset_match(&subject.dataset, labels, LABELS, classes, &err), ERR_OK);
    ck_assert_uint_eq(classes[0], 29);
    drop(&subject);
}
END_TEST

/* A list without a label column has no labels. The memory behind its columns does not matter. */
START_TEST(dataset_without_a_label_column_has_null_labels)
{
    static const char list[] = "id,text\n1,one\n2,two\n";
    struct subject subject;
    mallopt(M_PERTURB, 0x5A);
    setup(&subject, "a.csv", list, strlen(list), &unlabelled);
    mallopt(M_PERTURB, 0);
    ck_assert_uint_eq(subject.dataset.count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_ptr_null(subject.dataset.items[i].label);
    ck_assert_str_eq(subject.dataset.items[1].input, "two");
    drop(&subject);
}
END_TEST

/* A class may be a link to a folder, an image one to a file; the path may be relative. */
START_TEST(dataset_follows_links_in_a_folder)
{
    static const char *const names[] = {"link/a.png", "link/b.png", "real/a.png", "real/b.png"};
    struct tempdir dir;
    struct dataset dataset;
    struct err err = {0};
    tempdir_open(&dir);
    ck_assert_int_eq(chdir(dir.path), 0);
    ck_assert_int_eq(mkdir("set", 0700), 0);
    ck_assert_int_eq(mkdir("set/real", 0700), 0);
    FILE *file = fopen("set/real/a.png", "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(symlink("a.png", "set/real/b.png"), 0);
    ck_assert_int_eq(symlink("real", "set/link"), 0);
    ck_assert_int_eq(dataset_open(&dataset, "set", &images, &err), ERR_OK);
    ck_assert_uint_eq(dataset.count, 4);
    for (size_t i = 0; i < 4; i++) {
        char input[32];
        snprintf(input, sizeof input, "set/%s", names[i]);
        ck_assert_str_eq(dataset.items[i].name, names[i]);
        ck_assert_str_eq(dataset.items[i].input, input);
        ck_assert_int_eq(access(input, R_OK), 0); /* still in the same folder */
    }
    dataset_close(&dataset);
    static const char *const made[] = {"set/link", "set/real/a.png", "set/real/b.png", "set/real",
                                       "set"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(remove(made[i]), 0);
    ck_assert_int_eq(chdir("/"), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("dataset_errors", dataset_refuses_a_file_that_holds_no_records_of_its_kind,
      dataset_keeps_nothing_of_a_record_that_it_refuses, dataset_says_what_is_wrong_with_a_folder,
      dataset_grows_with_its_records, dataset_reads_lines_of_a_plain_text_up_to_its_limit,
      dataset_match_lists_as_many_labels_as_there_is_room_for,
      dataset_without_a_label_column_has_null_labels, dataset_follows_links_in_a_folder)
