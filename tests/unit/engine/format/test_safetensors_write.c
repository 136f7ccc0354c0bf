/* The reader judges the files that the writer writes. */
#include "engine/base/file.h"
#include "engine/format/safetensors_write.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 40000 }; /* more than two chunks */

struct fixture {
    struct tempdir dir;
    char path[128];
    struct err err;
};

static void setup(struct fixture *fixture)
{
    tempdir_open(&fixture->dir);
    snprintf(fixture->path, sizeof fixture->path, "%s/model.safetensors", fixture->dir.path);
    fixture->err = (struct err){0};
}

static void write_tensors(struct fixture *fixture, const struct tensor_out *tensors, size_t count)
{
    enum err_code code = safetensors_write(fixture->path, tensors, count, "pt", &fixture->err);
    ck_assert_int_eq(code, fixture->err.code);
}

static struct safetensors *must_open(struct fixture *fixture)
{
    struct safetensors *file;
    ck_assert_msg(fixture->err.code == ERR_OK, "%s", fixture->err.text);
    ck_assert_msg(!safetensors_open(&file, fixture->path, &fixture->err), "%s", fixture->err.text);
    return file;
}

static void expect_numbers(const struct safetensors *file, const char *name, const float *expected)
{
    static float found[MANY];
    struct err err = {0};
    const struct tensor_info *info = safetensors_find(file, name);
    ck_assert_ptr_nonnull(info);
    ck_assert_uint_le(info->count, MANY);
    ck_assert_msg(!safetensors_read_f32(file, info, 0, info->count, found, &err), "%s", err.text);
    ck_assert_mem_eq(found, expected, info->count * sizeof *found);
}

/* One tensor of one bad kind; the error's text behind the path is `text`, and no file is left. */
static void expect_refusal(const struct tensor_out *tensors, size_t count, const char *text)
{
    struct fixture fixture;
    setup(&fixture);
    write_tensors(&fixture, tensors, count);
    ck_assert_int_eq(fixture.err.code, ERR_UNSUPPORTED);
    char expected[256];
    snprintf(expected, sizeof expected, "%s: %s", fixture.path, text);
    ck_assert_str_eq(fixture.err.text, expected);
    ck_assert_int_ne(access(fixture.path, F_OK), 0);
    ck_assert_int_eq(rmdir(fixture.dir.path), 0);
}

