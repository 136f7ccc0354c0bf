/* corpus.h: the learnt and the held-back inputs of tiny lists, and the remarks on lists that cannot
 * be learnt from. */
#include "learn/train/loop/corpus.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture f;
static struct corpus corpus;
static struct spec spec;
static struct arena spec_arena;
static struct err err;
static char other_list[160];

static struct {
    size_t done[64], total[64];
    unsigned calls;
} told;

static void note(void *context, size_t done, size_t total)
{
    ck_assert_ptr_eq(context, &told);
    told.done[told.calls % 64] = done;
    told.total[told.calls++ % 64] = total;
}

static enum err_code try_open(void)
{
    struct corpus_progress progress = {note, &told};
    err = (struct err){0};
    told.calls = 0;
    arena_init(&spec_arena);
    ck_assert_msg(!spec_read(&spec, f.model.path, &spec_arena, &err), "%s", err.text);
    ck_assert_int_eq(
        corpus_open(&corpus, &f.options, &spec, NULL, f.model.path, 1, &progress, &err), err.code);
    return err.code;
}

static void open_corpus(void)
{
    try_open();
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

static void close_corpus(void)
{
    corpus_close(&corpus);
    arena_deinit(&spec_arena);
}

static void expect_refused(enum err_code code, const char *text)
{
    ck_assert_int_eq(try_open(), code);
    ck_assert_str_eq(err.text, text);
    close_corpus();
}

/* labels: a character an input. */
static void write_list(const char *name, const char *labels)
{
    char text[4096] = "text,label\n";
    for (size_t i = 0; labels[i] != '\0'; i++)
        snprintf(text + strlen(text), 16, "red,%c\n", labels[i]);
    tempdir_write(&f.data, name, text, strlen(text));
}

/* The fixture learns this list of labels, and judges by the other one if that is not NULL. */
static void open_lists(const char *labels, const char *others)
{
    train_fixture_texts(&f);
    write_list("own.csv", labels);
    snprintf(f.list, sizeof f.list, "%s/own.csv", f.data.path);
    if (others == NULL)
        return;
    write_list("other.csv", others);
    snprintf(other_list, sizeof other_list, "%s/other.csv", f.data.path);
    f.options.validation = other_list;
}

/* Each item once, in order, with the class and the targets of its label. */
static void expect_items(const struct corpus_items *items, const char *labels)
{
    unsigned count = corpus.labels.count;
    for (size_t i = 0; i < items->count; i++) {
        ck_assert(i == 0 || items->item[i] > items->item[i - 1]);
        ck_assert_int_eq(corpus.labels.name[items->classes[i]][0], labels[items->item[i]]);
        for (unsigned k = 0; k < count; k++)
            ck_assert_float_eq(items->targets[i * count + k], k == items->classes[i]);
    }
}

/* Told of a part: its last call says that all of it is done. */
static void expect_told(size_t total)
{
    size_t last = 0;
    for (unsigned i = 0; i < told.calls && i < 64; i++)
        if (told.total[i] == total) {
            ck_assert_uint_gt(told.done[i], last);
            last = told.done[i];
        }
    ck_assert_uint_eq(last, total);
}

/* The classes have 15, 5, 2 and 1 inputs: a tenth is 2 (1.5 rounded), 1 (0.5), 1 (of two at least
 * one) and none. */
START_TEST(a_share_of_each_class_is_held_back)
{
    static const char labels[] = "aababaacabaadaabaacabaa";
    static const size_t held[] = {0, 7, 8, 20};
    unsigned seen[sizeof labels] = {0}, of_class[4] = {0};
    open_lists(labels, NULL);
    open_corpus();
    const struct corpus_items *train = &corpus.train, *validation = &corpus.validation;
    ck_assert_uint_eq(corpus.labels.count, 4);
    ck_assert_uint_eq(train->count + validation->count, strlen(labels));
    ck_assert_uint_eq(validation->count, 4);
    ck_assert(train->part == &corpus.parts[0] && validation->part == &corpus.parts[0]);
    expect_items(train, labels);
    expect_items(validation, labels);
    for (size_t i = 0; i < train->count; i++)
        seen[train->item[i]]++;
    for (size_t i = 0; i < validation->count; i++) {
        seen[validation->item[i]]++;
        of_class[validation->classes[i]]++;
        ck_assert_uint_eq(validation->item[i], held[i]); /* by the seed, for ever */
    }
    for (size_t i = 0; i < strlen(labels); i++)
        ck_assert_uint_eq(seen[i], 1);
    ck_assert(of_class[0] == 2 && of_class[1] == 1 && of_class[2] == 1 && of_class[3] == 0);
    close_corpus();
    f.options.seed = 1;
    open_corpus();
    bool same = true;
    for (size_t i = 0; i < 4; i++)
        same = same && corpus.validation.item[i] == held[i];
    ck_assert(!same);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

START_TEST(corpus_judges_by_all_of_another_list)
{
    open_lists("abcabc", "ccba");
    open_corpus();
    ck_assert(corpus.train.count == 6 && corpus.validation.count == 4);
    ck_assert(corpus.train.part == &corpus.parts[0] && corpus.validation.part == &corpus.parts[1]);
    expect_items(&corpus.train, "abcabc");
    expect_items(&corpus.validation, "ccba");
    expect_told(6);
    expect_told(4);
    struct dataset view;
    ck_assert_int_eq(corpus_view(&corpus, &corpus.validation, &view, &err), ERR_OK);
    ck_assert(view.count == 4 && view.kind == ENGINE_TEXT);
    ck_assert_str_eq(view.items[3].name, "line 5");
    ck_assert_str_eq(view.items[3].label, "a");
    close_corpus();
    ck_assert(corpus.train.count == 0 && !corpus.parts[0].is_open);
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_view_names_the_items_it_was_given)
{
    static const char labels[] = "aabbaabb";
    struct dataset view;
    char want[16];
    open_lists(labels, NULL);
    open_corpus();
    ck_assert_int_eq(corpus_view(&corpus, &corpus.train, &view, &err), ERR_OK);
    ck_assert_uint_eq(view.count, 6);
    for (size_t i = 0; i < view.count; i++) {
        snprintf(want, sizeof want, "line %zu", corpus.train.item[i] + 2);
        ck_assert_str_eq(view.items[i].name, want);
    }
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

START_TEST(fields_are_those_of_the_options)
{
    static const char list[] = "label,words,text,kind\nx,red red,blue,a\nx,blue,green,b\n"
                               "x,red,grey,a\nx,grey,grey,b\n";
    train_fixture_texts(&f);
    tempdir_write(&f.data, "list.csv", list, strlen(list));
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    f.options.text_field = "words";
    f.options.label_field = "kind";
    open_corpus();
    ck_assert_uint_eq(corpus.labels.count, 2);
    ck_assert_str_eq(corpus.parts[0].dataset.items[0].input, "red red");
    close_corpus();
    f.options.text_field = "nothing";
    ck_assert_int_ne(try_open(), ERR_OK);
    ck_assert_ptr_nonnull(strstr(err.text, "nothing"));
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

START_TEST(several_labels_are_several_targets)
{
    static const char list[] = "text,label\nred,b|a\nblue,a\nred,b\nblue,b|a\n";
    static const float targets[4][2] = {{1, 1}, {1, 0}, {0, 1}, {1, 1}};
    static const unsigned first[4] = {1, 0, 1, 1};
    train_fixture_texts(&f);
    tempdir_write(&f.data, "list.csv", list, strlen(list));
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    f.options.multi_label = true;
    f.options.validation = f.list;
    open_corpus();
    ck_assert_mem_eq(corpus.train.targets, targets, sizeof targets);
    ck_assert_mem_eq(corpus.train.classes, first, sizeof first);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

/* The scale is that of the inputs to learn: 1, 3 and 8 have mean 4 and deviation 2.94. */
START_TEST(numbers_are_standardised_by_those_to_learn)
{
    static const char list[] = "text,y\nred,1\nblue,3\ngrey,8\n", judge[] = "text,y\nred,4\n";
    train_fixture_texts(&f);
    tempdir_write(&f.data, "list.csv", list, strlen(list));
    tempdir_write(&f.data, "other.csv", judge, strlen(judge));
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    snprintf(other_list, sizeof other_list, "%s/other.csv", f.data.path);
    f.options.task = "regression";
    f.options.label_field = "y";
    f.options.validation = other_list;
    open_corpus();
    ck_assert(corpus.outputs == 1 && corpus.labels.count == 0);
    ck_assert_str_eq(corpus.numbers.name[0], "y");
    ck_assert_float_eq_tol(corpus.train.targets[0], -1.0190f, 1e-4f);
    ck_assert_float_eq_tol(corpus.train.targets[2], 1.3587f, 1e-4f);
    ck_assert_float_eq_tol(corpus.validation.targets[0], 0, 1e-6f);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

/* 12 of 120 inputs are held back, as if all were of one class. */
START_TEST(numbers_are_held_back_as_one_class)
{
    char text[4096] = "text,label\n";
    train_fixture_texts(&f);
    for (unsigned i = 0; i < 120; i++)
        snprintf(text + strlen(text), 16, "red,%u\n", i);
    tempdir_write(&f.data, "list.csv", text, strlen(text));
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    f.options.task = "regression";
    open_corpus();
    ck_assert(corpus.train.count == 108 && corpus.validation.count == 12);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

START_TEST(lists_without_numbers_are_refused_for_a_regression)
{
    static const char words[] = "text,label\nred,1\nblue,hot\n",
                      two[] = "text,label\nred,1|2\nblue,3\n",
                      equal[] = "text,label\nred,2\nblue,2\nred,2\nblue,2\n";
    const char *const lists[] = {words, two, equal};
    const char *const causes[] = {": line 3: the label 'hot' is no number",
                                  ": line 3: the label has 1 number, and the model answers 2",
                                  "every input to learn has the number 2: nothing to learn"};
    char want[256];
    train_fixture_texts(&f);
    f.options.task = "regression";
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    for (unsigned i = 0; i < 3; i++) {
        tempdir_write(&f.data, "list.csv", lists[i], strlen(lists[i]));
        snprintf(want, sizeof want, "%s%s", i < 2 ? f.list : "", causes[i]);
        expect_refused(ERR_UNUSABLE, want);
    }
    f.options.data = f.data.path;
    snprintf(want, sizeof want,
             "%s: is a folder of classes; --task regress learns the numbers of "
             "a list (.jsonl, .ndjson or .csv)",
             f.data.path);
    expect_refused(ERR_UNUSABLE, want);
    train_fixture_close(&f);
}
END_TEST

/* Masked words need no labels, nor those that are there. */
START_TEST(masked_words_are_learnt_from_texts_without_labels)
{
    static const char list[] = "{\"text\":\"red\"}\n{\"text\":\"blue\"}\n{\"text\":\"grey\"}\n"
                               "{\"text\":\"red\",\"label\":\"x\"}\n";
    train_fixture_texts(&f);
    tempdir_write(&f.data, "list.jsonl", list, strlen(list));
    f.options.task = "mlm";
    f.options.validation_share = 0.25f;
    open_corpus();
    ck_assert_uint_eq(corpus.labels.count, 0);
    ck_assert(corpus.train.count == 3 && corpus.validation.count == 1);
    close_corpus();
    tempdir_write(&f.data, "list.txt", "red\nblue\n\ngrey\n", 15);
    snprintf(f.list, sizeof f.list, "%s/list.txt", f.data.path);
    open_corpus(); /* a line is a text */
    ck_assert(corpus.train.count == 2 && corpus.validation.count == 1);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

/* Measured values, which are all different. */
START_TEST(a_list_of_numbers_is_refused_with_the_advice_to_learn_them_as_such)
{
    char list[4096];
    size_t len = 0;
    train_fixture_texts(&f);
    for (unsigned i = 0; i < 21; i++)
        len += (size_t)snprintf(list + len, sizeof list - len,
                                "{\"text\": \"t %u\", \"label\": \"%u.5\"}\n", i, i);
    tempdir_write(&f.data, "list.jsonl", list, len);
    expect_refused(ERR_UNUSABLE,
                   "21 inputs to learn and 0 to judge by: too few. Most labels are numbers, and "
                   "each is a class of its own. If they are measured values, give --task "
                   "regress");
    train_fixture_close(&f);
}
END_TEST

START_TEST(lists_with_nothing_to_learn_are_refused)
{
    char want[256];
    open_lists("ab", NULL);
    expect_refused(ERR_UNUSABLE, "2 inputs to learn and 0 to judge by: too few");
    train_fixture_close(&f);
    open_lists("aa", NULL); /* one and one are enough where labels do not matter */
    f.options.task = "mlm";
    open_corpus();
    ck_assert(corpus.train.count == 1 && corpus.validation.count == 1);
    close_corpus();
    train_fixture_close(&f);
    open_lists("a", NULL);
    f.options.task = "mlm";
    expect_refused(ERR_UNUSABLE, "1 inputs to learn and 0 to judge by: too few");
    train_fixture_close(&f);
    open_lists("aaaa", NULL);
    snprintf(want, sizeof want, "every input has the label 'a': nothing to learn");
    expect_refused(ERR_UNUSABLE, want);
    train_fixture_close(&f);
    open_lists("aabb", "abc");
    snprintf(want, sizeof want, "%s: line 4: the label 'c' is not among those to learn",
             other_list);
    expect_refused(ERR_UNUSABLE, want);
    f.options.validation = "/no/where.csv";
    ck_assert_int_eq(try_open(), ERR_IO);
    close_corpus();
    f.options.validation = NULL;
    f.options.data = "/no/where.csv";
    ck_assert_int_eq(try_open(), ERR_IO);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

/* Pictures 0 and 2 of class "left" are no pictures. */
START_TEST(inputs_that_cannot_be_used_are_left_out)
{
    train_fixture_images(&f, "right");
    tempdir_write(&f.data, "00.png", "no", 2);
    tempdir_write(&f.data, "02.png", "no", 2);
    f.options.validation = f.list;
    open_corpus();
    ck_assert_uint_eq(corpus.train.count, TRAIN_FIXTURE_IMAGES - 2);
    ck_assert(corpus.train.item[0] == 1 && corpus.train.item[1] == 3 && corpus.train.item[2] == 4);
    for (size_t i = 0; i < corpus.train.count; i++) /* "left", "right" by turns */
        ck_assert(corpus.train.classes[i] == corpus.train.item[i] % 2 &&
                  corpus.train.targets[2 * i + corpus.train.classes[i]] == 1 &&
                  corpus.train.targets[2 * i + 1 - corpus.train.classes[i]] == 0);
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

START_TEST(a_class_without_a_usable_input_is_named)
{
    train_fixture_images(&f, "right");
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    f.options.validation = f.list;
    f.options.usable_min = 0;
    for (unsigned i = 0; i < 3; i++) { /* "a", "b", "c": the first, one between, the last */
        char list[128], want[64];
        snprintf(list, sizeof list, "image,label\n%s,a\n%s,b\n%s,c\n03.png,%c\n",
                 i == 0 ? "none.png" : "00.png", i == 1 ? "none.png" : "01.png",
                 i == 2 ? "none.png" : "02.png", i == 0 ? 'b' : 'a');
        tempdir_write(&f.data, "list.csv", list, strlen(list));
        snprintf(want, sizeof want, "no usable input to learn has the label '%c'", 'a' + (int)i);
        expect_refused(ERR_UNUSABLE, want);
    }
    tempdir_write(&f.data, "none.csv", "image,label\nnone.png,a\n", 23);
    snprintf(other_list, sizeof other_list, "%s/none.csv", f.data.path);
    f.options.validation = other_list;
    ck_assert_int_eq(try_open(), ERR_UNUSABLE); /* not one picture can be read */
    close_corpus();
    train_fixture_close(&f);
}
END_TEST

SUITE("corpus", a_share_of_each_class_is_held_back, corpus_judges_by_all_of_another_list,
      a_view_names_the_items_it_was_given, fields_are_those_of_the_options,
      several_labels_are_several_targets, numbers_are_standardised_by_those_to_learn,
      numbers_are_held_back_as_one_class, lists_without_numbers_are_refused_for_a_regression,
      masked_words_are_learnt_from_texts_without_labels,
      a_list_of_numbers_is_refused_with_the_advice_to_learn_them_as_such,
      lists_with_nothing_to_learn_are_refused, inputs_that_cannot_be_used_are_left_out,
      a_class_without_a_usable_input_is_named)
