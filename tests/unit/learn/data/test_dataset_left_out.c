/* Files of a folder of classes that are no inputs are counted by their kind. */
#include "engine/vision/input_formats.h"
#include "learn/data/dataset.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char path[64];

static void make_folder(const char *const *files, unsigned count)
{
    char name[160];
    snprintf(path, sizeof path, "/tmp/attnd-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(name, sizeof name, "%s/a", path);
    ck_assert_int_eq(mkdir(name, 0700), 0);
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/a/%s", path, files[i]);
        FILE *file = fopen(name, "w");
        ck_assert_ptr_nonnull(file);
        fclose(file);
    }
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", path);
    ck_assert_int_eq(system(command), 0);
}

static void expect_sentence(const char *const *files, unsigned count, const char *want)
{
    struct dataset dataset;
    struct dataset_options options = {.kind = ENGINE_IMAGE};
    struct err err = {0};
    char sentence[DATASET_SENTENCE_BYTES];
    make_folder(files, count);
    ck_assert_msg(!dataset_open(&dataset, path, &options, &err), "%s", err.text);
    dataset_describe_left_out(&dataset, sentence);
    ck_assert_str_eq(sentence, want);
    dataset_close(&dataset);
    remove_folder();
}

START_TEST(files_of_other_kinds_are_counted)
{
    expect_sentence((const char *[]){"1.png", "2.JPG", ".DS_Store"}, 3, "");
    expect_sentence((const char *[]){"1.png", "2.txt"}, 2,
                    "1 file is of another kind and left out (1 .txt)");
    expect_sentence((const char *[]){"1.png", "2.TIFF", "3.tiff", "4.gif", "README"}, 5,
                    "4 files are of other kinds and left out (2 .tiff, 1 .gif, 1 without "
                    "ending); " INPUT_FORMATS_LIST " and STDF are read: convert the others");
}
END_TEST

/* All are counted, six kinds are named. */
START_TEST(files_of_many_kinds_fit_into_a_sentence)
{
    static const char *const files[] = {"0.png",
                                        "1.aaaaaaaaaaaaaaaa",
                                        "2.bbbbbbbbbbbbbbbb",
                                        "3.cccccccccccccccc",
                                        "4.dddddddddddddddd",
                                        "5.eeeeeeeeeeeeeeee",
                                        "6.\xff.tif",
                                        "7.gggggggggggggggg"};
    struct dataset dataset;
    struct err err = {0};
    char sentence[DATASET_SENTENCE_BYTES];
    make_folder(files, 8);
    ck_assert(!dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_IMAGE}, &err));
    ck_assert_uint_eq(dataset.left_out.count, 7);
    dataset_describe_left_out(&dataset, sentence);
    ck_assert_ptr_nonnull(strstr(sentence, "7 files are of other kinds"));
    ck_assert_ptr_nonnull(strstr(sentence, ": convert the others"));
    dataset_close(&dataset);
    remove_folder();
}
END_TEST

START_TEST(a_folder_of_nothing_else_says_why_it_is_empty)
{
    struct dataset dataset;
    struct dataset_options options = {.kind = ENGINE_IMAGE};
    struct err err = {0};
    make_folder((const char *[]){"1.tif"}, 1);
    ck_assert_int_eq(dataset_open(&dataset, path, &options, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(
        err.text, "no labelled input is in it: 1 file is of another kind and left "
                  "out (1 .tif); " INPUT_FORMATS_LIST " and STDF are read: convert the others"));
    dataset_close(&dataset);
    remove_folder();
}
END_TEST

START_TEST(eval_and_train_say_what_they_leave_out)
{
    static const char left_out[] = "1 file is of another kind and left out (1 .gif); PNG, ";
    char command[400], data[96];
    make_folder((const char *[]){"1.gif"}, 1);
    snprintf(command, sizeof command,
             "cd tests/data/eval/wafer && cp -r none Donut '%s' && cd '%s' && "
             "for c in none Donut; do for f in $c/*; do cp $f $c/more.png; done; done",
             path, path);
    ck_assert_int_eq(system(command), 0);
    struct outcome *outcome =
        outcome_of("attnd-eval", (const char *[]){"--model", "models/wafer-vit", "--data", path,
                                                  "--threads", "1", NULL});
    outcome_expect(outcome, 0, "", left_out);
    snprintf(data, sizeof data, "%s/out", path);
    outcome = outcome_of("attnd-train",
                         (const char *[]){"--model", "models/wafer-vit", "--data", path, "--out",
                                          data, "--epochs", "1", "--from-scratch", NULL});
    outcome_expect(outcome, 0, "", "note: of --data 1 file is of another kind and left out (");
    remove_folder();
}
END_TEST

SUITE("dataset_left_out", files_of_other_kinds_are_counted, files_of_many_kinds_fit_into_a_sentence,
      a_folder_of_nothing_else_says_why_it_is_empty, eval_and_train_say_what_they_leave_out)
