/* head_file.h: a written head is read again, and a head that does not fit the model is refused by
 * name. */
#include "engine/format/head_file.h"
#include "engine/format/safetensors_write.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 5, WIDTH = 3, LABELS = 2 };

static struct tempdir dir;
static float features[ROWS * WIDTH], logits[ROWS * LABELS];
static unsigned classes[ROWS] = {0, 1, 1, 0, 1};
static uint64_t digests[ROWS] = {1, UINT64_MAX, 3, 0x8000000000000000u, 5};
static struct head_bank bank = {.count = ROWS,
                                .width = WIDTH,
                                .labels = LABELS,
                                .features = features,
                                .logits = logits,
                                .classes = classes,
                                .digests = digests};

static void write_bank(void)
{
    struct err err = {0};
    for (unsigned i = 0; i < ROWS * WIDTH; i++)
        features[i] = (float)i / 8; /* exact in 16 bits */
    for (unsigned i = 0; i < ROWS * LABELS; i++)
        logits[i] = (float)i / 3;
    tempdir_open(&dir);
    ck_assert_msg(head_file_write(dir.path, &(struct head_content){.bank = &bank}, &err) == ERR_OK,
                  "%s", err.text);
}

START_TEST(head_file_reads_the_examples_that_it_wrote)
{
    struct head_file *file;
    struct head_bank read;
    struct arena arena;
    struct err err = {0};
    write_bank();
    arena_init(&arena);
    ck_assert_int_eq(head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err), ERR_OK);
    ck_assert_int_eq(head_file_bank(file, &read, &arena, &err), ERR_OK);
    head_file_close(file);
    ck_assert_uint_eq(read.count, ROWS);
    ck_assert_uint_eq(read.width, WIDTH);
    ck_assert_uint_eq(read.labels, LABELS);
    ck_assert_mem_eq(read.features, features, sizeof features);
    ck_assert_mem_eq(read.logits, logits, sizeof logits);
    ck_assert_mem_eq(read.classes, classes, sizeof classes);
    ck_assert_mem_eq(read.digests, digests, sizeof digests);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(head_file_names_the_layers_of_means_if_tokens_are_pruned)
{
    struct head_file *file;
    unsigned full_layers = 9;
    struct err err = {0};
    write_bank();
    for (unsigned layers = 0; layers < 13; layers += 12) {
        const struct head_content content = {.bank = &bank, .full_layers = layers};
        ck_assert(!head_file_write(dir.path, &content, &err));
        ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
        ck_assert(!head_file_full_layers(file, &full_layers, &err));
        ck_assert_uint_eq(full_layers, layers);
        head_file_close(file);
    }
    tempdir_close(&dir);
}
END_TEST

