/* Files of a folder of classes that are no inputs are counted by their kind. */
#include "engine/vision/input_formats.h"
#include "learn/data/dataset.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
             "for c in none Donut; do for f in $c/*; do for n in 1 2 3 4; do cp $f $c/more$n.png; "
             "done; done; "
             "done",
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

/* ---- inputs that cannot be used ---- */

/* A list of `count` texts, of which problems [read] are known. */
static enum err_code check(size_t count, const char *const *problems, size_t read, double least,
                           struct err *err)
{
    struct dataset_item items[20] = {0};
    const struct dataset dataset = {.path = "x.csv", .items = items, .count = count};
    static const char *const names[] = {"line 1", "line 2", "line 3", "line 4"};
    ck_assert(count <= 20);
    for (size_t i = 0; i < count; i++)
        items[i].name = names[i < 4 ? i : 3];
    *err = (struct err){0};
    return dataset_check_usable(&dataset, problems, read, least, err);
}

START_TEST(a_tenth_may_be_unusable_and_no_more)
{
    const char *problems[20] = {"it is broken", "it is broken"};
    struct err err;
    ck_assert_int_eq(check(20, problems, 20, 0.9, &err), ERR_OK);
    problems[19] = "it is broken";
    ck_assert_int_eq(check(20, problems, 20, 0.9, &err), ERR_UNUSABLE);
    ck_assert_int_eq(check(20, problems, 20, 0, &err), ERR_OK);
    ck_assert_int_eq(check(20, problems, 20, 1, &err), ERR_UNUSABLE);
    ck_assert_int_eq(check(20, (const char *[20]){0}, 20, 1, &err), ERR_OK);
}
END_TEST

START_TEST(unusable_inputs_are_told_by_kind)
{
    const char *problems[20] = {NULL, "cut off after 30 bytes", "not there",
                                "cut off after 7 bytes"};
    struct err err;
    ck_assert_int_eq(check(10, problems, 10, 0.9, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "x.csv: 3 of 10 inputs cannot be used. Mend them or take them out, "
                               "or give --usable-min 0 to go on with the others. 2 as line 2: cut "
                               "off after 30 bytes; 1 as line 3: not there");
    problems[4] = "too large";
    problems[5] = "cut off after 7 lines";
    problems[6] = "cut";
    check(20, problems, 7, 0.9, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "x.csv: at least 6 of 20 inputs cannot be used. "));
    ck_assert_ptr_nonnull(strstr(err.text, "; 1 as line 4: too large; 2 of other kinds"));
}
END_TEST

START_TEST(without_a_usable_input_the_first_problem_is_told)
{
    struct err err;
    ck_assert_int_eq(check(2, (const char *[]){"a", "b"}, 2, 0, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "x.csv: none of 2 inputs can be used; line 1: a");
}
END_TEST

/* A file whose name is no picture's, such as notes beside each image, is no input. */
START_TEST(pictures_of_other_formats_count_as_unusable)
{
    struct dataset dataset;
    struct err err = {0};
    const char *const problems[2] = {0};
    make_folder((const char *[]){"1.png", "2.png", "1.txt", "2.txt", "3.TIFF"}, 5);
    ck_assert(!dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_IMAGE}, &err));
    ck_assert_int_eq(dataset_check_usable(&dataset, problems, 2, 0.9, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, ": 1 of 3 inputs cannot be used. "));
    ck_assert_ptr_nonnull(
        strstr(err.text, "others. pictures of other formats than " INPUT_FORMATS_OR ": 1"));
    dataset_close(&dataset);
    remove_folder();
}
END_TEST

/* Ten maps of each of two classes, of which three cannot be read. */
START_TEST(programs_refuse_data_with_many_unusable_inputs)
{
    static const struct {
        const char *program, *options[7];
        int status; /* of a refusal */
    } rows[] = {{"attnd-eval", {"--threads", "1"}, 1},
                {"attnd-fit", {"--out", "OUT", "--loss-max", "100", "--quiet"}, 1},
                {"attnd-train", {"--out", "OUT", "--epochs", "1", "--threads", "1"}, 2}};
    char command[600], out[96], want[200];
    make_folder(NULL, 0);
    snprintf(command, sizeof command,
             "cd tests/data/eval/wafer && rmdir '%s/a' && for c in none Donut; do mkdir '%s'/$c && "
             "for n in 0 1 2 3 4 5 6 7 8 9; do cp $c/$(ls $c | head -1) '%s'/$c/$n.png; done; "
             "done && cd '%s'/none && for n in 7 8 9; do echo > $n.png; done",
             path, path, path, path);
    ck_assert_int_eq(system(command), 0);
    snprintf(out, sizeof out, "%s/../%s-out", path, strrchr(path, '/') + 1);
    snprintf(want, sizeof want, "%s: 3 of 20 inputs cannot be used. ", path);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const char *line[16] = {"--model", "models/wafer-vit", "--data", path};
        unsigned count = 4;
        for (const char *const *word = rows[r].options; *word != NULL; word++)
            line[count++] = strcmp(*word, "OUT") == 0 ? out : *word;
        outcome_expect(outcome_of(rows[r].program, line), rows[r].status, "", want);
        ck_assert_int_ne(access(out, F_OK), 0);
        line[count++] = "--usable-min";
        line[count] = "0";
        outcome_expect(outcome_of(rows[r].program, line), 0, "", "");
        snprintf(command, sizeof command, "rm -rf '%s'", out);
        ck_assert_int_eq(system(command), 0);
    }
    remove_folder();
}
END_TEST

SUITE("dataset_left_out", files_of_other_kinds_are_counted, files_of_many_kinds_fit_into_a_sentence,
      a_folder_of_nothing_else_says_why_it_is_empty, eval_and_train_say_what_they_leave_out,
      a_tenth_may_be_unusable_and_no_more, unusable_inputs_are_told_by_kind,
      without_a_usable_input_the_first_problem_is_told, pictures_of_other_formats_count_as_unusable,
      programs_refuse_data_with_many_unusable_inputs)
