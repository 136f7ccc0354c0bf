#include "learn/data/dataset.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes one file and opens it as a data set. */
struct fixture {
    struct tempdir dir;
    char path[128];
    struct dataset dataset;
    struct err err;
};

static void setup(struct fixture *fixture, const char *name, const char *bytes, size_t len,
                  const struct dataset_options *options)
{
    tempdir_open(&fixture->dir);
    tempdir_write(&fixture->dir, name, bytes, len);
    snprintf(fixture->path, sizeof fixture->path, "%s/%s", fixture->dir.path, name);
    fixture->err = (struct err){0};
    enum err_code code = dataset_open(&fixture->dataset, fixture->path, options, &fixture->err);
    ck_assert_int_eq(code, fixture->err.code);
}

static void drop(struct fixture *fixture)
{
    dataset_close(&fixture->dataset);
    tempdir_close(&fixture->dir);
}

static void setup_text(struct fixture *fixture, const char *name, const char *bytes)
{
    setup(fixture, name, bytes, strlen(bytes), &(struct dataset_options){.kind = ENGINE_TEXT});
}

/* The error's text behind the path. */
static void expect_error(const char *name, const char *bytes, enum err_code code, const char *text)
{
    struct fixture fixture;
    setup_text(&fixture, name, bytes);
    size_t path_len = strlen(fixture.path);
    ck_assert_int_eq(fixture.err.code, code);
    ck_assert_int_eq(strncmp(fixture.err.text, fixture.path, path_len), 0);
    ck_assert_str_eq(fixture.err.text + path_len, text);
    drop(&fixture);
}

static void expect_item(const struct dataset *dataset, size_t i, const char *name,
                        const char *input, const char *label)
{
    ck_assert_uint_lt(i, dataset->count);
    ck_assert_str_eq(dataset->items[i].name, name);
    ck_assert_str_eq(dataset->items[i].input, input);
    ck_assert_uint_eq(dataset->items[i].input_len, strlen(input));
    ck_assert_str_eq(dataset->items[i].label, label);
}

/* ---- JSONL ---- */

