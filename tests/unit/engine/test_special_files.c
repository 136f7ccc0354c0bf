/* The directory of a model may be somebody else's. A file of it that is a FIFO, a device or a link
 * to one is refused by name, and nothing waits for it. A test that waits is ended. */
#include "engine/engine.h"
#include "engine/selftest.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One of each way of reading texts and images. */
static const char *const models[] = {"models/testlog-bert", "models/wafer-vit",
                                     "tests/data/golden/roberta-1", "tests/data/golden/bert-3"};

/* A model needs these files to open. Others may be ignored. */
static bool is_needed(const char *name)
{
    static const char *const names[] = {"config.json",
                                        "model.safetensors",
                                        "vocab.txt",
                                        "vocab.json",
                                        "merges.txt",
                                        "attnd.json",
                                        "attnd_head.safetensors",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "preprocessor_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* All files of `from` by link, but for `special`. */
static void link_all(const struct tempdir *dir, const char *from, const char *special,
                     const char *target)
{
    char cwd[512], path[512], old[1024];
    ck_assert_ptr_nonnull(getcwd(cwd, sizeof cwd));
    DIR *entries = opendir(from);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, special) == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir->path, entry->d_name);
        snprintf(old, sizeof old, "%s/%s/%s", cwd, from, entry->d_name);
        ck_assert_int_eq(symlink(old, path), 0);
    }
    closedir(entries);
    snprintf(path, sizeof path, "%s/%s", dir->path, special);
    ck_assert_int_eq(target != NULL ? symlink(target, path) : mkfifo(path, 0600), 0);
}

static void expect_refused(const char *model, const char *name, const char *target)
{
    struct tempdir dir;
    struct engine_model *opened = NULL;
    struct err err = {0};
    tempdir_open(&dir);
    link_all(&dir, model, name, target);
    enum err_code code = engine_open(&opened, dir.path, &(struct engine_options){0}, &err);
    ck_assert_msg(!is_needed(name) || code != ERR_OK, "%s/%s is not refused", model, name);
    if (code != ERR_OK)
        ck_assert_msg(strstr(err.text, name) != NULL, "%s/%s: %s", model, name, err.text);
    engine_close(opened);
    tempdir_close(&dir);
}

START_TEST(each_file_of_a_model_must_be_a_regular_one)
{
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        DIR *entries = opendir(models[m]);
        ck_assert_ptr_nonnull(entries);
        for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
            if (entry->d_name[0] == '.')
                continue;
            expect_refused(models[m], entry->d_name, NULL);
            expect_refused(models[m], entry->d_name, "/dev/zero");
        }
        closedir(entries);
    }
    expect_refused("models/testlog-bert", "tokenizer.json", NULL);
}
END_TEST

START_TEST(a_selftest_must_be_a_regular_file)
{
    struct tempdir dir;
    struct selftest *selftest;
    struct err err = {0};
    tempdir_open(&dir);
    link_all(&dir, "models/testlog-bert", SELFTEST_FILE, NULL);
    ck_assert_int_ne(selftest_open(&selftest, dir.path, &err), ERR_OK);
    ck_assert_ptr_nonnull(strstr(err.text, SELFTEST_FILE ": is a FIFO; a regular file is needed"));
    tempdir_close(&dir);
}
END_TEST

SUITE("special files", each_file_of_a_model_must_be_a_regular_one,
      a_selftest_must_be_a_regular_file)
