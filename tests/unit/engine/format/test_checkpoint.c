/* test_checkpoint.c - directories made by hand, and, if ATTND_GOLDEN names a directory of Hugging
 * Face checkpoints, every tensor of each of them. */
#include "engine/format/checkpoint.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX "model.safetensors.index.json"
#define SHARD_1 "model-00001-of-00002.safetensors"
#define SHARD_2 "model-00002-of-00002.safetensors"

/* A file with one F32 tensor of one number. */
static void write_weights(const struct tempdir *dir, const char *file, const char *tensor,
                          float value)
{
    char bytes[256];
    int len = snprintf(bytes + 8, sizeof bytes - 8,
                       "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", tensor);
    memcpy(bytes, &(uint64_t){(uint64_t)len}, 8);
    memcpy(bytes + 8 + len, &value, 4);
    tempdir_write(dir, file, bytes, (size_t)len + 12);
}

static void write_text(const struct tempdir *dir, const char *file, const char *text)
{
    tempdir_write(dir, file, text, strlen(text));
}

static void write_shards(const struct tempdir *dir, const char *index)
{
    write_weights(dir, SHARD_1, "b", 2.0f);
    write_weights(dir, SHARD_2, "a", 1.0f);
    write_text(dir, INDEX, index);
}

static struct checkpoint *must_open(const struct tempdir *dir)
{
    struct checkpoint *checkpoint;
    struct err err = {0};
    checkpoint_open(&checkpoint, dir->path, &err);
    ck_assert_msg(checkpoint != NULL, "%s", err.text);
    return checkpoint;
}

static void must_refuse(const struct tempdir *dir, enum err_code code, const char *text)
{
    struct err err = {0};
    struct checkpoint *checkpoint = (struct checkpoint *)&err; /* to be overwritten */
    ck_assert_int_eq(checkpoint_open(&checkpoint, dir->path, &err), code);
    ck_assert_ptr_null(checkpoint);
    ck_assert_str_eq(err.text, text);
}

static float read_one(const struct checkpoint *checkpoint, const char *name)
{
    struct err err = {0};
    float out = 0;
    const struct tensor_info *info = checkpoint_find(checkpoint, name);
    ck_assert_ptr_nonnull(info);
    ck_assert_int_eq(checkpoint_read_f32(checkpoint, info, 0, 1, &out, &err), ERR_OK);
    return out;
}

START_TEST(checkpoint_opens_a_single_file_before_an_index)
{
    struct tempdir dir;
    tempdir_open(&dir);
    write_weights(&dir, "model.safetensors", "a", 5.0f);
    write_text(&dir, INDEX, "not even JSON");
    struct checkpoint *checkpoint = must_open(&dir);
    ck_assert_uint_eq(checkpoint_count(checkpoint), 1);
    ck_assert_uint_eq(checkpoint_file_count(checkpoint), 1);
    ck_assert_ptr_nonnull(strstr(checkpoint_file_path(checkpoint, 0), "/model.safetensors"));
    ck_assert(read_one(checkpoint, "a") == 5.0f);
    ck_assert_ptr_null(checkpoint_find(checkpoint, "b"));
    checkpoint_close(checkpoint);
    tempdir_close(&dir);
}
END_TEST

START_TEST(checkpoint_joins_shards_sorted_by_name)
{
    struct tempdir dir;
    tempdir_open(&dir);
    write_shards(&dir, "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"a\":\"" SHARD_2
                       "\",\"b\":\"" SHARD_1 "\"}}");
    struct checkpoint *checkpoint = must_open(&dir);
    ck_assert_uint_eq(checkpoint_count(checkpoint), 2);
    ck_assert_str_eq(checkpoint_at(checkpoint, 0)->name, "a");
    ck_assert_str_eq(checkpoint_at(checkpoint, 1)->name, "b");
    ck_assert(read_one(checkpoint, "a") == 1.0f && read_one(checkpoint, "b") == 2.0f);
    ck_assert_uint_eq(checkpoint_file_count(checkpoint), 2);
    ck_assert_ptr_nonnull(strstr(checkpoint_file_path(checkpoint, 0), SHARD_1));
    ck_assert_ptr_nonnull(strstr(checkpoint_file_path(checkpoint, 1), SHARD_2));
    checkpoint_close(checkpoint);
    tempdir_close(&dir);
}
END_TEST