START_TEST(dataset_reads_texts_from_jsonl)
{
    struct fixture fixture;
    setup_text(&fixture, "a.jsonl",
               "\xEF\xBB\xBF{\"text\": \"one\\ntwo\", \"label\": \"x\", \"id\": 7}\r\n"
               "  \n{\"label\": \"\\u00e9\", \"text\": \"\"}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(fixture.dataset.count, 2);
    expect_item(&fixture.dataset, 0, "line 1", "one\ntwo", "x");
    expect_item(&fixture.dataset, 1, "line 3", "", "\xC3\xA9");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_keeps_nul_characters_of_a_text)
{
    struct fixture fixture;
    setup_text(&fixture, "a.jsonl", "{\"text\": \"a\\u0000b\", \"label\": \"x\"}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(fixture.dataset.items[0].input_len, 3);
    drop(&fixture);
}
END_TEST

START_TEST(dataset_finds_images_beside_their_list)
{
    static const char list[] = "{\"image\": \"maps/1.png\", \"label\": \"x\"}\n"
                               "{\"image\": \"/maps/2.png\", \"label\": \"y\"}\n";
    struct fixture fixture;
    char path[128];
    setup(&fixture, "a.jsonl", list, strlen(list), &(struct dataset_options){.kind = ENGINE_IMAGE});
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    snprintf(path, sizeof path, "%s/maps/1.png", fixture.dir.path);
    expect_item(&fixture.dataset, 0, "maps/1.png", path, "x");
    expect_item(&fixture.dataset, 1, "/maps/2.png", "/maps/2.png", "y");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_finds_masks_beside_their_list)
{
    static const char list[] = "{\"image\": \"a.png\", \"label\": \"Loc\", \"mask\": \"m/a.png\"}\n"
                               "{\"image\": \"b.png\", \"label\": \"Loc\"}\n";
    struct dataset_options options = {.kind = ENGINE_IMAGE};
    struct fixture fixture;
    char path[128];
    setup(&fixture, "list.jsonl", list, strlen(list), &options);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    snprintf(path, sizeof path, "%s/m/a.png", fixture.dir.path);
    ck_assert_str_eq(fixture.dataset.items[0].mask, path);
    ck_assert_ptr_null(fixture.dataset.items[1].mask);
    drop(&fixture);
}
END_TEST

START_TEST(dataset_refuses_masks_that_are_no_paths)
{
    static const char *const cases[][2] = {
        {"{\"image\": \"a.png\", \"label\": \"Loc\", \"mask\": 1}", "expected a string"},
        {"{\"image\": \"a.png\", \"label\": \"Loc\", \"mask\": \"\"}", "the mask's path is empty"},
        {"{\"image\": \"a.png\", \"label\": \"Loc\", \"mask\": \"a\\u0000\"}",
         "the mask's path is cut by a NUL character"}};
    struct dataset_options options = {.kind = ENGINE_IMAGE};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        setup(&fixture, "list.jsonl", cases[i][0], strlen(cases[i][0]), &options);
        ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
        ck_assert_msg(strstr(fixture.err.text, cases[i][1]) != NULL, "%s", fixture.err.text);
        drop(&fixture);
    }
}
END_TEST

START_TEST(dataset_takes_what_python_and_excel_write)
{
    static const char lines[] =
        "{\"text\": \"NaN\", \"label\": 1, \"t\": NaN}\n"
        "{\"text\": \"b\", \"label\": -0.5, \"t\": [-Infinity, Infinity]}\n";
    static const char excel[] = "\xFF\xFEt\0e\0x\0t\0\t\0l\0a\0b\0e\0l\0\r\0\n\0"
                                "\xB5\0\t\0x\0\r\0\n";
    struct fixture fixture;
    setup_text(&fixture, "a.jsonl", lines);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    expect_item(&fixture.dataset, 0, "line 1", "NaN", "1");
    expect_item(&fixture.dataset, 1, "line 2", "b", "-0.5");
    drop(&fixture);
    setup(&fixture, "a.csv", excel, sizeof excel, &(struct dataset_options){.kind = ENGINE_TEXT});
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    expect_item(&fixture.dataset, 0, "line 2", "\xC2\xB5", "x");
    drop(&fixture);
    setup_text(&fixture, "a.csv", "sep=;\ntext;label\na,b;x\n");
    expect_item(&fixture.dataset, 0, "line 3", "a,b", "x");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_takes_inputs_with_several_labels_or_no_label)
{
    static const struct dataset_options many = {.kind = ENGINE_TEXT, .labels_many = true};
    static const char lines[] = "{\"text\": \"a\", \"label\": [\"x\", 2]}\n"
                                "{\"text\": \"b\", \"label\": []}\n"
                                "{\"text\": \"c\", \"label\": null}\n"
                                "{\"text\": \"d\", \"label\": \"\"}\n";
    static const char rows[] = "text,label\na,x|y\nb,\n";
    struct fixture fixture;
    setup(&fixture, "a.jsonl", lines, strlen(lines), &many);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    expect_item(&fixture.dataset, 0, "line 1", "a", "x|2");
    for (size_t i = 1; i < 4; i++)
        ck_assert_str_eq(fixture.dataset.items[i].label, "");
    drop(&fixture);
    setup(&fixture, "a.csv", rows, strlen(rows), &many);
    expect_item(&fixture.dataset, 0, "line 2", "a", "x|y");
    expect_item(&fixture.dataset, 1, "line 3", "b", "");
    drop(&fixture);
    /* A real from 2^53 on is a number to learn, but the name of no class. */
    static const char large[] = "{\"text\": \"a\", \"label\": [1e16, -2.5e20]}\n"
                                "{\"text\": \"b\", \"label\": 1.0000000000000002e16}";
    struct dataset_options numbers = many;
    numbers.labels_numbers = true;
    setup(&fixture, "a.jsonl", large, strlen(large), &numbers);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    expect_item(&fixture.dataset, 0, "line 1", "a", "10000000000000000|-2.5e+20");
    expect_item(&fixture.dataset, 1, "line 2", "b", "10000000000000002");
    drop(&fixture);
    setup(&fixture, "a.jsonl", large, strlen(large), &many);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "element 0 is no label"));
    drop(&fixture);
    static const char bar[] = "{\"text\": \"a\", \"label\": [\"x|y\", \"z\"]}";
    setup(&fixture, "a.jsonl", bar, strlen(bar), &many);
    ck_assert_ptr_nonnull(
        strstr(fixture.err.text, "line 1: member 'label': element 0 is no label"));
    drop(&fixture);
    setup(&fixture, "a.jsonl", "{\"text\": \"a\"}", 13, &many);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "member 'label' is missing"));
    drop(&fixture);
    expect_error("a.jsonl", "{\"text\": \"a\", \"label\": [\"x\"]}", ERR_UNUSABLE,
                 ": line 1: member 'label': expected a string, found an array");
}
END_TEST

