#include "tests/bench/checkpoints.h"
#include "tests/bench/inputs.h"
#include "tests/bench/samples.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include "engine/base/file.h"

#include <stdio.h>
#include <stdlib.h>

static const struct checkpoint_size tiny = {.layers = 1,
                                            .hidden = 64,
                                            .heads = 4,
                                            .intermediate = 64,
                                            .vocab = 300,
                                            .positions = 300,
                                            .labels = 3};

START_TEST(samples_have_the_lengths_that_they_were_written_for)
{
    struct tempdir dir;
    struct err err = {0};
    struct engine_model *model;
    struct samples *samples = malloc(sizeof *samples);
    char path[128], first[128];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/texts.jsonl", dir.path);
    snprintf(first, sizeof first, "%s/first.jsonl", dir.path);
    ck_assert_int_eq(checkpoints_bert(dir.path, &tiny, &err), ERR_OK);
    ck_assert_int_eq(engine_open(&model, dir.path, &(struct engine_options){0}, &err), ERR_OK);
    ck_assert_int_eq(samples_write(path, dir.path, &err), ERR_OK);
    ck_assert_int_eq(samples_read(samples, path, model, &err), ERR_OK);
    ck_assert_uint_eq(samples->count, 129);
    ck_assert_uint_eq(samples->tokens[0], SAMPLES_TOKENS);
    for (unsigned i = 1; i < samples->count; i++)
        ck_assert_uint_eq(samples->tokens[i], inputs_mixed_tokens(i));

    ck_assert_int_eq(samples_first(path, first, &err), ERR_OK);
    ck_assert_int_eq(samples_read(samples, first, model, &err), ERR_OK);
    ck_assert_uint_eq(samples->count, 1);
    ck_assert_uint_eq(samples->tokens[0], SAMPLES_TOKENS);
    engine_close(model);
    free(samples);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_count_tokens_of_answers_in_turn)
{
    struct samples *samples = calloc(1, sizeof *samples);
    samples->count = 3;
    samples->tokens[0] = 1, samples->tokens[1] = 10, samples->tokens[2] = 100;
    ck_assert_double_eq(samples_tokens(samples, 0), 0);
    ck_assert_double_eq(samples_tokens(samples, 2), 11);
    ck_assert_double_eq(samples_tokens(samples, 7), 223);
    free(samples);
}
END_TEST

START_TEST(samples_picture_is_one_that_the_engine_reads)
{
    struct tempdir dir;
    struct err err = {0};
    char path[128], *bytes;
    size_t len;
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/wafer.png", dir.path);
    ck_assert_int_eq(samples_png(path, &err), ERR_OK);
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 20, &err), ERR_OK);
    ck_assert_uint_eq(engine_image_pixels(bytes, len), 224 * 224);
    free(bytes);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_name_the_file_that_is_missing)
{
    struct err err = {0};
    ck_assert_int_eq(samples_write("/nowhere/texts", "/nowhere", &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/vocab.txt"));
}
END_TEST

SUITE("samples", samples_have_the_lengths_that_they_were_written_for,
      samples_count_tokens_of_answers_in_turn, samples_picture_is_one_that_the_engine_reads,
      samples_name_the_file_that_is_missing)
