/* export_files.h: the files beside the weights, to the byte or the member, and what is said of
 * those that cannot be written. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "learn/train/checkpoint/export_files.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir source, dir;
static struct err err;

static void open_dirs(void)
{
    tempdir_open(&source);
    tempdir_open(&dir);
    err = (struct err){0};
}

static void close_dirs(void)
{
    tempdir_close(&source);
    tempdir_close(&dir);
}

static const char *path_of(const struct tempdir *in, const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", in->path, name);
    return path;
}

static bool has(const char *name)
{
    return access(path_of(&dir, name), F_OK) == 0;
}

static void put(const struct tempdir *in, const char *name, const char *text)
{
    tempdir_write(in, name, text, strlen(text));
}

static void expect_file(const char *name, const char *text)
{
    char *bytes;
    size_t len;
    ck_assert_msg(!file_read(&bytes, &len, path_of(&dir, name), 1 << 20, &err), "%s", err.text);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_mem_eq(bytes, text, len);
    free(bytes);
}

static struct json_t *json_of(const char *name)
{
    struct json_t *root;
    ck_assert_msg(!doc_parse_file(&root, path_of(&dir, name), 1 << 20, &err), "%s", err.text);
    return root;
}

static void expect_error(enum err_code code, const struct tempdir *in, const char *name,
                         const char *text)
{
    char want[512];
    snprintf(want, sizeof want, "%s/%s%s", in->path, name, text);
    ck_assert_msg(err.code == code, "%d: %s", err.code, err.text);
    ck_assert_str_eq(err.text, want);
    err = (struct err){0};
}

/* ---- paths and directories ---- */

START_TEST(a_path_that_is_too_long_is_refused)
{
    static char long_dir[PATH_MAX];
    memset(long_dir, 'd', PATH_MAX - 3);
    bool found;
    err = (struct err){0};
    ck_assert_int_eq(export_files_copy(long_dir, "/tmp", "xy", &found, &err), ERR_IO);
    ck_assert_int_eq(export_files_copy("/tmp", long_dir, "xy", &found, &err), ERR_IO);
    ck_assert_int_eq(export_files_tokenizer("/tmp", long_dir, 0, &err), ERR_IO);
    ck_assert_int_eq(export_files_preprocessor("/tmp", long_dir, "ViT", extent_square(1),
                                               extent_square(1), &err),
                     ERR_IO);
    ck_assert_int_eq(export_files_preprocessor(long_dir, "/tmp", "ViT", extent_square(1),
                                               extent_square(1), &err),
                     ERR_IO);
}
END_TEST

START_TEST(a_directory_is_made_unless_it_is_there)
{
    struct stat status;
    open_dirs();
    char new[PATH_MAX];
    snprintf(new, sizeof new, "%s", path_of(&dir, "new"));
    ck_assert(!export_files_make_dir(new, &err) && !export_files_make_dir(new, &err));
    ck_assert(stat(new, &status) == 0 && S_ISDIR(status.st_mode));
    ck_assert_int_eq(rmdir(new), 0);
    put(&dir, "file", "x");
    ck_assert_int_eq(export_files_make_dir(path_of(&dir, "file"), &err), ERR_IO);
    expect_error(ERR_IO, &dir, "file", ": cannot be made a directory: File exists");
    ck_assert_int_eq(export_files_make_dir(path_of(&dir, "a/b"), &err), ERR_IO);
    expect_error(ERR_IO, &dir, "a/b", ": cannot be made a directory: No such file or directory");
    close_dirs();
}
END_TEST

/* ---- copies ---- */

START_TEST(a_copy_is_the_file_or_its_absence)
{
    bool found = false;
    open_dirs();
    put(&source, "a", "text of a\n");
    put(&dir, "a", "older, and longer than the new one\n");
    ck_assert(!export_files_copy(dir.path, source.path, "a", &found, &err) && found);
    expect_file("a", "text of a\n");
    struct stat before, after; /* onto itself: the file is not written again */
    ck_assert_int_eq(stat(path_of(&dir, "a"), &before), 0);
    ck_assert(!export_files_copy(dir.path, dir.path, "a", &found, &err) && found);
    ck_assert_int_eq(stat(path_of(&dir, "a"), &after), 0);
    ck_assert(after.st_ino == before.st_ino);
    expect_file("a", "text of a\n");
    put(&dir, "b", "gone");
    ck_assert(!export_files_copy(dir.path, source.path, "b", &found, &err) && !found);
    ck_assert(!has("b"));
    ck_assert(!export_files_copy(dir.path, source.path, "b", NULL, &err)); /* nor was it there */
    ck_assert_int_eq(err.code, ERR_OK);
    ck_assert_int_eq(mkdir(path_of(&dir, "c"), 0777), 0);
    ck_assert_int_eq(export_files_copy(dir.path, source.path, "c", NULL, &err), ERR_IO);
    expect_error(ERR_IO, &dir, "c", ": cannot be removed: Is a directory");
    ck_assert_int_eq(rmdir(path_of(&dir, "c")), 0);
    close_dirs();
}
END_TEST

