/* test_safetensors_errors.c - every rule broken in turn, and what the reader says to it. */
#include "tests/unit/engine/format/fixture.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Each breaks one rule; the second string is the error that must come. */
static const struct {
    const char *header;
    size_t data;
    const char *error;
} broken[] = {
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,9007199254740993]}}", 4,
     "tensor 'a': data_offsets 0 to 9007199254740993 do not lie in the 4 bytes of data: "
     "if the file is cut off, fetch it again"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,18446744073709551620]}}", 4,
     "header: number out of range at byte 70"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
     "tensor 'a': data_offsets 4 to 0 do not lie in the 4 bytes of data: if the file is "
     "cut off, fetch it again"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4,
     "tensor 'a': data_offsets: expected an array of two offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
     "tensor 'a': data_offsets: expected an array of two offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":\"04\"}}", 4,
     "tensor 'a': data_offsets: expected an array of two offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 0,
     "tensor 'a': data_offsets[0]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}}", 4,
     "tensor 'a': data_offsets[1]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape[0]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,\"1\"],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape[1]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e0],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape[0]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[[1]],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape[0]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[null],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape[0]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1,-1],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape[0]: expected an integer of at least 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape: expected an array, found a number"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape: expected an array, found an object"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': shape has 9 dimensions; the limit is 8"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}", 0,
     "tensor 'a': the product of the shape overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': the size in bytes overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': 4 bytes of data, but dtype and shape need 8"},
    {"{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': dtype 'f32' is not supported"},
    {"{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': dtype: expected a string, found a number"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4,
     "tensor 'a': expected an object of exactly dtype, shape and data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
     "tensor 'a': expected an object of exactly dtype, shape and data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":null,\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': expected an object of exactly dtype, shape and data_offsets"},
    {"{\"a\":[]}", 0, "tensor 'a': expected an object of exactly dtype, shape and data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
     8, "header: duplicate key in a JSON object at byte 57"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "header: duplicate key in a JSON object at byte 27"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2,
     "tensor 'a': bytes of no tensor before it (begins at byte 62 of the file instead of 61)"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
     3,
     "tensor 'b': overlaps the tensor before it (begins at byte 114 of the file instead of 115)"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}",
     2,
     "tensor 'b': overlaps the tensor before it (begins at byte 114 of the file instead of 115)"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 3,
     "the last tensor ends at byte 63, but the file has 64"},
    {"{}", 1, "the last tensor ends at byte 10, but the file has 11"},
    {"{\"__metadata__\":{\"format\":1}}", 0, "__metadata__: expected only strings, found a number"},
    {"{\"__metadata__\":[]}", 0, "__metadata__: expected an object, found an array"},
    {"[]", 0, "header: expected an object, found an array"},
    {"{}{}", 0, "header: more bytes after the JSON value at byte 3"},
    {"", 0, "header: JSON ends too early at byte 0"},
    {"{\"a\":[[[[[]]]]]}", 0, "header: JSON nested deeper than 4 levels at byte 8"},
    {"{\"\\u0000\":{}}", 0, "header: not valid JSON at byte 9 (line 1)"},
    {"{\"a\":1e999}", 0, "header: number out of range at byte 10"},
};

START_TEST(safetensors_names_the_rule_that_is_broken)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct err err = {0};
        const struct bytes *bytes = build(broken[i].header, broken[i].data);
        ck_assert_ptr_null(open_bytes(bytes->at, bytes->len, &err));
        ck_assert_msg(err.code == ERR_UNSUPPORTED, "%s: %s", broken[i].header, err.text);
        ck_assert_str_eq(err.text, broken[i].error);
    }
}
END_TEST

START_TEST(safetensors_cleans_and_cuts_names_in_error_texts)
{
    char header[2000];
    struct err err = {0};
    snprintf(header, sizeof header, "{\"line\\nbreak\\u001b%0900d\":7}", 0);
    const struct bytes *bytes = build(header, 0);
    ck_assert_ptr_null(open_bytes(bytes->at, bytes->len, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "tensor 'line?break?00"));
    ck_assert_ptr_nonnull(strstr(err.text, "exactly dtype"));
}
END_TEST

static void must_refuse_path(const char *path, const char *text)
{
    struct safetensors *file = (struct safetensors *)&scratch;
    struct err err = {0};
    ck_assert_int_eq(safetensors_open(&file, path, &err), ERR_IO);
    ck_assert_ptr_null(file);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_str_eq(err.text, text);
}

