/* ngram_branch.h: how much a table weighs, and what of it is written. The encoder's logits are made
 * up; the directory is a checkpoint's. */
#include "learn/ngrams/ngram_branch.h"

#include "engine/format/head_file.h"
#include "engine/model/head_parts.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 80, LABELS = 2 };

static struct train_fixture fixture;
static char texts[COUNT][64];
static struct dataset_item items[COUNT];
static struct dataset dataset;
static unsigned classes[COUNT];
static float logits[COUNT * LABELS];
static const char *problems[COUNT];
static struct evaluation evaluation;
static struct err err;

/* A word gives the class away but for one text of ten; the encoder has it right in two of three. */
static void fill(bool words_tell, unsigned count)
{
    static const char *const words[LABELS] = {"leak", "stall"};
    err = (struct err){0};
    for (unsigned i = 0; i < count; i++) {
        classes[i] = i % LABELS;
        const unsigned word = words_tell ? (i % 10 == 7 ? 1 - classes[i] : classes[i]) : i / 2 % 2;
        snprintf(texts[i], sizeof texts[i], "site %u\nERR %s in block_%c", i, words[word],
                 'a' + i % 7);
        items[i] = (struct dataset_item){.input = texts[i], .input_len = strlen(texts[i])};
        const float right = i % 3 == 2 ? -1 : 2;
        logits[i * LABELS + classes[i]] = right;
        logits[i * LABELS + 1 - classes[i]] = -right;
    }
    dataset = (struct dataset){.kind = ENGINE_TEXT, .items = items, .count = count};
    evaluation = (struct evaluation){
        .count = count, .label_count = LABELS, .logits = logits, .problems = problems};
}

static const struct ngram_settings fitted = {
    .characters = 6, .key_lines = 1, .key_words = "ERR|WARN", .weight = -1};

static struct ngram_result add(const struct ngram_settings *settings)
{
    const struct ngram_data data = {.learnt = &dataset,
                                    .learnt_classes = classes,
                                    .validation = &dataset,
                                    .classes = classes,
                                    .evaluation = &evaluation};
    struct ngram_result result;
    ck_assert_msg(!ngram_branch_add(fixture.first.path, &data, settings, &result, &err), "%s",
                  err.text);
    return result;
}

static void open_fixture(void)
{
    train_fixture_texts(&fixture);
    fixture.options.ood_method = "none";
    train_fixture_learn(&fixture);
}

static struct ngram_table written(struct arena *arena)
{
    struct spec spec;
    struct head_parts parts;
    ck_assert_msg(!spec_read(&spec, fixture.first.path, arena, &err), "%s", err.text);
    ck_assert_str_eq(spec.head_file, HEAD_FILE_NAME);
    ck_assert_msg(!head_parts_open(&spec, fixture.first.path, &parts, arena, &err), "%s", err.text);
    return parts.ngrams;
}

START_TEST(a_table_that_knows_more_lowers_the_loss_and_is_written)
{
    struct arena arena;
    arena_init(&arena);
    open_fixture();
    fill(true, COUNT);
    const struct ngram_result result = add(&fitted);
    ck_assert_double_gt(result.weight, 0);
    ck_assert_double_lt(result.after, result.before / 2);
    const struct ngram_table table = written(&arena);
    ck_assert_uint_eq(table.reading.characters, 6);
    ck_assert_uint_eq(table.reading.key_lines, 1);
    ck_assert_uint_eq(table.reading.key_word_count, 2);
    ck_assert_str_eq(table.reading.key_words[1], "WARN");
    ck_assert_uint_eq(table.reading.rows, NGRAM_ROWS_USUAL);
    float evidence[LABELS];
    const char *text = "ERR stall";
    ck_assert(!ngram_table_evidence(&table, text, strlen(text), &arena, evidence, &err));
    ck_assert(evidence[1] > evidence[0]);
    train_fixture_close(&fixture);
    arena_deinit(&arena);
}
END_TEST

/* The logits are the fitted ones, times twice the weight. */
START_TEST(a_weight_that_is_given_is_taken)
{
    struct arena arena;
    float once[LABELS], twice[LABELS];
    const char *text = "site 3\nERR leak in block_c";
    struct ngram_settings given = fitted;
    arena_init(&arena);
    open_fixture();
    fill(true, COUNT);
    given.weight = 0.5;
    ck_assert_double_eq(add(&given).weight, 0.5);
    struct ngram_table table = written(&arena);
    ck_assert(!ngram_table_evidence(&table, text, strlen(text), &arena, once, &err));
    given.weight = 1;
    ck_assert_double_eq(add(&given).weight, 1);
    table = written(&arena);
    ck_assert(!ngram_table_evidence(&table, text, strlen(text), &arena, twice, &err));
    for (unsigned c = 0; c < LABELS; c++)
        ck_assert_double_eq_tol((double)twice[c], 2 * (double)once[c],
                                2e-3 * fabs((double)twice[c]));
    fill(true, NGRAM_WEIGHT_MIN - 2);
    ck_assert_double_eq(add(&fitted).weight, NGRAM_WEIGHT_USUAL);
    train_fixture_close(&fixture);
    arena_deinit(&arena);
}
END_TEST

START_TEST(a_table_that_would_harm_is_not_written)
{
    open_fixture();
    fill(true, COUNT);
    unsigned swapped[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        swapped[i] = 1 - classes[i];
    const struct ngram_data data = {.learnt = &dataset,
                                    .learnt_classes = swapped,
                                    .validation = &dataset,
                                    .classes = classes,
                                    .evaluation = &evaluation};
    struct ngram_result result;
    ck_assert(!ngram_branch_add(fixture.first.path, &data, &fitted, &result, &err));
    ck_assert_double_eq(result.weight, 0);
    ck_assert(!train_fixture_has(&fixture.first, HEAD_FILE_NAME));
    train_fixture_close(&fixture);
}
END_TEST

START_TEST(lines_and_words_belong_together)
{
    static char many[4 * (NGRAM_KEY_WORDS_MAX + 2)];
    struct ngram_settings settings = {.characters = 100, .key_lines = 2};
    err = (struct err){0};
    ck_assert_int_eq(ngram_settings_check(&settings, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "--ngram-words"));
    settings = (struct ngram_settings){.characters = 100, .key_words = "BUG"};
    err = (struct err){0};
    ck_assert_int_eq(ngram_settings_check(&settings, &err), ERR_UNUSABLE);
    settings.key_lines = 1;
    err = (struct err){0};
    ck_assert_int_eq(ngram_settings_check(&settings, &err), ERR_OK);
    for (unsigned i = 0; i <= NGRAM_KEY_WORDS_MAX; i++)
        strcat(many, "ab|");
    settings.key_words = many;
    ck_assert_int_eq(ngram_settings_check(&settings, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "--ngram-words: more than 256 key words");
}
END_TEST

SUITE("ngram_branch", a_table_that_knows_more_lowers_the_loss_and_is_written,
      a_weight_that_is_given_is_taken, a_table_that_would_harm_is_not_written,
      lines_and_words_belong_together)