START_TEST(export_files_name_the_path_that_cannot_be_read)
{
    open_dirs();
    ck_assert_int_eq(mkdir(path_of(&source, "a"), 0777), 0);
    ck_assert_int_ne(export_files_copy(dir.path, source.path, "a", NULL, &err), ERR_OK);
    ck_assert_int_eq(strncmp(err.text, path_of(&source, "a"), strlen(path_of(&source, "a"))), 0);
    ck_assert_int_eq(rmdir(path_of(&source, "a")), 0);
    put(&source, "b", "");
    ck_assert_int_eq(truncate(path_of(&source, "b"), (64l << 20) + 1), 0);
    err = (struct err){0};
    ck_assert_int_eq(export_files_copy(dir.path, source.path, "b", NULL, &err), ERR_TOO_LARGE);
    ck_assert(!has("b"));
    close_dirs();
}
END_TEST

/* ---- the tokenizer ---- */

static const char *const tokenizer_names[] = {"vocab.txt", "tokenizer.json",
                                              "tokenizer_config.json", "special_tokens_map.json",
                                              "added_tokens.json"};

/* Each file in turn is the one that the source lacks. */
START_TEST(export_files_copies_a_whole_tokenizer_and_removes_older_files)
{
    for (unsigned lacks = 0; lacks < 5; lacks++) {
        open_dirs();
        for (unsigned i = 0; i < 5; i++) {
            put(&dir, tokenizer_names[i], "older");
            if (i != lacks)
                put(&source, tokenizer_names[i], tokenizer_names[i]);
        }
        ck_assert_msg(!export_files_tokenizer(dir.path, source.path, 0, &err), "%s", err.text);
        for (unsigned i = 0; i < 5; i++)
            if (i == lacks)
                ck_assert(!has(tokenizer_names[i]));
            else
                expect_file(tokenizer_names[i], tokenizer_names[i]);
        close_dirs();
    }
}
END_TEST

START_TEST(a_tokenizer_without_a_vocabulary_is_refused)
{
    open_dirs();
    put(&source, "tokenizer_config.json", "{}");
    ck_assert_int_ne(export_files_tokenizer(dir.path, source.path, 9, &err), ERR_OK);
    char want[160];
    snprintf(want, sizeof want,
             "%s: there is neither a vocab.txt nor a tokenizer.json nor a vocab.json", source.path);
    ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    ck_assert(!has("tokenizer_config.json"));
    err = (struct err){0};
    put(&source, "vocab.txt", "x");
    ck_assert_int_eq(mkdir(path_of(&dir, "added_tokens.json"), 0777), 0);
    ck_assert_int_eq(export_files_tokenizer(dir.path, source.path, 9, &err), ERR_IO);
    expect_error(ERR_IO, &dir, "added_tokens.json", ": cannot be removed: Is a directory");
    ck_assert_int_eq(rmdir(path_of(&dir, "added_tokens.json")), 0);
    close_dirs();
}
END_TEST

START_TEST(a_texts_length_is_put_beside_what_is_there)
{
    struct json_t *root;
    open_dirs();
    put(&source, "vocab.txt", "x");
    ck_assert(!export_files_tokenizer(dir.path, source.path, 77, &err));
    root = json_of("tokenizer_config.json");
    outcome_expect_number(root, "model_max_length", 77);
    ck_assert_uint_eq(doc_object_count(root), 1);
    doc_free(root);
    put(&source, "tokenizer_config.json", "{\"do_lower_case\": false, \"model_max_length\": 512}");
    ck_assert(!export_files_tokenizer(dir.path, source.path, 1, &err));
    root = json_of("tokenizer_config.json");
    outcome_expect_number(root, "model_max_length", 1);
    ck_assert_uint_eq(doc_object_count(root), 2);
    doc_free(root);
    ck_assert(!export_files_tokenizer(dir.path, source.path, 600, &err)); /* none was so long */
    root = json_of("tokenizer_config.json");
    outcome_expect_number(root, "model_max_length", 512);
    doc_free(root);
    put(&source, "tokenizer_config.json", "{");
    ck_assert_int_ne(export_files_tokenizer(dir.path, source.path, 5, &err), ERR_OK);
    err = (struct err){0};
    ck_assert(!export_files_tokenizer(dir.path, source.path, 0, &err)); /* as it is */
    expect_file("tokenizer_config.json", "{");
    close_dirs();
}
END_TEST

/* ---- the preprocessor ---- */

/* The file that comes of `text` for a source of `from` pixels at `to` pixels. */
static struct json_t *preprocessor(const char *text, unsigned from, unsigned to)
{
    if (text != NULL)
        put(&source, "preprocessor_config.json", text);
    ck_assert_msg(!export_files_preprocessor(dir.path, source.path, "ViT", extent_square(from),
                                             extent_square(to), &err),
                  "%s", err.text);
    return json_of("preprocessor_config.json");
}