START_TEST(safetensors_refuses_what_is_not_a_regular_file)
{
    char dir[] = "/tmp/attnd-test-XXXXXX";
    char fifo[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    must_refuse_path(fifo, "is a FIFO; a regular file is needed");
    must_refuse_path(dir, "cannot be read: Is a directory");
    unlink(fifo);
    must_refuse_path(fifo, "cannot be opened: No such file or directory");
    rmdir(dir);
}
END_TEST

/* The header's length is bounded by what a header may have, and by what the file has. */
START_TEST(safetensors_believes_no_header_length)
{
    static const struct {
        uint64_t header;
        size_t file;
        const char *error;
    } cases[] = {
        {0, 0, "has 0 bytes; a safetensors file begins with a header length of 8"},
        {0, 7, "has 7 bytes; a safetensors file begins with a header length of 8"},
        {0, 8, "header: JSON ends too early at byte 0"},
        {1, 8, "is cut off, or no safetensors file: a header of 1 bytes, but the file has only 8"},
        {3, 10, "is cut off, or no safetensors file: a header of 3 bytes, but the file "
         "has only 10"},
        {2, 10, "header: not valid JSON at byte 2 (line 1)"},
        {100000000, 10, "is cut off, or no safetensors file: a header of 100000000 "
         "bytes, but the file has only 10"},
        {100000001, 10, "is no safetensors file: its header would have 100000001 bytes; "
         "the limit is 100000000"},
        {0x0102030405060708, 10, "is no safetensors file: its header would have "
         "72623859790382856 bytes; the limit is 100000000"},
        {0x505954434F44213C, 10, "is a text, such as the page of a failed download, and "
         "no safetensors file: fetch it again"},
        {UINT64_MAX, 10, "is no safetensors file: its header would have "
         "18446744073709551615 bytes; the limit is 100000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[16] = {0};
        struct err err = {0};
        memcpy(bytes, &cases[i].header, 8);
        memcpy(bytes + 8, "xy", 2);
        ck_assert_ptr_null(open_bytes(bytes, cases[i].file, &err));
        ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, cases[i].error);
    }
}
END_TEST

/* The header is "[,,,...": it has as many tokens as bytes. */
START_TEST(safetensors_bounds_the_tokens_of_its_header)
{
    enum { TOKENS_MAX = 2000000 };
    for (size_t tokens = TOKENS_MAX; tokens <= TOKENS_MAX + 1; tokens++) {
        char *bytes = malloc(8 + tokens);
        struct err err = {0};
        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, &(uint64_t){tokens}, 8);
        memset(bytes + 8, ',', tokens);
        bytes[8] = '[';
        ck_assert_ptr_null(open_bytes(bytes, 8 + tokens, &err));
        ck_assert_str_eq(err.text, tokens <= TOKENS_MAX
                                       ? "header: not valid JSON at byte 2 (line 1)"
                                       : "header: more than 2000000 JSON tokens at byte 2000000");
        free(bytes);
    }
}
END_TEST

START_TEST(safetensors_refuses_a_file_cut_at_any_byte)
{
    const struct bytes *bytes = build(THREE_DTYPES, 22);
    for (size_t len = 0; len < bytes->len; len++) {
        struct err err = {0};
        ck_assert_msg(open_bytes(bytes->at, len, &err) == NULL, "cut at %zu", len);
        ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
    }
}
END_TEST

/* The header's own length made to fit, so that the JSON parser sees every cut. */
START_TEST(safetensors_refuses_a_header_cut_at_any_byte)
{
    static const char header[] = THREE_DTYPES;
    for (size_t len = 0; len < sizeof header - 1; len++) {
        char cut[sizeof header] = {0};
        struct err err = {0};
        memcpy(cut, header, len);
        const struct bytes *bytes = build(cut, 22);
        ck_assert_msg(open_bytes(bytes->at, bytes->len, &err) == NULL, "cut at %zu", len);
    }
}
END_TEST

SUITE("safetensors_errors", safetensors_names_the_rule_that_is_broken,
      safetensors_cleans_and_cuts_names_in_error_texts,
      safetensors_refuses_what_is_not_a_regular_file, safetensors_believes_no_header_length,
      safetensors_bounds_the_tokens_of_its_header, safetensors_refuses_a_file_cut_at_any_byte,
      safetensors_refuses_a_header_cut_at_any_byte)