#define FIELDS " (--text-field, --image-field and --label-field say which to take)"

START_TEST(dataset_names_the_line_of_a_bad_jsonl_record)
{
    static const struct {
        const char *line, *text;
        enum err_code code;
    } cases[] = {
        {"{\"text\": \"a\"}", "member 'label' is missing; the members are: text" FIELDS,
         ERR_UNUSABLE},
        {"{\"cause\": \"a\", \"log\": 7}",
         "member 'text' is missing; the members are: cause, log" FIELDS, ERR_UNUSABLE},
        {"{\"text\": null, \"label\": \"a\"}",
         "member 'text' is missing; the members are: text, label" FIELDS, ERR_UNUSABLE},
        {"{\"text\": 7, \"label\": \"a\"}", "member 'text': expected a string, found a number",
         ERR_UNUSABLE},
        {"{\"text\": \"a\", \"label\": true}", "member 'label': expected a string, found a boolean",
         ERR_UNUSABLE},
        {"{\"text\": \"a\", \"label\": \"\"}", "the label is empty: give one, or take the line out",
         ERR_UNUSABLE},
        {"{\"text\": \"a\", \"label\": \"x\\u0000\"}", "the label contains a NUL character",
         ERR_UNUSABLE},
        {"[]", "expected an object, found an array", ERR_UNUSABLE},
        {"\"text\"", "expected an object, found a string", ERR_UNUSABLE},
        {"{\"text\": \"a\", \"label\"", "JSON ends too early at byte 21", ERR_MALFORMED},
        {"{} {}", "more bytes after the JSON value at byte 4", ERR_MALFORMED},
        {"{\"text\": \"\xFF\"}",
         "invalid UTF-8 at byte 10 of the line (iconv -f windows-1252 -t UTF-8 converts a file)",
         ERR_UNUSABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[256], text[256];
        snprintf(bytes, sizeof bytes, "{\"text\": \"a\", \"label\": \"x\"}\n\n%s\n", cases[i].line);
        snprintf(text, sizeof text, ": line 3: %s", cases[i].text);
        expect_error("a.jsonl", bytes, cases[i].code, text);
    }
}
END_TEST

START_TEST(dataset_refuses_jsonl_nested_too_deep)
{
    char bytes[4096];
    memset(bytes, '[', sizeof bytes);
    bytes[sizeof bytes - 1] = '\0';
    expect_error("a.jsonl", bytes, ERR_TOO_LARGE,
                 ": line 1: JSON nested deeper than 16 levels at byte 16");
}
END_TEST

/* ---- CSV ---- */

START_TEST(dataset_reads_texts_from_csv)
{
    struct fixture fixture;
    setup_text(&fixture, "a.CSV", "id,label,text\r\n1,x,\"one,\r\n\"\"two\"\"\"\r\n2,y,plain\r\n");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(fixture.dataset.count, 2);
    expect_item(&fixture.dataset, 0, "line 2", "one,\r\n\"two\"", "x");
    expect_item(&fixture.dataset, 1, "line 4", "plain", "y");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_takes_the_fields_it_is_told)
{
    static const char list[] = "text,log,cause\nno,yes,x\n";
    struct fixture fixture;
    struct dataset_options options = {
        .kind = ENGINE_TEXT, .text_field = "log", .label_field = "cause"};
    setup(&fixture, "a.csv", list, strlen(list), &options);
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    expect_item(&fixture.dataset, 0, "line 2", "yes", "x");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_names_the_line_of_a_bad_csv_record)
{
    expect_error("a.csv", "", ERR_UNUSABLE,
                 ": line 1: the header, which names the columns, is missing");
    expect_error("a.csv", "text\na\n", ERR_UNUSABLE,
                 ": line 1: no column is named 'label'; the columns are: text (--text-field, "
                 "--image-field and --label-field say which to take)");
    expect_error("a.csv", "label,Text\na,b\n", ERR_UNUSABLE,
                 ": line 1: no column is named 'text'; the columns are: label, Text (--text-field, "
                 "--image-field and --label-field say which to take)");
    expect_error("a.csv", "text,label,text\n", ERR_UNUSABLE,
                 ": line 1: two columns are named 'text'");
    expect_error("a.csv", "text,label\n", ERR_UNUSABLE, ": no labelled input is in it");
    expect_error("a.csv", "text,label\n\"a\nb\",x\na\n", ERR_MALFORMED,
                 ": line 4: 1 fields, but the header has 2");
    expect_error("a.csv", "text,label\na,b,c\n", ERR_MALFORMED,
                 ": line 2: 3 fields, but the header has 2");
    expect_error("a.csv", "text,label\na,\n", ERR_UNUSABLE,
                 ": line 2: the label is empty: give one, or take the line out");
    expect_error("a.csv", "text,label\na,\xFF\n", ERR_UNUSABLE,
                 ": line 2: invalid UTF-8 at byte 0 of the label (iconv -f windows-1252 -t UTF-8 "
                 "converts a file)");
    expect_error("a.csv", "text,label\n\"a,x\n", ERR_MALFORMED,
                 ": line 2: a quoted field is never closed");
}
END_TEST

START_TEST(dataset_refuses_bad_image_paths)
{
    static const struct {
        const char *bytes, *text;
        size_t len;
    } cases[] = {
        {"image,label\n,x\n", "line 2: the image's path is empty", 15},
        {"image,label\na\0b,x\n", "line 2: the image's path is cut by a NUL character", 18}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        setup(&fixture, "a.csv", cases[i].bytes, cases[i].len,
              &(struct dataset_options){.kind = ENGINE_IMAGE});
        ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(fixture.err.text, cases[i].text));
        drop(&fixture);
    }
}
END_TEST

