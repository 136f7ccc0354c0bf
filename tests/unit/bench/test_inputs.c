#include "tests/bench/inputs.h"
#include "tests/support/suite.h"

#include <math.h>

START_TEST(inputs_of_a_mixed_batch_are_as_long_as_the_header_says)
{
    unsigned sum = 0, longest = 0, shortest = 1000;
    for (unsigned r = 0; r < INPUTS_MIXED_ROWS; r++) {
        unsigned tokens = inputs_mixed_tokens(r);
        sum += tokens;
        longest = tokens > longest ? tokens : longest;
        shortest = tokens < shortest ? tokens : shortest;
    }
    ck_assert_uint_eq(sum, INPUTS_MIXED_TOKENS);
    ck_assert_uint_eq(longest, 256);
    ck_assert_uint_eq(shortest, 8);
}
END_TEST

START_TEST(inputs_are_the_numbers_that_a_peer_makes)
{
    struct inputs inputs;
    struct err err = {0};
    struct engine_info text = {.vocab_size = 30522, .tokens_max = 512, .label_count = 1};
    ck_assert_int_eq(inputs_texts(&inputs, &text, 2, 9, &err), ERR_OK);
    ck_assert_int_eq(inputs.rows[1]->ids[8], 1000 + (8 * 7919 + 104729) % 29000);
    ck_assert_uint_eq(inputs.tokens, 18);
    inputs_free(&inputs);
}
END_TEST

START_TEST(inputs_lay_pixels_out_in_patches)
{
    struct inputs inputs;
    struct err err = {0};
    struct engine_info image = {.image_height = 8,
                                .image_width = 8,
                                .patch_size = {4, 4},
                                .tokens_max = 5,
                                .label_count = 1};
    ck_assert_int_eq(inputs_images(&inputs, &image, 2, &err), ERR_OK);
    /* Patch 3 begins at row 4, column 4; its channel 2, y 1, x 3 is pixel (2, 5, 7). */
    unsigned pixel = (2 * 8 + 5) * 8 + 7;
    float expected = (float)sin(0.37 * pixel + 1);
    ck_assert_float_eq(inputs.rows[1]->patches[3 * 48 + 2 * 16 + 1 * 4 + 3], expected);
    inputs_free(&inputs);
}
END_TEST

START_TEST(inputs_longer_than_the_model_reads_are_refused)
{
    struct inputs inputs;
    struct err err = {0};
    struct engine_info text = {.vocab_size = 100, .tokens_max = 16, .label_count = 1};
    ck_assert_int_eq(inputs_texts(&inputs, &text, 1, 17, &err), ERR_UNUSABLE);
    inputs_free(&inputs);
}
END_TEST

SUITE("inputs", inputs_of_a_mixed_batch_are_as_long_as_the_header_says,
      inputs_are_the_numbers_that_a_peer_makes, inputs_lay_pixels_out_in_patches,
      inputs_longer_than_the_model_reads_are_refused)