START_TEST(safetensors_write_is_read_back_bit_by_bit)
{
    static float many[MANY];
    static const float small[6] = {0.1f, -0.0f, 3.4e38f, 1e-45f, -1, 7}, scalar[1] = {5};
    struct fixture fixture;
    setup(&fixture);
    for (size_t i = 0; i < MANY; i++)
        many[i] = (float)i * 0.37f - 100;
    struct tensor_out tensors[] = {
        {.name = "z", .dtype = DTYPE_F32, .rank = 2, .shape = {200, 200}, .values = many},
        {.name = "a", .dtype = DTYPE_F32, .rank = 3, .shape = {1, 2, 3}, .values = small},
        {.name = "empty", .dtype = DTYPE_F16, .rank = 2, .shape = {4, 0}},
        {.name = "scalar", .dtype = DTYPE_F32, .values = scalar},
    };
    write_tensors(&fixture, tensors, 4);
    struct safetensors *file = must_open(&fixture);
    ck_assert_uint_eq(safetensors_count(file), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct tensor_info *info = safetensors_find(file, tensors[i].name);
        ck_assert_ptr_nonnull(info);
        ck_assert_int_eq(info->dtype, tensors[i].dtype);
        ck_assert_uint_eq(info->rank, tensors[i].rank);
        ck_assert_mem_eq(info->shape, tensors[i].shape, info->rank * sizeof *info->shape);
    }
    expect_numbers(file, "z", many);
    expect_numbers(file, "a", small);
    expect_numbers(file, "scalar", scalar);
    ck_assert_uint_eq(safetensors_find(file, "z")->offset % 8, 0);
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_keeps_whole_numbers_as_they_are)
{
    static uint64_t counts[MANY], counts_read[MANY];
    const double figures[] = {0.1, -0.0, INFINITY, -NAN, 5e-324, 1e300};
    double figures_read[6];
    const uint32_t shorts[3] = {0, 1, UINT32_MAX};
    uint32_t shorts_read[3];
    const struct tensor_out tensors[] = {
        {.name = "counts", .dtype = DTYPE_U64, .rank = 1, .shape = {MANY}, .values = counts},
        {.name = "none", .dtype = DTYPE_F64, .rank = 2, .shape = {0, 9}},
        {.name = "figures", .dtype = DTYPE_F64, .rank = 2, .shape = {2, 3}, .values = figures},
        {.name = "step", .dtype = DTYPE_U64, .values = &counts[7]},
        {.name = "short", .dtype = DTYPE_U32, .rank = 1, .shape = {3}, .values = shorts},
    };
    struct fixture fixture;
    setup(&fixture);
    for (size_t i = 0; i < MANY; i++)
        counts[i] = i * 0x0123456789ABCDEF;
    write_tensors(&fixture, tensors, 5);
    struct safetensors *file = must_open(&fixture);
    struct err *err = &fixture.err;
    const struct tensor_info *info = safetensors_find(file, "figures");
    ck_assert_uint_eq(safetensors_find(file, "counts")->offset % 8, 0);
    ck_assert(
        !safetensors_read_as(file, safetensors_find(file, "counts"), DTYPE_U64, counts_read, err));
    ck_assert_mem_eq(counts_read, counts, sizeof counts);
    ck_assert(
        !safetensors_read_as(file, safetensors_find(file, "short"), DTYPE_U32, shorts_read, err));
    ck_assert_mem_eq(shorts_read, shorts, sizeof shorts);
    ck_assert(!safetensors_read_as(file, safetensors_find(file, "step"), DTYPE_U64, counts, err));
    ck_assert_uint_eq(counts[0], counts_read[7]);
    ck_assert(!safetensors_read_as(file, safetensors_find(file, "none"), DTYPE_F64, NULL, err));
    ck_assert(!safetensors_read_as(file, info, DTYPE_F64, figures_read, err));
    ck_assert_mem_eq(figures_read, figures, sizeof figures);
    ck_assert_int_eq(safetensors_read_as(file, info, DTYPE_U64, counts, err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err->text, "dtype F64 instead of U64");
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_keeps_metadata)
{
    static const struct metadata_out metadata[] = {
        {"format", "attnd-train"}, {"a \"key\"", ""}, {"version", "line\nbreak"}, {NULL, NULL}};
    struct fixture fixture;
    setup(&fixture);
    ck_assert(!safetensors_write_with(fixture.path, NULL, 0, metadata, &fixture.err));
    struct safetensors *file = must_open(&fixture);
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(safetensors_metadata(file, metadata[i].key), metadata[i].value);
    ck_assert_ptr_null(safetensors_metadata(file, "forma"));
    safetensors_close(file);
    ck_assert(!safetensors_write_with(fixture.path, NULL, 0, metadata + 3, &fixture.err));
    file = must_open(&fixture);
    ck_assert_ptr_null(safetensors_metadata(file, "format"));
    safetensors_close(file);
    ck_assert(!safetensors_write(fixture.path, NULL, 0, "pt", &fixture.err));
    file = must_open(&fixture);
    ck_assert_str_eq(safetensors_metadata(file, "format"), "pt");
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_takes_as_many_dimensions_as_the_reader)
{
    static const float values[] = {1, 2};
    struct tensor_out deep = {.name = "deep",
                              .dtype = DTYPE_F32,
                              .rank = TENSOR_RANK_MAX,
                              .shape = {1, 1, 1, 1, 1, 1, 1, 2},
                              .values = values};
    struct fixture fixture;
    setup(&fixture);
    write_tensors(&fixture, &deep, 1);
    struct safetensors *file = must_open(&fixture);
    ck_assert_uint_eq(safetensors_find(file, "deep")->rank, TENSOR_RANK_MAX);
    expect_numbers(file, "deep", values);
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_refuses_more_than_a_file_can_hold)
{
    enum { TOO_MANY = 65537 };
    struct tensor_out *many = calloc(TOO_MANY, sizeof *many);
    ck_assert_ptr_nonnull(many);
    expect_refusal(many, TOO_MANY, "65537 tensors; the limit is 65536");
    free(many);
    struct tensor_out halves[] = {
        /* 2^62 bytes each: together one more than an offset can be */
        {.name = "a", .dtype = DTYPE_F32, .rank = 2, .shape = {(size_t)1 << 30, (size_t)1 << 30}},
        {.name = "b", .dtype = DTYPE_F32, .rank = 2, .shape = {(size_t)1 << 30, (size_t)1 << 30}},
    };
    expect_refusal(halves, 2, "the size of all tensors together overflows");
}
END_TEST

START_TEST(safetensors_write_rounds_f16_to_nearest_even)
{
    static const float values[] = {1,        1 + 0x1p-11f, 1 + 0x1.8p-10f,   65504,     0x1p-24f,
                                   0x1p-25f, 0x1.8p-24f,   -0x1.000002p-25f, 0x1p-140f, -2.5f};
    static const float rounded[] = {1, 1,        1 + 0x1p-9f, 65504, 0x1p-24f,
                                    0, 0x1p-23f, -0x1p-24f,   0,     -2.5f};
    struct fixture fixture;
    setup(&fixture);
    write_tensors(&fixture,
                  &(struct tensor_out){.name = "w",
                                       .dtype = DTYPE_F16,
                                       .rank = 1,
                                       .shape = {sizeof values / sizeof *values},
                                       .values = values},
                  1);
    struct safetensors *file = must_open(&fixture);
    expect_numbers(file, "w", rounded);
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_refuses_numbers_that_the_dtype_lacks)
{
    static float values[MANY];
    struct tensor_out tensor = {
        .name = "bert.w", .dtype = DTYPE_F32, .rank = 1, .shape = {MANY}, .values = values};
    values[33000] = NAN;
    expect_refusal(&tensor, 1, "tensor 'bert.w': number 33000, nan, is not finite");
    values[33000] = 1e6f;
    values[33001] = -INFINITY;
    expect_refusal(&tensor, 1, "tensor 'bert.w': number 33001, -inf, is not finite");
    tensor.dtype = DTYPE_F16;
    expect_refusal(&tensor, 1,
                   "tensor 'bert.w': number 33000, 1e+06, does not fit F16, which ends at 65504");
    values[33000] = 65505;
    expect_refusal(&tensor, 1,
                   "tensor 'bert.w': number 33000, 65505, does not fit F16, which ends at 65504");
}
END_TEST

START_TEST(safetensors_write_escapes_names_as_json)
{
    static const char name[] = "a\"b\\c\n\x01/\xC3\xA9";
    static const float one[1] = {1};
    struct fixture fixture;
    setup(&fixture);
    write_tensors(&fixture,
                  &(struct tensor_out){
                      .name = name, .dtype = DTYPE_F32, .rank = 1, .shape = {1}, .values = one},
                  1);
    struct safetensors *file = must_open(&fixture);
    expect_numbers(file, name, one);
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_refuses_what_the_reader_refuses)
{
    static const float one[1] = {1};
    struct tensor_out pair[2] = {
        {.name = "same", .dtype = DTYPE_F32, .rank = 1, .shape = {1}, .values = one},
        {.name = "same", .dtype = DTYPE_F16, .rank = 1, .shape = {1}, .values = one}};
    expect_refusal(pair, 2, "two tensors are named 'same'");
    pair[1].name = "__metadata__";
    expect_refusal(pair, 2, "tensor '__metadata__': this name is the metadata's");
    pair[1].name = "\xFF";
    expect_refusal(pair, 2, "tensor '?': its name is not UTF-8");
    pair[1].name = "b";
    pair[1].dtype = DTYPE_BF16;
    expect_refusal(pair, 2,
                   "tensor 'b': dtype BF16; only F32, F16, F64, U64 and U32 can be written");
    pair[1].dtype = DTYPE_F32;
    pair[1].rank = TENSOR_RANK_MAX + 1;
    expect_refusal(pair, 2, "tensor 'b': 9 dimensions; the limit is 8");
    pair[1].rank = 2;
    pair[1].shape[0] = pair[1].shape[1] = SIZE_MAX / 2;
    expect_refusal(pair, 2, "tensor 'b': the product of the shape overflows");
    pair[1].shape[1] = 1;
    expect_refusal(pair, 2, "tensor 'b': the size in bytes overflows");
}
END_TEST

START_TEST(safetensors_write_takes_no_tensors_at_all)
{
    struct fixture fixture;
    setup(&fixture);
    write_tensors(&fixture, NULL, 0);
    struct safetensors *file = must_open(&fixture);
    ck_assert_uint_eq(safetensors_count(file), 0);
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_on_a_full_disk_leaves_the_old_file_at_any_byte)
{
    static const rlim_t room[] = {0, 4, 8, 40, 100 * 1000}; /* in the length, header, numbers */
    static float values[MANY];
    static const float one[1] = {1};
    struct fixture fixture;
    struct tensor_out tensor = {
        .name = "w", .dtype = DTYPE_F32, .rank = 1, .shape = {1}, .values = one};
    setup(&fixture);
    write_tensors(&fixture, &tensor, 1);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit, before;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    tensor.values = values;
    tensor.shape[0] = MANY;
    for (size_t i = 0; i < sizeof room / sizeof room[0]; i++) {
        struct err err = {0};
        limit = before;
        limit.rlim_cur = room[i];
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum err_code code = safetensors_write(fixture.path, &tensor, 1, "pt", &err);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
        ck_assert_int_eq(code, ERR_IO);
        ck_assert_int_eq(err.code, ERR_IO);
        ck_assert_msg(strstr(err.text, "model.safetensors: cannot be written: File too large"),
                      "%s", err.text);
    }
    struct safetensors *file = must_open(&fixture);
    expect_numbers(file, "w", one);
    safetensors_close(file);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(safetensors_write_names_a_folder_that_is_absent)
{
    struct err err = {0};
    safetensors_write("/nowhere/model.safetensors", NULL, 0, "pt", &err);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_str_eq(err.text,
                     "/nowhere/model.safetensors: cannot be written: No such file or directory");
}
END_TEST

/* The whole file: the header's length, the header padded with spaces to a multiple of 8, and the
 * numbers in the order of the tensors. */
START_TEST(safetensors_write_writes_these_bytes)
{
    static const float a[] = {1, -2}, b[] = {0.5f};
    static const unsigned char numbers[] = {0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0, 0, 0x38};
    for (size_t len = 1; len <= 8; len++) {
        char name[32] = "\"\\\x1f ", expected[256], escaped[48];
        memset(name + 4, 'n', len);
        snprintf(escaped, sizeof escaped, "\\\"\\\\\\u001f %s", name + 4);
        struct tensor_out tensors[] = {
            {.name = name, .dtype = DTYPE_F32, .rank = 2, .shape = {1, 2}, .values = a},
            {.name = "b", .dtype = DTYPE_F16, .values = b}};
        int used = snprintf(expected, sizeof expected,
                            "{\"__metadata__\":{\"format\":\"pt\"},"
                            "\"%s\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                            "\"b\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[8,10]}}",
                            escaped);
        while (used % 8 != 0)
            expected[used++] = ' ';
        struct fixture fixture;
        struct err err = {0};
        char *bytes;
        size_t found;
        setup(&fixture);
        write_tensors(&fixture, tensors, 2);
        ck_assert_int_eq(fixture.err.code, ERR_OK);
        ck_assert_int_eq(file_read(&bytes, &found, fixture.path, 1000, &err), ERR_OK);
        ck_assert_uint_eq(found, 8 + (size_t)used + sizeof numbers);
        ck_assert_mem_eq(bytes, &(uint64_t){(uint64_t)used}, 8);
        ck_assert_mem_eq(bytes + 8, expected, (size_t)used);
        ck_assert_mem_eq(bytes + 8 + used, numbers, sizeof numbers);
        free(bytes);
        tempdir_close(&fixture.dir);
    }
}
END_TEST

START_TEST(safetensors_write_takes_as_many_tensors_as_it_says)
{
    enum { COUNT = 65536 };
    static char names[COUNT][8];
    struct tensor_out *many = calloc(COUNT, sizeof *many);
    struct fixture fixture;
    ck_assert_ptr_nonnull(many);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%zx", i);
        many[i] = (struct tensor_out){.name = names[i], .dtype = DTYPE_F32, .rank = 1};
    }
    setup(&fixture);
    write_tensors(&fixture, many, COUNT);
    ck_assert_str_eq(fixture.err.text, "");
    tempdir_close(&fixture.dir);
    free(many);
}
END_TEST

SUITE("safetensors_write", safetensors_write_takes_as_many_dimensions_as_the_reader,
      safetensors_write_refuses_more_than_a_file_can_hold,
      safetensors_write_keeps_whole_numbers_as_they_are, safetensors_write_keeps_metadata,
      safetensors_write_is_read_back_bit_by_bit, safetensors_write_rounds_f16_to_nearest_even,
      safetensors_write_refuses_numbers_that_the_dtype_lacks,
      safetensors_write_escapes_names_as_json, safetensors_write_refuses_what_the_reader_refuses,
      safetensors_write_takes_no_tensors_at_all,
      safetensors_write_on_a_full_disk_leaves_the_old_file_at_any_byte,
      safetensors_write_names_a_folder_that_is_absent, safetensors_write_writes_these_bytes,
      safetensors_write_takes_as_many_tensors_as_it_says)
