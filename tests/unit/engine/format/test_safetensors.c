/* test_safetensors.c - the reference reader's own cases, hand-made files, and
 * mutated files.
 *
 * ATTND_FUZZ_ROUNDS in the environment sets the number of mutated files (default 4000), which makes
 * this program the fuzz driver: build it with sanitizers and give it a million. */
#include "engine/base/doc.h"
#include "tests/unit/engine/format/fixture.h"

#include <math.h>
#include <stdlib.h>

#define CORPUS "tests/data/safetensors/"

static enum err_code read_whole(const struct safetensors *file, const char *name, float *out,
                                struct err *err)
{
    const struct tensor_info *info = safetensors_find(file, name);
    return safetensors_read_f32(file, info, 0, info->count, out, err);
}

static void load(const char *path, struct bytes *out)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    out->len = fread(out->at, 1, sizeof out->at, file);
    fclose(file);
}

/* Invariants that every caller relies on after a successful open. Reading may fail but must not
 * crash. */
static void check_consistent(const struct safetensors *file, size_t file_bytes)
{
    static float numbers[sizeof scratch.at];
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor_info *info = safetensors_at(file, i);
        struct err err = {0};
        ck_assert(info->rank <= TENSOR_RANK_MAX && info->dtype < DTYPE_COUNT);
        ck_assert(info->offset <= file_bytes && info->bytes <= file_bytes - info->offset);
        ck_assert(info->count <= file_bytes);
        ck_assert_ptr_eq(safetensors_find(file, info->name), info);
        safetensors_read_f32(file, info, 0, info->count, numbers, &err);
    }
}

START_TEST(safetensors_judges_as_the_reference_reader)
{
    struct err err = {0};
    struct json_t *cases;
    static struct bytes bytes;
    load(CORPUS "cases.json", &bytes);
    ck_assert_int_eq(doc_parse(&cases, bytes.at, bytes.len, &doc_limits_file, &err), ERR_OK);
    size_t count = doc_array_count(cases);
    ck_assert_uint_eq(count, 20);
    for (size_t i = 0; i < count; i++) {
        const char *name = NULL;
        bool loads = false;
        struct safetensors *file;
        char path[256];
        struct err verdict = {0};
        doc_get_string(doc_array_item(cases, i), "$", "file", &name, &err);
        doc_get_bool(doc_array_item(cases, i), "$", "loads", &loads, &err);
        if (strcmp(name, "ok_serialization_f4.safetensors") == 0)
            loads = false; /* two numbers in a byte: a dtype that is not ours */
        snprintf(path, sizeof path, CORPUS "%s", name);
        safetensors_open(&file, path, &verdict);
        ck_assert_msg((file != NULL) == loads, "%s: %s", name, verdict.text);
        ck_assert_int_eq(verdict.code, loads ? ERR_OK : ERR_UNSUPPORTED);
        safetensors_close(file);
    }
    doc_free(cases);
}
END_TEST

START_TEST(safetensors_takes_as_many_dimensions_as_it_says)
{
    struct safetensors *file =
        must_open(build("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,2],"
                        "\"data_offsets\":[0,8]}}",
                        8));
    const struct tensor_info *info = safetensors_find(file, "a");
    ck_assert_uint_eq(info->rank, 8);
    ck_assert_uint_eq(info->shape[7], 2);
    ck_assert_uint_eq(info->count, 2);
    safetensors_close(file);
}
END_TEST

