/* corpus_remarks.h: remarks on data before they are learnt from; history.h: remarks on epochs. */
#include "learn/train/loop/corpus_remarks.h"
#include "learn/train/trainer.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture f;
static char other[160];

static void write_list(const char *name, const char *text)
{
    tempdir_write(&f.data, name, text, strlen(text));
}

/* Expects the remarks of a run on these lists. `judged` NULL: a share of the first list is
 * judged. */
static void expect_remarks(const char *learnt, const char *judged, const char *remarks)
{
    train_fixture_texts(&f);
    write_list("list.jsonl", learnt);
    if (judged != NULL) {
        write_list("judge.jsonl", judged);
        snprintf(other, sizeof other, "%s/judge.jsonl", f.data.path);
        f.options.validation = other;
    }
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert_str_eq(f.remarks, remarks);
    train_fixture_close(&f);
}

/* Writes `count` different texts of a class. */
static char *texts(char *out, const char *word, const char *label, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        out += sprintf(out, "{\"text\":\"%s %u\",\"label\":\"%s\"}\n", word, i, label);
    return out;
}

START_TEST(ten_of_a_class_are_not_few)
{
    static char learnt[8192], judged[1024];
    texts(texts(learnt, "red", "hot", 10), "blue", "cold", 10);
    texts(texts(judged, "green red", "hot", 1), "green blue", "cold", 1);
    expect_remarks(learnt, judged, "");
    texts(texts(learnt, "red", "hot", 10), "blue", "cold", 9);
    expect_remarks(learnt, judged,
                   "note: classes with few inputs to learn: 'cold' (9); label at least 10 of "
                   "each, or make them one class\n");
}
END_TEST

START_TEST(classes_that_differ_in_blanks_or_case_are_named)
{
    static char learnt[8192], judged[1024];
    texts(texts(learnt, "red", "Hot", 10), "blue", " hot ", 10);
    texts(texts(judged, "green red", "Hot", 1), "green blue", " hot ", 1);
    expect_remarks(
        learnt, judged,
        "warning: ' hot ' and 'Hot' differ only in blanks or case, and are learnt as two "
        "classes (1 such pairs): write them alike if they are one\n");
}
END_TEST

START_TEST(classes_that_nothing_judges_are_named)
{
    static char learnt[8192], judged[1024];
    texts(texts(learnt, "red", "hot", 10), "blue", "cold", 10);
    texts(judged, "green red", "hot", 2);
    expect_remarks(learnt, judged,
                   "note: nothing to judge by: 'cold' (0); how well these are told will not be "
                   "known: label at least two of each\n");
}
END_TEST

/* Runs with so many labels that are numbers, and so many that are words. */
static const char *remarks_of_labels(unsigned numbers, unsigned words)
{
    static char learnt[16384], remarks[2048];
    char *at = learnt, name[16];
    for (unsigned i = 0; i < numbers; i++) {
        snprintf(name, sizeof name, "%s%u.5", i % 2 == 0 ? "-" : "", i);
        at = texts(at, name, name, 2);
    }
    for (unsigned i = 0; i < words; i++) {
        snprintf(name, sizeof name, "c%u", i);
        at = texts(at, name, name, 2);
    }
    train_fixture_texts(&f);
    write_list("list.jsonl", learnt);
    f.options.epochs = 1;
    train_fixture_learn(&f);
    snprintf(remarks, sizeof remarks, "%s", f.remarks);
    train_fixture_close(&f);
    return remarks;
}

START_TEST(labels_that_are_mostly_numbers_are_no_classes)
{
    static const char says[] =
        "warning: 21 of 41 labels are numbers, and each is learnt as a class of its own. If they "
        "are measured values, give --task regress\n";
    ck_assert_ptr_nonnull(strstr(remarks_of_labels(21, 20), says));
    ck_assert_ptr_null(strstr(remarks_of_labels(21, 21), "warning"));
    ck_assert_ptr_null(strstr(remarks_of_labels(20, 2), "warning"));
}
END_TEST

START_TEST(many_classes_are_counted)
{
    static char learnt[16384];
    char *at = learnt, name[16];
    for (unsigned c = 0; c < 10; c++) {
        snprintf(name, sizeof name, "c%u", c);
        at = texts(at, name, name, 3);
    }
    train_fixture_texts(&f);
    write_list("list.jsonl", learnt);
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert_msg(strstr(f.remarks, "'c0' (2), 'c1' (2), ") != NULL, "%s", f.remarks);
    ck_assert_msg(strstr(f.remarks, "'c7' (2) and 2 more; label") != NULL, "%s", f.remarks);
    train_fixture_close(&f);
}
END_TEST

START_TEST(inputs_on_both_sides_are_counted_with_an_example)
{
    static char learnt[8192], judged[1024];
    texts(texts(learnt, "red", "hot", 10), "blue", "cold", 10);
    texts(texts(judged, "green red", "hot", 2), "blue", "cold", 3);
    expect_remarks(learnt, judged,
                   "note: 3 of 5 inputs to judge by are also learnt (line 3 is the same as line "
                   "11): figures will flatter; drop what is there twice, or give --validation "
                   "inputs of other lots\n");
}
END_TEST

START_TEST(masked_words_have_no_classes_to_speak_of)
{
    static char learnt[8192];
    texts(texts(learnt, "red", "hot", 10), "blue", "cold", 1);
    train_fixture_texts(&f);
    write_list("list.jsonl", learnt);
    f.options.task = "mlm";
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert_str_eq(f.remarks, "");
    train_fixture_close(&f);
}
END_TEST

/* ---- epochs ---- */

static bool rises(const double (*losses)[2], unsigned count, unsigned new_size)
{
    struct history_epoch epochs[8] = {{0}};
    struct history history = {epochs, count};
    for (unsigned i = 0; i < count; i++) {
        epochs[i].train_loss = losses[i][0];
        epochs[i].validation_loss = losses[i][1];
        epochs[i].image_size = i < new_size ? 8 : 16;
    }
    return history_rises(&history);
}

START_TEST(remarks_tell_a_loss_that_rises_for_three_epochs_once)
{
    static const double losses[][2] = {{9, 5}, {8, 4}, {7, 5}, {6, 6}, {5, 7}, {4, 8}},
                        level[][2] = {{9, 4}, {8, 5}, {7, 5}, {6, 6}},
                        both[][2] = {{5, 4}, {6, 5}, {7, 6}, {8, 7}};
    static const bool told[] = {false, false, false, false, false, true, false};
    for (unsigned count = 0; count <= 6; count++)
        ck_assert_int_eq(rises(losses, count, 8), told[count]);
    ck_assert(!rises(losses, 5, 2)); /* a new size is another measure */
    ck_assert(!rises(level, 4, 8) && !rises(both, 4, 8));
}
END_TEST

SUITE("corpus_remarks", ten_of_a_class_are_not_few, classes_that_differ_in_blanks_or_case_are_named,
      classes_that_nothing_judges_are_named, labels_that_are_mostly_numbers_are_no_classes,
      many_classes_are_counted, inputs_on_both_sides_are_counted_with_an_example,
      masked_words_have_no_classes_to_speak_of,
      remarks_tell_a_loss_that_rises_for_three_epochs_once)
