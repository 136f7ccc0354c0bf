/* The forms of a vector: the numbers are those of quantize_embeddings (sentence-transformers 6.2).
 */
#include "tests/support/suite.h"
#include "wire/vector_form.h"

#include <math.h>
#include <string.h>

enum { SIZE = 10 };

static const float least[SIZE] = {-1, -1, -1, -1, -1, 0, 0, 2, -3, -1};
static const float largest[SIZE] = {1, 1, 1, 1, 1, 0.5f, 0, 2, 3, 1};
static const struct engine_info info = {
    .task = ENGINE_EMBED, .vector_size = SIZE, .vector_least = least, .vector_largest = largest};
static const float vector[SIZE] = {-1, -0.5f, 0, 0.5f, 1, 7, -2, 2.5f, 0.1f, -0.1f};

static void expect_integers(enum vector_encoding encoding, unsigned dimensions, unsigned count,
                            const int *expected)
{
    const struct vector_form form = {.encoding = encoding, .dimensions = dimensions};
    ck_assert_uint_eq(vector_form_count(&form, &info), count);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(vector_form_integer(&form, &info, vector, i), expected[i]);
}

START_TEST(a_vector_is_encoded_as_quantize_embeddings_does)
{
    expect_integers(VECTOR_UINT8, 0, SIZE,
                    (const int[]){0, 63, 127, 191, 254, 255, 0, 0, 131, 114});
    expect_integers(VECTOR_INT8, 0, SIZE,
                    (const int[]){-128, -65, -1, 63, 126, 127, -128, -128, 3, -14});
    expect_integers(VECTOR_UBINARY, 0, 2, (const int[]){29, 128});
    expect_integers(VECTOR_BINARY, 0, 2, (const int[]){-99, 0});
    expect_integers(VECTOR_BINARY, 5, 1, (const int[]){-104});
    ck_assert_uint_eq(vector_form_size(&(struct vector_form){.dimensions = 3}, &info), 3);
    ck_assert_uint_eq(vector_form_size(&(struct vector_form){0}, &info), SIZE);
}
END_TEST

START_TEST(a_cut_vector_is_scaled_only_if_asked)
{
    float cut[SIZE], lines[2][SIZE];
    const struct engine_input input = {.part_count = 2, .row_size = SIZE};
    struct engine_result result = {.vector = cut, .rows = lines[0]};
    memcpy(cut, vector, sizeof cut);
    memcpy(lines[0], vector, sizeof cut);
    memcpy(lines[1], vector, sizeof cut);
    vector_form_scale(&(struct vector_form){.dimensions = 2}, &info, &input, &result);
    ck_assert_mem_eq(cut, vector, sizeof cut);
    ck_assert_mem_eq(lines[1], vector, sizeof cut);
    vector_form_scale(&(struct vector_form){.dimensions = 2, .is_scaled = true}, &info, &input,
                      &result);
    ck_assert_float_eq_tol(cut[0], -2 / sqrtf(5), 1e-7f);
    ck_assert_float_eq_tol(cut[1], -1 / sqrtf(5), 1e-7f);
    ck_assert_float_eq(cut[2], vector[2]);
    ck_assert_mem_eq(lines[0], cut, sizeof cut);
    ck_assert_mem_eq(lines[1], cut, sizeof cut);
}
END_TEST

START_TEST(a_form_that_a_model_cannot_give_is_refused_by_name)
{
    static const struct engine_info plain = {.task = ENGINE_EMBED, .vector_size = SIZE},
                                    other = {.task = ENGINE_CLASSIFY};
    const struct {
        const struct engine_info *info;
        struct vector_form form;
        const char *text;
    } wrong[] = {
        {&other, {.dimensions = 1}, "dimensions, encoding, normalize: the model answers no"},
        {&other, {.encoding = VECTOR_BINARY}, "dimensions, encoding, normalize"},
        {&other, {.is_scaled = true}, "dimensions, encoding, normalize"},
        {&plain, {.dimensions = SIZE + 1}, "dimensions: the model's vectors have 10 numbers, 11"},
        {&plain, {.encoding = VECTOR_INT8}, "encoding: int8 needs a range for each number"},
        {&info, {.encoding = VECTOR_UINT8, .is_scaled = true}, "encoding: the ranges for uint8"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err err = {0};
        ck_assert_int_eq(vector_form_check(&wrong[i].form, wrong[i].info, &err), ERR_UNUSABLE);
        ck_assert_msg(strstr(err.text, wrong[i].text) != NULL, "%s", err.text);
    }
    struct err err = {0};
    ck_assert(!vector_form_check(&(struct vector_form){0}, &other, &err));
    ck_assert(!vector_form_check(&(struct vector_form){.encoding = VECTOR_INT8}, &info, &err));
    ck_assert(!vector_form_check(&(struct vector_form){.dimensions = SIZE}, &plain, &err));
}
END_TEST

START_TEST(an_encoding_is_found_by_its_whole_name)
{
    enum vector_encoding found;
    for (int i = 0; i < VECTOR_ENCODINGS; i++) {
        const char *name = vector_encoding_name((enum vector_encoding)i);
        ck_assert(vector_encoding_find(name, strlen(name), &found) && (int)found == i);
        ck_assert(!vector_encoding_find(name, strlen(name) - 1, &found));
    }
}
END_TEST

SUITE("vector_form", a_vector_is_encoded_as_quantize_embeddings_does,
      a_cut_vector_is_scaled_only_if_asked, a_form_that_a_model_cannot_give_is_refused_by_name,
      an_encoding_is_found_by_its_whole_name)