START_TEST(head_file_may_have_no_classifier)
{
    static float weight[LABELS * WIDTH] = {1, 2, 3, -4, -5, -6}, bias[LABELS] = {0.5f, -0.25f};
    const struct head_matrix matrix = {
        .width = WIDTH, .labels = LABELS, .weight = weight, .bias = bias};
    struct head_file *file;
    struct head_matrix read;
    struct arena arena;
    struct err err = {0};
    write_bank();
    arena_init(&arena);
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert(!head_file_matrix(file, &read, &arena, &err));
    ck_assert_ptr_null(read.weight);
    head_file_close(file);
    ck_assert(
        !head_file_write(dir.path, &(struct head_content){.bank = &bank, .matrix = &matrix}, &err));
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert(!head_file_matrix(file, &read, &arena, &err));
    ck_assert_mem_eq(read.weight, weight, sizeof weight);
    ck_assert_mem_eq(read.bias, bias, sizeof bias);
    head_file_close(file);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

static void expect_refused(unsigned labels, unsigned width, const char *why)
{
    struct head_file *file;
    struct err err = {0};
    ck_assert_int_eq(head_file_open(&file, dir.path, HEAD_FILE_NAME, labels, width, &err),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_null(file);
    ck_assert_str_eq(err.text, why);
}

START_TEST(head_file_of_another_model_is_refused_by_its_tensor)
{
    write_bank();
    expect_refused(LABELS, WIDTH + 1,
                   HEAD_FILE_NAME ": tensor 'bank.features' does not fit a model of 2 labels and 4 "
                                  "features");
    expect_refused(LABELS + 1, WIDTH,
                   HEAD_FILE_NAME ": tensor 'bank.logits' does not fit a model of 3 labels and 3 "
                                  "features");
    tempdir_close(&dir);
}
END_TEST

/* A file with the tensors of a bank, whose list of classes has so many numbers. */
static void write_with(const char *version, size_t listed)
{
    const struct metadata_out metadata[] = {
        {"format", "attnd-head"}, {"version", version}, {NULL, NULL}};
    uint64_t numbers[ROWS] = {0, 1, 2, 0, 1};
    const struct tensor_out tensors[] = {{"bank.features", DTYPE_F16, 2, {ROWS, WIDTH}, features},
                                         {"bank.logits", DTYPE_F32, 2, {ROWS, LABELS}, logits},
                                         {"bank.classes", DTYPE_U64, 1, {listed}, numbers},
                                         {"bank.digests", DTYPE_U64, 1, {ROWS}, digests}};
    char path[96];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    ck_assert_int_eq(safetensors_write_with(path, tensors, 4, metadata, &err), ERR_OK);
}

START_TEST(a_bank_without_examples_is_refused)
{
    static const struct metadata_out metadata[] = {
        {"format", "attnd-head"}, {"version", "1"}, {NULL, NULL}};
    const struct tensor_out tensors[] = {{"bank.features", DTYPE_F16, 2, {0, WIDTH}, features},
                                         {"bank.logits", DTYPE_F32, 2, {0, LABELS}, logits},
                                         {"bank.classes", DTYPE_U64, 1, {0}, digests},
                                         {"bank.digests", DTYPE_U64, 1, {0}, digests}};
    char path[96];
    struct err err = {0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    ck_assert_int_eq(safetensors_write_with(path, tensors, 4, metadata, &err), ERR_OK);
    expect_refused(LABELS, WIDTH, HEAD_FILE_NAME ": tensor 'bank.features' is empty");
    tempdir_close(&dir);
}
END_TEST

START_TEST(half_a_classifier_is_refused)
{
    const struct metadata_out metadata[] = {
        {"format", "attnd-head"}, {"version", "1"}, {NULL, NULL}};
    uint64_t numbers[ROWS] = {0, 1, 1, 0, 1};
    const struct tensor_out tensors[] = {{"bank.features", DTYPE_F16, 2, {ROWS, WIDTH}, features},
                                         {"bank.logits", DTYPE_F32, 2, {ROWS, LABELS}, logits},
                                         {"bank.classes", DTYPE_U64, 1, {ROWS}, numbers},
                                         {"bank.digests", DTYPE_U64, 1, {ROWS}, digests},
                                         {"head.weight", DTYPE_F32, 2, {LABELS, WIDTH}, features},
                                         {"head.bias", DTYPE_F32, 1, {LABELS + 1}, features}};
    char path[96];
    struct err err = {0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    ck_assert(!safetensors_write_with(path, tensors, 5, metadata, &err));
    expect_refused(LABELS, WIDTH, HEAD_FILE_NAME ": tensor 'head.bias' is missing");
    ck_assert(!safetensors_write_with(path, tensors, 6, metadata, &err));
    expect_refused(LABELS, WIDTH,
                   HEAD_FILE_NAME ": tensor 'head.bias' does not fit a model of 2 labels and 3 "
                                  "features");
    tempdir_close(&dir);
}
END_TEST

/* ---- n-grams ---- */

enum { TABLE_ROWS = 4 };

static const char *const key_words[] = {"BUG", "DATA RACE"};
static float table_weight[TABLE_ROWS * LABELS] = {1, -2, 0.5f, 0, 3, 4, -0.25f, 8};
static float table_bias[LABELS] = {0.125f, -1};

START_TEST(head_file_reads_the_table_of_ngrams_that_it_wrote)
{
    const struct ngram_table table = {.reading = {.characters = 1500,
                                                  .key_lines = 3,
                                                  .key_words = key_words,
                                                  .key_word_count = 2,
                                                  .rows = TABLE_ROWS},
                                      .labels = LABELS,
                                      .weight = table_weight,
                                      .bias = table_bias,
                                      .scale = 0.75};
    struct head_file *file;
    struct ngram_table read, again;
    struct head_bank none;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    tempdir_open(&dir);
    ck_assert(!head_file_write(dir.path, &(struct head_content){.ngrams = &table}, &err));
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert(!head_file_bank(file, &none, &arena, &err));
    ck_assert_uint_eq(none.count, 0);
    ck_assert_msg(!head_file_ngrams(file, &read, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(read.reading.rows, TABLE_ROWS);
    ck_assert_uint_eq(read.reading.characters, 1500);
    ck_assert_uint_eq(read.reading.key_lines, 3);
    ck_assert_double_eq(read.scale, 0.75);
    ck_assert_uint_eq(read.reading.key_word_count, 2);
    ck_assert_str_eq(read.reading.key_words[1], "DATA RACE");
    float weight[TABLE_ROWS * LABELS];
    ngram_table_read(&read, 0, TABLE_ROWS * LABELS, weight);
    ck_assert_mem_eq(weight, table_weight, sizeof table_weight);
    ck_assert_mem_eq(read.bias, table_bias, sizeof table_bias);
    head_file_close(file);
    ck_assert(!head_file_write(dir.path, &(struct head_content){.ngrams = &read}, &err));
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert_msg(!head_file_ngrams(file, &again, &arena, &err), "%s", err.text);
    ck_assert_mem_eq(again.halves, read.halves, sizeof table_weight / 2);
    head_file_close(file);
    tempdir_close(&dir);
    arena_deinit(&arena);
}
END_TEST

/* Expects the error of opening or reading a table with these rows and this metadata. */
static void expect_table_refused(size_t rows, const char *characters, const char *lines,
                                 const char *words, const char *why)
{
    static float weight[6 * LABELS];
    const struct metadata_out metadata[] = {{"format", "attnd-head"},
                                            {"version", "1"},
                                            {"ngrams.characters", characters},
                                            {"ngrams.key_lines", lines},
                                            {"ngrams.scale", strlen(lines) > 1 ? lines : "1"},
                                            {words != NULL ? "ngrams.key_words" : NULL, words},
                                            {NULL, NULL}};
    const struct tensor_out tensors[] = {
        {"ngrams.weight", DTYPE_F16, 2, {rows, LABELS}, weight},
        {"ngrams.bias", DTYPE_F32, 1, {LABELS}, table_bias},
    };
    struct head_file *file;
    struct ngram_table read;
    struct arena arena;
    struct err err = {0};
    char path[96];
    arena_init(&arena);
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    ck_assert(!safetensors_write_with(path, tensors, 2, metadata, &err));
    if (!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err))
        head_file_ngrams(file, &read, &arena, &err);
    ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, why));
    head_file_close(file);
    tempdir_close(&dir);
    arena_deinit(&arena);
}

START_TEST(a_table_that_cannot_be_read_by_is_refused)
{
    static char many[4 * (NGRAM_KEY_WORDS_MAX + 2)];
    for (unsigned i = 0; i <= NGRAM_KEY_WORDS_MAX; i++)
        strcat(many, "ab|");
    expect_table_refused(6, "9", "0", "", "has 6 rows; expected a power of two");
    expect_table_refused(1, "9", "0", "", "has 1 rows; expected a power of two");
    expect_table_refused(4, "-9", "0", "", "'ngrams.characters' is not a number of at most 65536");
    expect_table_refused(4, "65537", "0", "", "'ngrams.characters' is not a number");
    expect_table_refused(4, "9", "1x", "", "'ngrams.key_lines' is not a number of at most 64");
    expect_table_refused(4, "9", "1", NULL, "'ngrams.key_words' is missing");
    expect_table_refused(4, "9", "00", "", "'ngrams.scale' is not a number above 0");
    expect_table_refused(4, "9", "1", many, "'ngrams.key_words': more than 256 key words");
}
END_TEST

static struct ngram_entry list_entries[] = {{.row = 3, .often = 1},
                                            {.row = NGRAM_ROWS_MAX - 1, .often = 2},
                                            {.row = 0, .often = 1},
                                            {.row = 7, .often = 5000}};
/* The lists hold n-grams of both blocks, of the head alone, and none. */
static const struct ngram_list lists[ROWS] = {
    {.entries = list_entries, .count = 3, .first = {0, 2}},
    {.entries = list_entries + 3, .count = 1, .first = {0, 0}}};

START_TEST(the_ngrams_of_examples_are_read_again_weighed)
{
    struct head_file *file;
    struct head_bank read;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    write_bank();
    struct head_bank with = bank;
    with.ngrams = lists;
    ck_assert(!head_file_write(dir.path, &(struct head_content){.bank = &with}, &err));
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert_msg(!head_file_bank(file, &read, &arena, &err), "%s", err.text);
    ck_assert_ptr_nonnull(read.ngrams);
    ck_assert_uint_eq(read.ngrams[0].count, 3);
    ck_assert_uint_eq(read.ngrams[0].first[NGRAM_HEAD], 2);
    ck_assert_uint_eq(read.ngrams[0].entries[1].row, NGRAM_ROWS_MAX - 1);
    ck_assert_uint_eq(read.ngrams[0].entries[1].often, 2);
    ck_assert_double_eq_tol((double)read.ngrams[0].entries[2].value, M_SQRT1_2, 1e-6);
    ck_assert_uint_eq(read.ngrams[1].first[NGRAM_HEAD], 0);
    ck_assert_uint_eq(read.ngrams[1].entries[0].often, 2047); /* as many as 11 bits hold */
    ck_assert_double_eq_tol((double)read.ngrams[1].entries[0].value, 1, 1e-6);
    ck_assert_uint_eq(read.ngrams[2].count, 0);
    head_file_close(file);
    tempdir_close(&dir);
    arena_deinit(&arena);
}
END_TEST

static void expect_lists_refused(const uint32_t *entries, size_t count, uint64_t end,
                                 const char *why)
{
    const struct metadata_out metadata[] = {
        {"format", "attnd-head"}, {"version", "1"}, {NULL, NULL}};
    const uint64_t ends[ROWS] = {end, end, end, end, end};
    const uint64_t none[ROWS] = {0};
    const struct tensor_out tensors[] = {{"bank.features", DTYPE_F16, 2, {ROWS, WIDTH}, features},
                                         {"bank.logits", DTYPE_F32, 2, {ROWS, LABELS}, logits},
                                         {"bank.classes", DTYPE_U64, 1, {ROWS}, none},
                                         {"bank.digests", DTYPE_U64, 1, {ROWS}, digests},
                                         {"bank.ngram_ends", DTYPE_U64, 1, {ROWS}, ends},
                                         {"bank.ngrams", DTYPE_U32, 1, {count}, entries}};
    struct head_file *file;
    struct head_bank read;
    struct arena arena;
    struct err err = {0};
    char path[96];
    arena_init(&arena);
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    ck_assert(!safetensors_write_with(path, tensors, 6, metadata, &err));
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert_int_eq(head_file_bank(file, &read, &arena, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, why));
    head_file_close(file);
    tempdir_close(&dir);
    arena_deinit(&arena);
}

START_TEST(head_file_refuses_broken_lists_of_ngrams)
{
    static const uint32_t often = 1u << 20, head = 1u << 31;
    const uint32_t backwards[] = {head | often, often}, never[] = {often, 3};
    expect_lists_refused(backwards, 2, 2, "'bank.ngrams' is not a list of n-grams");
    expect_lists_refused(never, 2, 2, "'bank.ngrams' is not a list of n-grams");
    expect_lists_refused(never, 1, 2, "'bank.ngram_ends': the list of example 0 ends at 2 of 1");
}
END_TEST

START_TEST(a_newer_version_and_a_damaged_list_are_refused)
{
    tempdir_open(&dir);
    write_with("2", ROWS);
    expect_refused(LABELS, WIDTH, HEAD_FILE_NAME ": its version is '2', and this program reads 1");
    write_with("1", ROWS - 1);
    expect_refused(LABELS, WIDTH,
                   HEAD_FILE_NAME ": tensor 'bank.classes' does not fit a model of 2 labels and 3 "
                                  "features");
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_class_that_is_no_label_is_refused)
{
    struct head_file *file;
    struct head_bank read;
    struct arena arena;
    struct err err = {0};
    tempdir_open(&dir);
    write_with("1", ROWS);
    arena_init(&arena);
    ck_assert_int_eq(head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err), ERR_OK);
    ck_assert_int_eq(head_file_bank(file, &read, &arena, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "an example is of class 2 of 2");
    head_file_close(file);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

/* The first number of the file with these bytes becomes another one. */
static void exchange(float number, float other)
{
    char path[96], bytes[4096];
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(bytes, 1, sizeof bytes, file), at = 0;
    while (at + sizeof number <= len && memcmp(bytes + at, &number, sizeof number) != 0)
        at++;
    ck_assert_uint_le(at + sizeof number, len);
    ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(&other, sizeof other, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_number_that_is_not_finite_is_refused)
{
    struct head_file *file;
    struct head_bank read;
    struct arena arena;
    struct err err = {0};
    write_bank();
    exchange(logits[1], NAN);
    arena_init(&arena);
    ck_assert(!head_file_open(&file, dir.path, HEAD_FILE_NAME, LABELS, WIDTH, &err));
    ck_assert_int_eq(head_file_bank(file, &read, &arena, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "number 1 is not finite");
    head_file_close(file);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(head_file_refuses_another_kind_of_file)
{
    const struct tensor_out tensor = {"classifier.bias", DTYPE_F32, 1, {WIDTH}, features};
    char path[96];
    struct err err = {0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/" HEAD_FILE_NAME, dir.path);
    ck_assert_int_eq(safetensors_write(path, &tensor, 1, "pt", &err), ERR_OK);
    expect_refused(LABELS, WIDTH, HEAD_FILE_NAME ": it is no head of attnd's");
    tempdir_close(&dir);
}
END_TEST

SUITE("head_file", head_file_reads_the_examples_that_it_wrote,
      head_file_names_the_layers_of_means_if_tokens_are_pruned, head_file_may_have_no_classifier,
      head_file_reads_the_table_of_ngrams_that_it_wrote, a_table_that_cannot_be_read_by_is_refused,
      the_ngrams_of_examples_are_read_again_weighed, head_file_refuses_broken_lists_of_ngrams,
      half_a_classifier_is_refused, a_bank_without_examples_is_refused,
      head_file_of_another_model_is_refused_by_its_tensor,
      a_newer_version_and_a_damaged_list_are_refused, a_class_that_is_no_label_is_refused,
      a_number_that_is_not_finite_is_refused, head_file_refuses_another_kind_of_file)
