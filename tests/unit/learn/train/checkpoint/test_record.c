/* record.h: the record of a finished run. */
#include "engine/base/file.h"
#include "engine/base/rng.h"
#include "engine/format/safetensors_write.h"
#include "learn/train/checkpoint/record.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;
static struct err err;

START_TEST(a_record_comes_back_sorted_and_without_doubles)
{
    uint64_t digests[] = {9, UINT64_MAX, 2, 9, 0};
    const uint64_t asked[] = {9, 3, 9, UINT64_MAX};
    struct record record;
    bool found;
    tempdir_open(&dir);
    ck_assert(!record_read(dir.path, &found, &record, &err) && !found && record.count == 0);
    record_close(&record);
    ck_assert_msg(!record_write(dir.path, "a=1\nb=\"\n", digests, 5, &err), "%s", err.text);
    ck_assert_msg(!record_read(dir.path, &found, &record, &err), "%s", err.text);
    ck_assert(found && record.count == 4 && !record.is_sample);
    ck_assert_str_eq(record.lines, "a=1\nb=\"\n");
    ck_assert(record.known[0] == 0 && record.known[1] == 2 && record.known[3] == UINT64_MAX);
    ck_assert_uint_eq(record_count_known(&record, asked, 4), 3);
    ck_assert_uint_eq(record_count_known(&record, asked, 0), 0);
    record_close(&record);
    ck_assert(!record_remove(dir.path, &err) && !record_remove(dir.path, &err));
    ck_assert(!record_read(dir.path, &found, &record, &err) && !found);
    record_close(&record);
    tempdir_close(&dir);
}
END_TEST

START_TEST(record_of_no_inputs_knows_no_input)
{
    struct record record;
    uint64_t one = 1;
    bool found;
    tempdir_open(&dir);
    ck_assert(!record_write(dir.path, "", &one, 0, &err));
    ck_assert(!record_read(dir.path, &found, &record, &err) && found && record.count == 0);
    ck_assert_uint_eq(record_count_known(&record, &one, 1), 0);
    record_close(&record);
    tempdir_close(&dir);
}
END_TEST

/* The record learns four times as many inputs as it keeps. Every second one of the inputs asked for
 * was learnt. */
START_TEST(a_record_of_many_inputs_is_a_fair_sample)
{
    enum { LEARNT = 4 * RECORD_INPUTS_MAX, ASKED = 4000 };
    uint64_t *digests = calloc(LEARNT, sizeof *digests), asked[ASKED];
    struct record record;
    struct rng rng = rng_for(3, 0, 0);
    bool found;
    tempdir_open(&dir);
    for (size_t i = 0; i < LEARNT; i++)
        digests[i] = rng_next(&rng);
    for (size_t i = 0; i < ASKED; i++)
        asked[i] = i % 2 == 0 ? digests[i * 100] : rng_next(&rng);
    ck_assert(!record_write(dir.path, "", digests, LEARNT, &err));
    ck_assert(!record_read(dir.path, &found, &record, &err) && record.is_sample);
    ck_assert_uint_eq(record.count, RECORD_INPUTS_MAX);
    size_t known = record_count_known(&record, asked, ASKED);
    ck_assert_msg(known > ASKED * 0.45 && known < ASKED * 0.55, "%zu", known);
    record_close(&record);
    free(digests);
    tempdir_close(&dir);
}
END_TEST

static void expect_unread(const struct metadata_out *metadata, enum dtype dtype, const char *text)
{
    char path[128];
    uint64_t two[2] = {1, 2};
    struct record record;
    bool found;
    const struct tensor_out inputs = {"inputs", dtype, 1, {2}, two};
    snprintf(path, sizeof path, "%s/training-run.safetensors", dir.path);
    ck_assert(!safetensors_write_with(path, &inputs, 1, metadata, &err));
    ck_assert_int_eq(record_read(dir.path, &found, &record, &err), ERR_UNSUPPORTED);
    ck_assert_msg(found && strstr(err.text, text) != NULL, "%s", err.text);
    record_close(&record);
    err = (struct err){0};
}

START_TEST(a_record_of_another_form_is_refused)
{
    struct metadata_out metadata[] = {{"format", "attnd-train-run"},
                                      {"version", "1"},
                                      {"inputs", "all"},
                                      {"run", ""},
                                      {NULL, NULL}};
    tempdir_open(&dir);
    expect_unread(metadata, DTYPE_F64, "U64");
    metadata[1].value = "2";
    expect_unread(metadata, DTYPE_U64, "the record of the run has version '2'");
    metadata[1].value = "1";
    metadata[0].value = "pt";
    expect_unread(metadata, DTYPE_U64, "it is no record of a training run");
    metadata[0].value = "attnd-train-run";
    metadata[3].key = "ran";
    expect_unread(metadata, DTYPE_U64, "it is no record of a training run");
    tempdir_close(&dir);
}
END_TEST

SUITE("record", a_record_comes_back_sorted_and_without_doubles, record_of_no_inputs_knows_no_input,
      a_record_of_many_inputs_is_a_fair_sample, a_record_of_another_form_is_refused)