START_TEST(a_preprocessor_that_fits_is_copied)
{
    static const char fits[] = "{\"image_processor_type\": \"ViTImageProcessor\",\n"
                               " \"size\":   {\"height\": 24, \"width\": 24}, \"mine\": 1}";
    open_dirs();
    doc_free(preprocessor(fits, 48, 24));
    expect_file("preprocessor_config.json", fits);
    close_dirs();
}
END_TEST

START_TEST(without_a_preprocessor_there_is_nothing_to_write)
{
    char want[PATH_MAX];
    open_dirs();
    ck_assert_int_eq(export_files_preprocessor(dir.path, source.path, "ViT", extent_square(48),
                                               extent_square(24), &err),
                     ERR_UNSUPPORTED);
    snprintf(want, sizeof want, "%s: there is no preprocessor_config.json, ", source.path);
    ck_assert_int_eq(strncmp(err.text, want, strlen(want)), 0);
    ck_assert(!has("preprocessor_config.json"));
    close_dirs();
}
END_TEST

/* transformers 5 writes the steps in a member. The file keeps its name, and its other members
 * stay. */
START_TEST(steps_in_a_member_of_processor_config_are_resized_there)
{
    static const char text[] = "{\"image_processor\": {\"image_processor_type\": "
                               "\"ViTImageProcessor\", \"size\": {\"height\": 48, \"width\": 48}}, "
                               "\"mine\": 5}";
    open_dirs();
    put(&source, "processor_config.json", text);
    ck_assert_msg(!export_files_preprocessor(dir.path, source.path, "ViT", extent_square(48),
                                             extent_square(24), &err),
                  "%s", err.text);
    ck_assert(!has("preprocessor_config.json"));
    struct json_t *root = json_of("processor_config.json");
    outcome_expect_number(root, "image_processor.size.height", 24);
    outcome_expect_number(root, "image_processor.size.width", 24);
    outcome_expect_number(root, "mine", 5);
    doc_free(root);
    close_dirs();
}
END_TEST

/* The side before a crop stays larger than the crop by the same ratio, rounded to the nearest. */
START_TEST(a_size_before_a_crop_grows_with_it)
{
    static const struct {
        const char *size;
        unsigned from, to, height, width; /* width 0: height is the shortest edge */
    } rows[] = {
        {"{\"height\": 256, \"width\": 288}", 224, 112, 128, 144},
        {"{\"height\": 256, \"width\": 300}", 224, 225, 257, 301},
        {"{\"height\": 233, \"width\": 234}", 224, 16, 17, 17},
        {"{\"shortest_edge\": 256}", 224, 448, 512, 0},
        {"{\"shortest_edge\": 256}", 224, 7, 8, 0},
        {"{\"shortest_edge\": 300}", 224, 7, 9, 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        open_dirs();
        snprintf(text, sizeof text,
                 "{\"image_processor_type\": \"%s\", \"size\": %s, \"crop_size\": %u, "
                 "\"do_center_crop\": true, \"mine\": 5}",
                 rows[i].width > 0 ? "DeiTImageProcessor" : "CLIPImageProcessor", rows[i].size,
                 rows[i].from);
        struct json_t *root = preprocessor(text, rows[i].from, rows[i].to);
        outcome_expect_number(root, "crop_size.height", rows[i].to);
        outcome_expect_number(root, "crop_size.width", rows[i].to);
        outcome_expect_number(root, "mine", 5);
        if (rows[i].width > 0) {
            outcome_expect_number(root, "size.height", rows[i].height);
            outcome_expect_number(root, "size.width", rows[i].width);
        } else {
            outcome_expect_number(root, "size.shortest_edge", rows[i].height);
        }
        ck_assert_uint_eq(doc_object_count(doc_member(root, "size")), rows[i].width > 0 ? 2 : 1);
        doc_free(root);
        close_dirs();
    }
}
END_TEST

START_TEST(export_files_name_a_preprocessor_that_cannot_be_understood)
{
    char want[PATH_MAX];
    open_dirs();
    put(&source, "preprocessor_config.json", "{\"size\": \"huge\"}");
    ck_assert_int_eq(export_files_preprocessor(dir.path, source.path, "ViT", extent_square(48),
                                               extent_square(24), &err),
                     ERR_UNSUPPORTED);
    snprintf(want, sizeof want, "%s: preprocessor_config.json: ", source.path);
    ck_assert_int_eq(strncmp(err.text, want, strlen(want)), 0);
    ck_assert(!has("preprocessor_config.json"));
    close_dirs();
}
END_TEST

SUITE("export_files", a_path_that_is_too_long_is_refused, a_directory_is_made_unless_it_is_there,
      a_copy_is_the_file_or_its_absence, export_files_name_the_path_that_cannot_be_read,
      export_files_copies_a_whole_tokenizer_and_removes_older_files,
      a_tokenizer_without_a_vocabulary_is_refused, a_texts_length_is_put_beside_what_is_there,
      a_preprocessor_that_fits_is_copied, without_a_preprocessor_there_is_nothing_to_write,
      steps_in_a_member_of_processor_config_are_resized_there, a_size_before_a_crop_grows_with_it,
      export_files_name_a_preprocessor_that_cannot_be_understood)