START_TEST(safetensors_lists_tensors_by_name_with_their_shapes)
{
    struct safetensors *file = must_open(build(THREE_DTYPES, 22));
    const char *const names[] = {"a", "b", "empty", "w"};
    ck_assert_uint_eq(safetensors_count(file), 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(safetensors_at(file, i)->name, names[i]);
    const struct tensor_info *w = safetensors_find(file, "w");
    ck_assert(w->dtype == DTYPE_F16 && w->rank == 2 && w->shape[0] == 2 && w->shape[1] == 3);
    ck_assert(w->count == 6 && w->bytes == 12 && w->offset == 8 + strlen(THREE_DTYPES) + 8);
    ck_assert_uint_eq(safetensors_find(file, "b")->count, 1);
    ck_assert_uint_eq(safetensors_find(file, "empty")->count, 0);
    ck_assert_ptr_null(safetensors_find(file, "__metadata__"));
    ck_assert_ptr_null(safetensors_find(file, ""));
    ck_assert_str_eq(dtype_name(w->dtype), "F16");
    safetensors_close(file);
}
END_TEST

START_TEST(safetensors_reads_f32_f16_and_bf16_as_f32)
{
    struct bytes *bytes = build(THREE_DTYPES, 22);
    static const unsigned char data[22] = {0, 0,    0x80, 0x3F, 0,    0,    0, 0xC0, /* 1 -2 */
                                           0, 0x3C, 1,    0,    0xFF, 0x7B, 0, 0x80,
                                           0, 0x38, 0x55, 0xB5, 0x49, 0x40};
    static const float w[6] = {1.0f, 0x1p-24f, 65504.0f, -0.0f, 0.5f, -0.333251953125f};
    struct err err = {0};
    float out[6];
    memcpy(bytes->at + bytes->len - 22, data, 22);
    struct safetensors *file = must_open(bytes);
    ck_assert_int_eq(read_whole(file, "a", out, &err), ERR_OK);
    ck_assert(out[0] == 1.0f && out[1] == -2.0f);
    ck_assert_int_eq(read_whole(file, "w", out, &err), ERR_OK);
    ck_assert_mem_eq(out, w, sizeof w);
    ck_assert_int_eq(read_whole(file, "b", out, &err), ERR_OK);
    ck_assert(out[0] == 3.140625f);
    out[0] = 77.0f;
    ck_assert_int_eq(read_whole(file, "empty", out, &err), 0);
    ck_assert(out[0] == 77.0f);
    safetensors_close(file);
}
END_TEST

START_TEST(safetensors_reads_only_floating_point_tensors)
{
    struct safetensors *file;
    struct err err = {0};
    static float out[2000];
    ck_assert_int_eq(safetensors_open(&file, CORPUS "jfk-codes.safetensors", &err), ERR_OK);
    const struct tensor_info *codes = safetensors_find(file, "codes");
    ck_assert(codes->rank == 3 && codes->shape[2] == 828 && codes->dtype == DTYPE_I64);
    ck_assert_int_eq(safetensors_read_f32(file, codes, 0, codes->count, out, &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "dtype I64; only F32, F16, BF16 and F64 can be used");
    safetensors_close(file);
}
END_TEST

/* Rounded to the nearest, as PyTorch does; and a header without metadata, as some writers have it. */
START_TEST(safetensors_reads_f64_as_f32_and_takes_null_metadata)
{
    static const double numbers[] = {1.0 / 3, -1e-60, 16777217, 1e39};
    static const char header[] = "{\"__metadata__\":null,\"w\":{\"dtype\":\"F64\",\"shape\":[4],"
                                 "\"data_offsets\":[0,32]}}";
    const uint64_t len = sizeof header - 1;
    struct safetensors *file;
    struct err err = {0};
    float out[4];
    char path[] = "/tmp/attnd-safetensors-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, &len, 8), 8);
    ck_assert_int_eq(write(fd, header, len), (ssize_t)len);
    ck_assert_int_eq(write(fd, numbers, sizeof numbers), sizeof numbers);
    close(fd);
    ck_assert_msg(!safetensors_open(&file, path, &err), "%s", err.text);
    const struct tensor_info *info = safetensors_find(file, "w");
    ck_assert_int_eq(safetensors_read_f32(file, info, 0, 3, out, &err), ERR_OK);
    ck_assert(out[0] == 1.0f / 3 && out[1] == 0 && out[2] == 16777216);
    ck_assert_int_eq(safetensors_read_f32(file, info, 0, 4, out, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "number 3 is not finite");
    safetensors_close(file);
    unlink(path);
}
END_TEST

enum { MANY = 40000 }; /* more than two chunks */

static struct bytes *build_many(void)
{
    struct bytes *bytes =
        build("{\"m\":{\"dtype\":\"F32\",\"shape\":[40000],\"data_offsets\":[0,160000]}}", 0);
    for (int i = 0; i < MANY; i++) {
        float number = (float)i;
        memcpy(bytes->at + bytes->len + (size_t)i * 4, &number, 4);
    }
    bytes->len += MANY * 4;
    return bytes;
}

START_TEST(safetensors_refuses_a_number_that_is_not_finite_and_gives_its_index)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    static const int places[] = {0, 5, 16383, 16384, 39999};
    static float out[MANY];
    for (int b = 0; b < 4; b++) {
        for (int p = 0; p < 5; p++) {
            struct bytes *bytes = build_many();
            struct err err = {0};
            char expected[64];
            memcpy(bytes->at + bytes->len - 4 * (size_t)(MANY - places[p]), &bad[b], 4);
            struct safetensors *file = must_open(bytes);
            read_whole(file, "m", out, &err);
            snprintf(expected, sizeof expected, "number %d is not finite", places[p]);
            ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
            ck_assert_str_eq(err.text, expected);
            safetensors_close(file);
        }
    }
}
END_TEST

START_TEST(safetensors_reads_across_chunks)
{
    static float out[MANY];
    struct err err = {0};
    struct safetensors *file = must_open(build_many());
    ck_assert_int_eq(read_whole(file, "m", out, &err), ERR_OK);
    for (int i = 0; i < MANY; i++)
        ck_assert(out[i] == (float)i);
    safetensors_close(file);
}
END_TEST

START_TEST(safetensors_reads_any_range_of_a_tensor)
{
    static const int ranges[][2] = {{0, 0}, {0, 1}, {39999, 1}, {40000, 0}, {777, 33333}};
    static float out[MANY];
    struct safetensors *file = must_open(build_many());
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        struct err err = {0};
        int first = ranges[r][0], count = ranges[r][1];
        out[count] = -1;
        safetensors_read_f32(file, safetensors_find(file, "m"), (size_t)first, (size_t)count, out,
                             &err);
        ck_assert_msg(err.code == ERR_OK, "%s", err.text);
        for (int i = 0; i < count; i++)
            ck_assert(out[i] == (float)(first + i));
        ck_assert(out[count] == -1);
    }
    safetensors_close(file);
}
END_TEST

START_TEST(safetensors_counts_a_bad_number_of_a_range_from_the_tensors_start)
{
    static float out[MANY];
    struct err err = {0};
    struct bytes *bytes = build_many();
    memcpy(bytes->at + bytes->len - 4 * (size_t)(MANY - 30000), &(float){NAN}, 4);
    struct safetensors *file = must_open(bytes);
    const struct tensor_info *info = safetensors_find(file, "m");
    ck_assert_int_eq(safetensors_read_f32(file, info, 30001, 9999, out, &err), ERR_OK);
    ck_assert_int_eq(safetensors_read_f32(file, info, 20000, 10000, out, &err), ERR_OK);
    ck_assert_int_eq(safetensors_read_f32(file, info, 29990, 20, out, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "number 30000 is not finite");
    safetensors_close(file);
}
END_TEST

START_TEST(safetensors_reports_a_file_that_shrinks_after_open)
{
    static float out[MANY];
    char path[32];
    struct err err = {0};
    struct safetensors *file;
    const struct bytes *bytes = build_many();
    int fd = memory_file(bytes->at, bytes->len, path);
    ck_assert_int_eq(safetensors_open(&file, path, &err), ERR_OK);
    ck_assert_int_eq(ftruncate(fd, 100000), 0);
    ck_assert_int_eq(read_whole(file, "m", out, &err), ERR_IO);
    ck_assert_str_eq(err.text, "became shorter while it was read (ends at byte 100000)");
    safetensors_close(file);
    close(fd);
}
END_TEST

/* xorshift64 (Marsaglia 2003): the same files on every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void mutate(struct bytes *bytes, uint64_t *random)
{
    static const char alphabet[] = "0123456789{}[],:\"\\-+.eEu tnFBI\xff\xc3\0";
    for (uint64_t edits = 1 + next_random(random) % 4; edits > 0; edits--) {
        size_t at = next_random(random) % bytes->len;
        size_t from = next_random(random) % bytes->len;
        switch (next_random(random) % 4) {
        case 0:
            bytes->at[at] = (char)next_random(random);
            break;
        case 1:
            bytes->at[at] ^= (char)(1u << next_random(random) % 8);
            break;
        case 2:
            bytes->at[at] = alphabet[next_random(random) % (sizeof alphabet - 1)];
            break;
        default:
            memmove(bytes->at + at, bytes->at + from, bytes->len - (at > from ? at : from));
        }
    }
}

START_TEST(safetensors_survives_mutated_files)
{
    const char *rounds_text = getenv("ATTND_FUZZ_ROUNDS");
    long rounds = rounds_text != NULL ? strtol(rounds_text, NULL, 10) : 4000;
    uint64_t random = 0x9E3779B97F4A7C15u;
    long accepted = 0;
    for (long i = 0; i < rounds; i++) {
        struct bytes *bytes = build(THREE_DTYPES, 22);
        struct err err = {0};
        mutate(bytes, &random);
        struct safetensors *file = open_bytes(bytes->at, bytes->len, &err);
        if (file == NULL)
            continue;
        check_consistent(file, bytes->len);
        safetensors_close(file);
        accepted++;
    }
    ck_assert_msg(rounds < 100 || accepted > 0, "no mutated file loads: nothing beyond is tested");
}
END_TEST

SUITE("safetensors", safetensors_judges_as_the_reference_reader,
      safetensors_takes_as_many_dimensions_as_it_says,
      safetensors_lists_tensors_by_name_with_their_shapes,
      safetensors_reads_f32_f16_and_bf16_as_f32, safetensors_reads_only_floating_point_tensors,
      safetensors_reads_f64_as_f32_and_takes_null_metadata,
      safetensors_refuses_a_number_that_is_not_finite_and_gives_its_index,
      safetensors_reads_across_chunks, safetensors_reads_any_range_of_a_tensor,
      safetensors_counts_a_bad_number_of_a_range_from_the_tensors_start,
      safetensors_reports_a_file_that_shrinks_after_open, safetensors_survives_mutated_files)