/* ---- folders ---- */

static void make_folder(char path[64])
{
    static const char *const folders[] = {"Loc", "none", ".git", "Loc/deeper"};
    static const char *const files[] = {"none/b.JPG",    "none/a.jpeg", "Loc/2.png",
                                        "Loc/notes.txt", "Loc/.h.png",  "Loc/deeper/3.png",
                                        "top.png",       ".git/4.png"};
    char name[256];
    snprintf(path, 64, "/tmp/attnd-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", path, folders[i]);
        ck_assert_int_eq(mkdir(name, 0700), 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", path, files[i]);
        FILE *file = fopen(name, "w");
        ck_assert_ptr_nonnull(file);
        fclose(file);
    }
}

static void remove_folder(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", path);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(dataset_reads_a_folder_of_classes)
{
    char path[64], input[128];
    struct dataset dataset;
    struct err err = {0};
    make_folder(path);
    dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_IMAGE}, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(dataset.count, 3);
    snprintf(input, sizeof input, "%s/Loc/2.png", path);
    expect_item(&dataset, 0, "Loc/2.png", input, "Loc");
    snprintf(input, sizeof input, "%s/none/a.jpeg", path);
    expect_item(&dataset, 1, "none/a.jpeg", input, "none");
    snprintf(input, sizeof input, "%s/none/b.JPG", path);
    expect_item(&dataset, 2, "none/b.JPG", input, "none");
    dataset_close(&dataset);
    remove_folder(path);
}
END_TEST

START_TEST(dataset_refuses_a_folder_for_texts_and_one_without_images)
{
    char path[64];
    struct dataset dataset;
    struct err err = {0};
    make_folder(path);
    ck_assert_int_eq(
        dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_TEXT}, &err),
        ERR_UNUSABLE);
    dataset_close(&dataset);
    err = (struct err){0};
    strcat(path, "/Loc");
    ck_assert_int_eq(
        dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_IMAGE}, &err),
        ERR_OK);
    ck_assert_uint_eq(dataset.count, 1); /* Loc/deeper/3.png: "deeper" is a class now */
    dataset_close(&dataset);
    strcat(path, "/deeper");
    ck_assert_int_eq(
        dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_IMAGE}, &err),
        ERR_UNUSABLE);
    dataset_close(&dataset);
    path[strlen("/tmp/attnd-test-XXXXXX")] = '\0';
    remove_folder(path);
}
END_TEST

