/* attnd-eval --write-selftest: the written file is read, passes, and has different labels. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/selftest.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_model(const char *from, struct tempdir *to)
{
    char path[512];
    tempdir_open(to);
    DIR *entries = opendir(from);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        size_t len;
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        char *bytes = contract_file(path, &len);
        tempdir_write(to, entry->d_name, bytes, len);
        free(bytes);
    }
    closedir(entries);
}

static int evaluate(const struct tempdir *dir, const char *data, const char *cases,
                    const char *more, char errors[8192])
{
    static char out[65536];
    return run_program("attnd-eval",
                       (const char *[]){"--model", dir->path, "--data", data, "--write-selftest",
                                        cases, "--threads", "1", more, NULL},
                       out, sizeof out, errors, 8192);
}

static struct json_t *written(const struct tempdir *dir)
{
    char path[128];
    struct json_t *root;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/" SELFTEST_FILE, dir->path);
    ck_assert_msg(doc_parse_file(&root, path, SELFTEST_FILE_BYTES_MAX, &err) == ERR_OK, "%s",
                  err.text);
    return root;
}

static void expect_to_pass(const struct tempdir *dir, unsigned cases)
{
    struct selftest *selftest;
    struct engine_model *model;
    struct engine_session *session;
    struct err err = {0};
    ck_assert_msg(!selftest_open(&selftest, dir->path, &err), "%s", err.text);
    ck_assert_uint_eq(selftest_count(selftest), cases);
    ck_assert_msg(!engine_open(&model, dir->path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_int_eq(engine_session_open(&session, model, 1, 1, &err), ERR_OK);
    ck_assert_msg(!selftest_run(selftest, model, session, &err), "%s", err.text);
    engine_session_close(session);
    engine_close(model);
    selftest_close(selftest);
}

START_TEST(texts_of_different_labels_are_written_and_pass)
{
    struct tempdir dir;
    char errors[8192];
    copy_model("models/kernel-bert", &dir);
    ck_assert_int_eq(evaluate(&dir, "tests/data/eval/kernel.jsonl", "3", NULL, errors), 0);
    ck_assert_ptr_nonnull(strstr(errors, "/" SELFTEST_FILE ": 3 cases\n"));
    struct json_t *root = written(&dir);
    const char *first = doc_as_string(contract_at(root, "cases.0.label"));
    ck_assert_str_ne(first, doc_as_string(contract_at(root, "cases.1.label")));
    ck_assert_str_ne(first, doc_as_string(contract_at(root, "cases.2.label")));
    doc_free(root);
    expect_to_pass(&dir, 3);
    tempdir_close(&dir);
}
END_TEST

/* Blanks take room in the file but no tokens of the model: one of two such texts fits. */
START_TEST(selftest_write_leaves_out_cases_too_large_for_the_file)
{
    enum { BLANKS = SELFTEST_FILE_BYTES_MAX / 4 * 3 / 2 };
    struct tempdir dir, data;
    char errors[8192], path[128], *text;
    size_t len;
    struct err err = {0};
    copy_model("models/kernel-bert", &dir);
    tempdir_open(&data);
    ck_assert_msg(!file_read(&text, &len, "tests/data/eval/kernel.jsonl", 1 << 20, &err), "%s",
                  err.text);
    const char *line = (const char *)memchr(text, '\n', len) + 1; /* the model answers it right */
    const char *value = strstr(line, "\"text\": \"") + strlen("\"text\": \"");
    const size_t front = (size_t)(value - line), rest = (size_t)(strchr(value, '\n') + 1 - value);
    const size_t of_line = front + BLANKS + rest;
    char *twice = malloc(2 * of_line);
    memcpy(twice, line, front);
    memset(twice + front, ' ', BLANKS);
    memcpy(twice + front + BLANKS, value, rest);
    memcpy(twice + of_line, twice, of_line);
    tempdir_write(&data, "two.jsonl", twice, 2 * of_line);
    snprintf(path, sizeof path, "%s/two.jsonl", data.path);
    ck_assert_msg(evaluate(&dir, path, "2", NULL, errors) == 0, "%s", errors);
    ck_assert_msg(strstr(errors, "/" SELFTEST_FILE ": 1 cases\n") != NULL, "%s", errors);
    expect_to_pass(&dir, 1);
    free(twice);
    free(text);
    tempdir_close(&data);
    tempdir_close(&dir);
}
END_TEST

START_TEST(pictures_are_written_as_they_are_and_pass)
{
    struct tempdir dir;
    char errors[8192];
    copy_model("models/wafer-vit", &dir);
    ck_assert_int_eq(evaluate(&dir, "tests/data/eval/wafer.jsonl", "2", NULL, errors), 0);
    struct json_t *root = written(&dir);
    ck_assert_ptr_nonnull(doc_as_string(contract_at(root, "cases.1.image")));
    doc_free(root);
    expect_to_pass(&dir, 2);
    tempdir_close(&dir);
}
END_TEST

START_TEST(scores_that_are_not_the_models_own_are_not_written)
{
    struct tempdir dir;
    char errors[8192];
    copy_model("models/kernel-bert", &dir);
    ck_assert_int_eq(evaluate(&dir, "tests/data/eval/kernel.jsonl", "3", "--dtype=int8", errors),
                     1);
    ck_assert_ptr_nonnull(strstr(errors, "must be those of f32, not int8"));
    ck_assert_int_eq(evaluate(&dir, "tests/data/eval/kernel.jsonl", "3", "--calibrate", errors), 2);
    ck_assert_ptr_nonnull(strstr(errors, "--calibrate changes the scores"));
    ck_assert_int_eq(evaluate(&dir, "tests/data/eval/kernel.jsonl", "65", NULL, errors), 2);
    tempdir_close(&dir);
}
END_TEST

SUITE("learn/eval/selftest_write", texts_of_different_labels_are_written_and_pass,
      selftest_write_leaves_out_cases_too_large_for_the_file,
      pictures_are_written_as_they_are_and_pass, scores_that_are_not_the_models_own_are_not_written)