START_TEST(checkpoint_refuses_an_index_that_its_shards_do_not_confirm)
{
    static const struct {
        const char *index;
        const char *error;
    } bad[] = {
        {"{\"weight_map\":{\"a\":\"" SHARD_1 "\",\"b\":\"" SHARD_1 "\"}}",
         INDEX ": weight_map: names tensor 'a', which is not in " SHARD_1},
        {"{\"weight_map\":{\"a\":\"gone.safetensors\"}}",
         "gone.safetensors: cannot be opened: No such file or directory"},
        {"{\"weight_map\":{}}",
         INDEX ": weight_map: expected an object that is not empty, found an object"},
        {"{\"weight_map\":[]}",
         INDEX ": weight_map: expected an object that is not empty, found an array"},
        {"{}", INDEX ": weight_map: expected an object that is not empty, found nothing"},
        {"[]", INDEX ": weight_map: expected an object that is not empty, found nothing"},
        {"7", INDEX ": weight_map: expected an object that is not empty, found nothing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tempdir dir;
        tempdir_open(&dir);
        write_shards(&dir, bad[i].index);
        must_refuse(&dir, i == 1 ? ERR_IO : ERR_UNSUPPORTED, bad[i].error);
        tempdir_close(&dir);
    }
}
END_TEST

/* The first of the 256 is not there: the bound is looked at before any file. */
START_TEST(checkpoint_bounds_the_number_of_shards)
{
    for (unsigned count = 256; count <= 257; count++) {
        char index[16384];
        struct tempdir dir;
        int len = sprintf(index, "{\"weight_map\":{");
        for (unsigned i = 0; i < count; i++)
            len += sprintf(index + len, "%s\"t%u\":\"s%u.safetensors\",\"u%u\":\"s%u.safetensors\"",
                           i > 0 ? "," : "", i, i, i, i);
        sprintf(index + len, "}}");
        tempdir_open(&dir);
        write_text(&dir, INDEX, index);
        if (count == 256)
            must_refuse(&dir, ERR_IO,
                        "s0.safetensors: cannot be opened: No such file or directory");
        else
            must_refuse(&dir, ERR_UNSUPPORTED, INDEX ": weight_map: more than 256 shards");
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(checkpoint_refuses_shard_names_that_leave_the_directory)
{
    static const char *const names[] = {"\"../x.safetensors\"",
                                        "\"/etc/x.safetensors\"",
                                        "\".safetensors\"",
                                        "\"..\"",
                                        "\"sub/x.safetensors\"",
                                        "\".hidden.safetensors\"",
                                        "\"x.bin\"",
                                        "\"\"",
                                        "\"x\\u0000.safetensors\"",
                                        "\"x\\n.safetensors\"",
                                        "\"%s%n.safetensors\"",
                                        "7",
                                        "null",
                                        "[\"x.safetensors\"]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tempdir dir;
        char index[128];
        tempdir_open(&dir);
        snprintf(index, sizeof index, "{\"weight_map\":{\"a\":%s}}", names[i]);
        write_shards(&dir, index);
        must_refuse(
            &dir, ERR_UNSUPPORTED,
            INDEX
            ": weight_map: a shard must be the plain name of a .safetensors file in the directory");
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(checkpoint_refuses_a_tensor_in_two_shards)
{
    struct tempdir dir;
    tempdir_open(&dir);
    write_shards(&dir, "{\"weight_map\":{\"a\":\"" SHARD_2 "\",\"b\":\"" SHARD_1 "\"}}");
    write_weights(&dir, SHARD_1, "a", 3.0f);
    must_refuse(&dir, ERR_UNSUPPORTED, SHARD_2 ": tensor 'a' is in " SHARD_1 " too");
    tempdir_close(&dir);
}
END_TEST

START_TEST(checkpoint_names_the_file_that_is_broken)
{
    struct tempdir dir;
    tempdir_open(&dir);
    must_refuse(&dir, ERR_UNSUPPORTED,
                "the directory has neither model.safetensors nor model.safetensors.index.json");
    write_shards(&dir, "{\"weight_map\":{\"a\":\"" SHARD_2 "\",\"b\":\"" SHARD_1 "\"}}");
    write_text(&dir, SHARD_2, "{");
    must_refuse(&dir, ERR_UNSUPPORTED,
                SHARD_2 ": has 1 bytes; a safetensors file begins with a header length of 8");
    write_text(&dir, INDEX, "{");
    must_refuse(&dir, ERR_MALFORMED, INDEX ": JSON ends too early at byte 1");
    write_text(&dir, "model.safetensors", "");
    must_refuse(
        &dir, ERR_UNSUPPORTED,
        "model.safetensors: has 0 bytes; a safetensors file begins with a header length of 8");
    tempdir_close(&dir);
    must_refuse(&dir, ERR_IO, "the directory cannot be opened: No such file or directory");
}
END_TEST

START_TEST(checkpoint_names_file_and_tensor_of_a_bad_number)
{
    struct tempdir dir;
    struct err err = {0};
    float out;
    tempdir_open(&dir);
    write_weights(&dir, "model.safetensors", "w", 1.0f / 0.0f);
    struct checkpoint *checkpoint = must_open(&dir);
    checkpoint_read_f32(checkpoint, checkpoint_find(checkpoint, "w"), 0, 1, &out, &err);
    ck_assert_str_eq(err.text, "model.safetensors: tensor 'w': number 0 is not finite");
    checkpoint_close(checkpoint);
    tempdir_close(&dir);
}
END_TEST

static size_t read_all(const struct checkpoint *checkpoint)
{
    size_t numbers = 0;
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct tensor_info *info = checkpoint_at(checkpoint, i);
        struct err err = {0};
        if (info->dtype != DTYPE_F32 && info->dtype != DTYPE_F16 && info->dtype != DTYPE_BF16)
            continue;
        float *out = malloc(info->count * sizeof *out + 1);
        ck_assert_msg(!checkpoint_read_f32(checkpoint, info, 0, info->count, out, &err), "%s",
                      err.text);
        numbers += info->count;
        free(out);
    }
    return numbers;
}

START_TEST(checkpoint_reads_every_golden_checkpoint)
{
    const char *golden = getenv("ATTND_GOLDEN");
    if (golden == NULL)
        suite_skip("ATTND_GOLDEN is not set");
    DIR *entries = opendir(golden);
    ck_assert_ptr_nonnull(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        char path[1024];
        struct tempdir dir;
        snprintf(path, sizeof path, "%s/%s/config.json", golden, entry->d_name);
        if (access(path, R_OK) != 0)
            continue;
        snprintf(dir.path, sizeof dir.path, "%.30s/%.30s", golden, entry->d_name);
        struct checkpoint *checkpoint = must_open(&dir);
        ck_assert_uint_gt(read_all(checkpoint), 0);
        checkpoint_close(checkpoint);
    }
    closedir(entries);
}
END_TEST

/* Names of up to 200 bytes are opened (and missing here); longer ones and odd ones are not. */
START_TEST(checkpoint_takes_plain_names_up_to_their_longest)
{
    static const char plain[] = "a-Z_0.9.safetensors";
    struct tempdir dir;
    char index[300], text[300], name[220];
    tempdir_open(&dir);
    for (size_t len = 199; len <= 201; len++) {
        memset(name, 'n', len);
        snprintf(name + len - 12, 13, ".safetensors");
        snprintf(index, sizeof index, "{\"weight_map\":{\"a\":\"%s\"}}", name);
        snprintf(text, sizeof text, "%s: cannot be opened: No such file or directory", name);
        write_text(&dir, INDEX, index);
        if (len <= 200)
            must_refuse(&dir, ERR_IO, text);
        else
            must_refuse(&dir, ERR_UNSUPPORTED,
                        INDEX ": weight_map: a shard must be the plain name of a .safetensors file "
                              "in the directory");
    }
    snprintf(index, sizeof index, "{\"weight_map\":{\"a\":\"%s\",\"b\":\"%s\"}}", plain, plain);
    write_text(&dir, INDEX, index);
    write_weights(&dir, plain, "a", 1.0f);
    must_refuse(&dir, ERR_UNSUPPORTED,
                INDEX ": weight_map: names tensor 'b', which is not in a-Z_0.9.safetensors");
    tempdir_close(&dir);
}
END_TEST

/* A tensor that the index does not name is one all the same, and each knows its file. */
START_TEST(checkpoint_knows_the_file_of_every_tensor)
{
    struct tempdir dir;
    char path[128];
    tempdir_open(&dir);
    write_shards(&dir, "{\"weight_map\":{\"a\":\"" SHARD_2 "\",\"b\":\"" SHARD_1 "\"}}");
    write_weights(&dir, SHARD_2, "c", 7.0f);
    must_refuse(&dir, ERR_UNSUPPORTED,
                INDEX ": weight_map: names tensor 'a', which is not in " SHARD_2);
    write_text(&dir, INDEX, "{\"weight_map\":{\"c\":\"" SHARD_2 "\",\"b\":\"" SHARD_1 "\"}}");
    struct checkpoint *checkpoint = must_open(&dir);
    ck_assert_uint_eq(checkpoint_file_of(checkpoint, checkpoint_find(checkpoint, "b")), 0);
    ck_assert_uint_eq(checkpoint_file_of(checkpoint, checkpoint_find(checkpoint, "c")), 1);
    snprintf(path, sizeof path, "%s/" SHARD_2, dir.path);
    ck_assert_str_eq(checkpoint_file_path(checkpoint, 1), path);
    ck_assert(read_one(checkpoint, "c") == 7.0f);
    checkpoint_close(checkpoint);
    checkpoint_close(NULL);
    tempdir_close(&dir);
}
END_TEST

START_TEST(checkpoint_names_file_and_tensor_of_a_dtype_without_fractions)
{
    static const char header[] =
        "{\"ids\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}";
    struct tempdir dir;
    struct err err = {0};
    char bytes[sizeof header + 15] = {0};
    memcpy(bytes, &(uint64_t){sizeof header - 1}, 8);
    memcpy(bytes + 8, header, sizeof header - 1);
    tempdir_open(&dir);
    tempdir_write(&dir, "model.safetensors", bytes, sizeof header - 1 + 16);
    struct checkpoint *checkpoint = must_open(&dir);
    ck_assert_int_eq(checkpoint_check_f32(checkpoint, checkpoint_find(checkpoint, "ids"), &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "model.safetensors: tensor 'ids': dtype I64; only F32, F16, BF16 "
                               "and F64 can be used");
    checkpoint_close(checkpoint);
    write_weights(&dir, "model.safetensors", "ids", 1.0f);
    checkpoint = must_open(&dir);
    err = (struct err){0};
    ck_assert_int_eq(checkpoint_check_f32(checkpoint, checkpoint_find(checkpoint, "ids"), &err),
                     ERR_OK);
    ck_assert_int_eq(err.code, ERR_OK);
    checkpoint_close(checkpoint);
    tempdir_close(&dir);
}
END_TEST

SUITE("checkpoint", checkpoint_opens_a_single_file_before_an_index,
      checkpoint_joins_shards_sorted_by_name,
      checkpoint_refuses_an_index_that_its_shards_do_not_confirm,
      checkpoint_refuses_shard_names_that_leave_the_directory,
      checkpoint_refuses_a_tensor_in_two_shards, checkpoint_names_the_file_that_is_broken,
      checkpoint_names_file_and_tensor_of_a_bad_number, checkpoint_reads_every_golden_checkpoint,
      checkpoint_bounds_the_number_of_shards, checkpoint_takes_plain_names_up_to_their_longest,
      checkpoint_knows_the_file_of_every_tensor,
      checkpoint_names_file_and_tensor_of_a_dtype_without_fractions)