static void write_lot(const char *path, const char *name, unsigned wafers)
{
    struct tempdir dir;
    struct stdf_writer writer;
    snprintf(dir.path, sizeof dir.path, "%s", path);
    stdf_writer_open(&writer, true);
    for (unsigned w = 0; w < wafers; w++) {
        char id[16];
        snprintf(id, sizeof id, "W%u", w + 1);
        stdf_writer_wafer(&writer, 1, id);
        stdf_writer_die(&writer, 1, 3, 4, STDF_WRITER_PASS, 1);
        stdf_writer_wafer_end(&writer, 1, id);
    }
    stdf_writer_close(&writer);
    tempdir_write(&dir, name, writer.bytes, writer.len);
}

START_TEST(dataset_takes_each_wafer_of_an_stdf_file_as_an_item)
{
    static const struct {
        const char *name, *file;
    } items[] = {{"Loc/2.png", "2.png"},
                 {"Loc/bad.std", "bad.std"},
                 {"Loc/many.stdf#W1", "many.stdf#W1"},
                 {"Loc/many.stdf#W2", "many.stdf#W2"},
                 {"Loc/many.stdf#W3", "many.stdf#W3"},
                 {"Loc/one.stdf", "one.stdf"},
                 {"none/a.jpeg", NULL},
                 {"none/b.JPG", NULL}};
    char path[64], folder[80], input[128];
    struct dataset dataset;
    struct dataset_options options = {.kind = ENGINE_IMAGE};
    struct err err = {0};
    make_folder(path);
    snprintf(folder, sizeof folder, "%s/Loc", path);
    write_lot(folder, "many.stdf", 3);
    write_lot(folder, "one.stdf", 1);
    write_lot(folder, ".hidden.stdf", 1);
    write_lot(folder, "bad.std", 0);
    dataset_open(&dataset, path, &options, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(dataset.count, sizeof items / sizeof *items);
    for (size_t i = 0; i < dataset.count; i++) {
        ck_assert_str_eq(dataset.items[i].name, items[i].name);
        if (items[i].file == NULL)
            continue;
        snprintf(input, sizeof input, "%s/%s", folder, items[i].file);
        expect_item(&dataset, i, items[i].name, input, "Loc");
    }
    dataset_close(&dataset);
    options.items_max = 4;
    dataset_open(&dataset, path, &options, &err);
    ck_assert_uint_eq(dataset.count, 4);
    dataset_close(&dataset);
    remove_folder(path);
}
END_TEST

/* ---- any form ---- */

START_TEST(dataset_refuses_paths_that_are_no_data_set)
{
    struct dataset dataset;
    struct err err = {0};
    struct dataset_options options = {.kind = ENGINE_TEXT};
    ck_assert_int_eq(dataset_open(&dataset, "/nowhere/a.csv", &options, &err), ERR_IO);
    ck_assert_str_eq(err.text, "/nowhere/a.csv: cannot be opened: No such file or directory");
    dataset_close(&dataset);
    expect_error(
        "a.xml", "text,label\n", ERR_UNUSABLE,
        ": a data set is a file .jsonl, .ndjson or .csv (or these .gz), or a folder with a "
        "folder of images for each class");
}
END_TEST

START_TEST(dataset_stops_at_its_limit)
{
    static const char list[] = "text,label\na,x\nb,y\nbroken\n";
    struct fixture fixture;
    struct dataset_options options = {.kind = ENGINE_TEXT, .items_max = 2};
    setup(&fixture, "a.csv", list, strlen(list), &options);
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(fixture.dataset.count, 2);
    drop(&fixture);
}
END_TEST

START_TEST(dataset_match_finds_classes_and_names_a_stranger)
{
    static const char *const labels[] = {"none", "Loc"};
    struct fixture fixture;
    struct err err = {0};
    unsigned classes[3];
    setup_text(&fixture, "a.csv", "text,label\na,Loc\nb,none\nc,loc\n");
    ck_assert_uint_eq(fixture.dataset.count, 3);
    ck_assert_int_eq(dataset_match(&fixture.dataset, labels, 2, classes, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "line 4: the model has no label 'loc' (it has: none, Loc)");
    ck_assert_uint_eq(classes[0], 1);
    ck_assert_uint_eq(classes[1], 0);
    drop(&fixture);
}
END_TEST

/* A file that is cut off anywhere ends in at least one record or in an error. */
static void cut_everywhere(const char *name, const char *bytes)
{
    for (size_t len = 0; len < strlen(bytes); len++) {
        struct fixture fixture;
        setup(&fixture, name, bytes, len, &(struct dataset_options){.kind = ENGINE_TEXT});
        ck_assert(fixture.err.code != ERR_OK || fixture.dataset.count > 0);
        ck_assert_uint_le(fixture.dataset.count, 2);
        drop(&fixture);
    }
}

START_TEST(dataset_survives_every_truncation)
{
    cut_everywhere("a.jsonl", "{\"text\": \"a\\u00e9\xC3\xA9\", \"label\": \"x\"}\r\n"
                              "{\"label\": \"y\", \"text\": \"\\\"\"}\n");
    cut_everywhere("a.csv", "\xEF\xBB\xBFtext,label\r\n\"a \"\"b\"\"\n\",\"x\"\r\n,y\r\n");
}
END_TEST

/* ---- without labels ---- */

static const struct dataset_options unlabelled = {.kind = ENGINE_TEXT, .labels_optional = true};
static const struct dataset_options lines = {
    .kind = ENGINE_TEXT, .labels_optional = true, .line_documents = true};

static void expect_unlabelled(const struct dataset *dataset, size_t i, const char *name,
                              const char *input)
{
    ck_assert_uint_lt(i, dataset->count);
    ck_assert_str_eq(dataset->items[i].name, name);
    ck_assert_uint_eq(dataset->items[i].input_len, strlen(input));
    ck_assert_mem_eq(dataset->items[i].input, input, strlen(input));
    ck_assert_ptr_null(dataset->items[i].label);
}

START_TEST(dataset_without_labels_takes_lists_with_and_without)
{
    static const char *const files[][2] = {
        {"a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\", \"label\": \"x\"}\n"
                    "{\"text\": \"three\", \"label\": \"\"}\n"},
        {"a.csv", "text,label\none,\ntwo,x\nthree,\"\"\n"}};
    for (unsigned i = 0; i < 2; i++) {
        struct fixture fixture;
        setup(&fixture, files[i][0], files[i][1], strlen(files[i][1]), &unlabelled);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        ck_assert_uint_eq(fixture.dataset.count, 3);
        expect_unlabelled(&fixture.dataset, 0, i == 0 ? "line 1" : "line 2", "one");
        expect_item(&fixture.dataset, 1, i == 0 ? "line 2" : "line 3", "two", "x");
        expect_unlabelled(&fixture.dataset, 2, i == 0 ? "line 3" : "line 4", "three");
        drop(&fixture);
    }
}
END_TEST

START_TEST(dataset_without_labels_needs_no_column_of_them)
{
    struct fixture fixture;
    setup(&fixture, "a.csv", "id,text\n7,one\n", 14, &unlabelled);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    expect_unlabelled(&fixture.dataset, 0, "line 2", "one");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_reads_a_plain_text_as_one_document_or_by_lines)
{
    static const char text[] = "\xEF\xBB\xBFone a\r\n\n \t\ntwo";
    struct fixture fixture;
    setup(&fixture, "a.log", text, strlen(text), &unlabelled);
    ck_assert_uint_eq(fixture.dataset.count, 1);
    expect_unlabelled(&fixture.dataset, 0, "a.log", text + 3);
    drop(&fixture);
    setup(&fixture, "a.TXT", text, strlen(text), &lines);
    ck_assert_uint_eq(fixture.dataset.count, 2);
    expect_unlabelled(&fixture.dataset, 0, "line 1", "one a");
    expect_unlabelled(&fixture.dataset, 1, "line 4", "two");
    drop(&fixture);
}
END_TEST

START_TEST(dataset_refuses_a_plain_text_where_labels_are_needed)
{
    expect_error("a.txt", "one\n", ERR_UNUSABLE,
                 ": a plain text has no labels; .jsonl, .ndjson and .csv files have");
}
END_TEST

START_TEST(dataset_refuses_a_plain_text_where_images_are_wanted)
{
    struct fixture fixture;
    setup(&fixture, "a.txt", "one\n", 4,
          &(struct dataset_options){.kind = ENGINE_IMAGE, .labels_optional = true});
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "a plain text, but images are wanted"));
    drop(&fixture);
}
END_TEST

START_TEST(dataset_says_what_a_data_set_without_labels_may_be)
{
    struct fixture fixture;
    setup(&fixture, "a.dat", "one\n", 4, &unlabelled);
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(
        strstr(fixture.err.text, "a data set is a file .jsonl, .ndjson, .csv, .txt or .log"));
    drop(&fixture);
}
END_TEST

START_TEST(dataset_refuses_a_plain_text_without_any)
{
    struct fixture fixture;
    setup(&fixture, "a.txt", "\n \n", 3, &lines);
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "a.txt: no input is in it"));
    drop(&fixture);
    setup(&fixture, "a.txt", "", 0, &unlabelled);
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    drop(&fixture);
}
END_TEST

START_TEST(dataset_match_names_an_item_without_a_label)
{
    struct fixture fixture;
    unsigned class;
    setup(&fixture, "a.txt", "one", 3, &unlabelled);
    ck_assert_int_eq(
        dataset_match(&fixture.dataset, (const char *const[]){"x"}, 1, &class, &fixture.err),
        ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text, "a.txt: it has no label");
    drop(&fixture);
}
END_TEST

START_TEST(items_of_some_labels_are_set_aside_in_their_order)
{
    static const char rows[] = "{\"text\": \"1\", \"label\": \"a\"}\n"
                               "{\"text\": \"2\", \"label\": \"x\"}\n"
                               "{\"text\": \"3\", \"label\": \"b\"}\n"
                               "{\"text\": \"4\", \"label\": \"y\"}\n"
                               "{\"text\": \"5\", \"label\": \"x\"}\n";
    static const char *const unseen[] = {"x", "y"}, *const absent[] = {"x", "z"},
                             *const rest[] = {"a", "b"};
    struct fixture fixture;
    struct dataset aside;
    setup_text(&fixture, "list.jsonl", rows);
    ck_assert_int_eq(dataset_set_aside(&fixture.dataset, absent, 2, &aside, &fixture.err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text, "no input has the label 'z'");
    dataset_close(&aside);
    fixture.err = (struct err){0};
    ck_assert(!dataset_set_aside(&fixture.dataset, unseen, 2, &aside, &fixture.err));
    ck_assert_uint_eq(aside.count, 3);
    expect_item(&aside, 1, "line 4", "4", "y");
    ck_assert_uint_eq(fixture.dataset.count, 2);
    expect_item(&fixture.dataset, 1, "line 3", "3", "b");
    dataset_close(&aside);
    ck_assert_int_eq(dataset_set_aside(&fixture.dataset, rest, 2, &aside, &fixture.err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text, "all inputs have a label that is set aside");
    dataset_close(&aside);
    drop(&fixture);
}
END_TEST

SUITE("dataset", dataset_takes_what_python_and_excel_write,
      dataset_takes_inputs_with_several_labels_or_no_label,
      items_of_some_labels_are_set_aside_in_their_order,
      dataset_refuses_a_plain_text_where_images_are_wanted,
      dataset_says_what_a_data_set_without_labels_may_be, dataset_finds_masks_beside_their_list,
      dataset_refuses_masks_that_are_no_paths, dataset_reads_texts_from_jsonl,
      dataset_keeps_nul_characters_of_a_text, dataset_finds_images_beside_their_list,
      dataset_names_the_line_of_a_bad_jsonl_record, dataset_refuses_jsonl_nested_too_deep,
      dataset_reads_texts_from_csv, dataset_takes_the_fields_it_is_told,
      dataset_names_the_line_of_a_bad_csv_record, dataset_refuses_bad_image_paths,
      dataset_reads_a_folder_of_classes, dataset_refuses_a_folder_for_texts_and_one_without_images,
      dataset_takes_each_wafer_of_an_stdf_file_as_an_item,
      dataset_refuses_paths_that_are_no_data_set, dataset_stops_at_its_limit,
      dataset_match_finds_classes_and_names_a_stranger, dataset_survives_every_truncation,
      dataset_without_labels_takes_lists_with_and_without,
      dataset_without_labels_needs_no_column_of_them,
      dataset_reads_a_plain_text_as_one_document_or_by_lines,
      dataset_refuses_a_plain_text_where_labels_are_needed,
      dataset_refuses_a_plain_text_without_any, dataset_match_names_an_item_without_a_label)
