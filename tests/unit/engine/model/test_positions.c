/* positions.h: grids of numbers at another size. */
#include "engine/model/positions.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

/* torch.nn.functional.interpolate(mode="bicubic", align_corners=False), PyTorch 2.15. */
START_TEST(positions_resize_as_pytorch_does)
{
    static const float in[] = {1, -2, 3, 4, 0.5f, -1, 2, 7, -3};
    static const float up[] = {0.995392f, -0.838304f, -2.240000f, 0.989345f,  3.923904f,
                               2.673376f, 0.608793f,  -1.497998f, 0.119049f,  1.888638f,
                               4.336000f, 2.749999f,  0.500000f,  -0.669999f, -1.144000f,
                               2.832064f, 4.154646f,  4.658000f,  0.389912f,  -3.200319f,
                               1.249665f, 4.843359f,  7.624001f,  1.423359f,  -4.230336f};
    static const float down[] = {0.842430f, 1.177238f, 3.543007f, -0.698952f};
    float out[25];
    positions_resize(out, extent_square(5), in, extent_square(3), 1, false);
    for (int i = 0; i < 25; i++)
        ck_assert_float_eq_tol(out[i], up[i], 2e-5f);
    positions_resize(out, extent_square(2), in, extent_square(3), 1, false);
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq_tol(out[i], down[i], 2e-5f);
    positions_resize(out, extent_square(3), in, extent_square(3), 1, false);
    ck_assert_mem_eq(out, in, sizeof in);
}
END_TEST

/* The same with antialias=True, PyTorch 2.9: wider filters where the grid shrinks, other weights
 * where it grows. */
START_TEST(positions_resize_antialiased_as_pytorch_does)
{
    static const float in[] = {0, 1, 4, 9, 2, 5, 3, 8, 6};
    static const float up[] = {-0.8002844f, -0.2510559f, 0.9245283f, 2.9441004f, 4.1509428f,
                               3.6022246f,  2.4591222f,  1.0820894f, 3.0702832f, 4.5492816f,
                               9.5283013f,  6.4104476f,  2.0f,       3.6343291f, 5.2264147f,
                               5.4747944f,  5.6703048f,  5.9402990f, 5.7997885f, 5.6754432f,
                               2.1014597f,  4.7250071f,  8.4528294f, 7.1737528f, 5.8960481f};
    static const float down[] = {2.4634793f, 3.0982940f, 5.6386614f, 5.7970877f};
    static const float five[] = {3.1666987f, 6.3436937f, 3.3153594f, 5.0011954f, 5.1640224f};
    float out[25], seven[49];
    positions_resize(out, extent_square(5), in, extent_square(3), 1, true);
    for (int i = 0; i < 25; i++)
        ck_assert_float_eq_tol(out[i], up[i], 1e-5f);
    positions_resize(out, extent_square(2), in, extent_square(3), 1, true);
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq_tol(out[i], down[i], 1e-5f);
    for (int i = 0; i < 49; i++)
        seven[i] = (float)(i * 37 % 11);
    positions_resize(out, extent_square(5), seven, extent_square(7), 1, true);
    for (int i = 0; i < 5; i++)
        ck_assert_float_eq_tol(out[i], five[i], 1e-5f);
}
END_TEST

/* Each column of numbers is a grid of its own, and what lies behind the last is nobody's. */
START_TEST(positions_keep_their_columns_apart)
{
    enum { WIDTH = 3, FROM = 4, TO = 7 };
    float in[FROM * FROM * WIDTH], out[TO * TO * WIDTH + 1], plane[FROM * FROM], one[TO * TO];
    numbers_fill(in, FROM * FROM * WIDTH, 1, 8);
    out[TO * TO * WIDTH] = 123;
    positions_resize(out, extent_square(TO), in, extent_square(FROM), WIDTH, false);
    ck_assert_float_eq(out[TO * TO * WIDTH], 123);
    for (size_t c = 0; c < WIDTH; c++) {
        for (size_t i = 0; i < FROM * FROM; i++)
            plane[i] = in[i * WIDTH + c];
        positions_resize(one, extent_square(TO), plane, extent_square(FROM), 1, false);
        for (size_t i = 0; i < TO * TO; i++)
            ck_assert_float_eq(out[i * WIDTH + c], one[i]);
    }
}
END_TEST

/* The weights of the four neighbours add up to 1, at the edge too. */
START_TEST(positions_of_one_value_stay_that_value)
{
    float in[25], out[13 * 13];
    for (int i = 0; i < 25; i++)
        in[i] = 2.5f;
    for (size_t to = 1; to <= 24; to++) {
        positions_resize(out, extent_square(to / 2 + 1), in, extent_square(5), 1, to % 2 == 0);
        for (size_t i = 0; i < (to / 2 + 1) * (to / 2 + 1); i++)
            ck_assert_float_eq_tol(out[i], 2.5f, 1e-6f);
    }
}
END_TEST

/* MarianSinusoidalPositionalEmbedding: sines of all frequencies, then their cosines. */
START_TEST(sines_come_before_cosines)
{
    enum { COUNT = 70, EVEN = 6, ODD = 5 };
    float even[COUNT * EVEN], odd[COUNT * ODD];
    positions_sines(even, COUNT, EVEN);
    positions_sines(odd, COUNT, ODD);
    for (size_t p = 0; p < COUNT; p++) {
        for (size_t i = 0; i < 3; i++) {
            const double angle = (double)p / pow(10000, 2.0 * (double)i / EVEN);
            ck_assert_double_eq_tol(even[p * EVEN + i], sin(angle), 1e-7);
            ck_assert_double_eq_tol(even[p * EVEN + 3 + i], cos(angle), 1e-7);
        }
        ck_assert_double_eq_tol(odd[p * ODD + 2], sin((double)p / pow(10000, 4.0 / ODD)), 1e-7);
        ck_assert_double_eq_tol(odd[p * ODD + 3], cos((double)p), 1e-7);
    }
}
END_TEST

/* M2M100SinusoidalPositionalEmbedding: the last frequency is 1 / 10000; the padding has none. */
START_TEST(sines_of_fairseq_leave_out_the_padding)
{
    enum { COUNT = 40, WIDTH = 9, HALF = 4 };
    float out[COUNT * WIDTH];
    positions_sines_fairseq(out, COUNT, WIDTH, 1);
    for (size_t p = 0; p < COUNT; p++)
        for (size_t i = 0; i < HALF; i++) {
            const double angle = (double)p * pow(10000, -(double)i / (HALF - 1));
            ck_assert_double_eq_tol(out[p * WIDTH + i], p == 1 ? 0 : sin(angle), 1e-5);
            ck_assert_double_eq_tol(out[p * WIDTH + HALF + i], p == 1 ? 0 : cos(angle), 1e-5);
            ck_assert_float_eq(out[p * WIDTH + WIDTH - 1], 0);
        }
    positions_sines_fairseq(out, COUNT, 3, 1); /* one frequency */
    ck_assert_double_eq_tol(out[2 * 3], sin(2), 1e-6);
}
END_TEST

SUITE("positions", positions_resize_as_pytorch_does, positions_resize_antialiased_as_pytorch_does,
      positions_keep_their_columns_apart, positions_of_one_value_stay_that_value,
      sines_come_before_cosines, sines_of_fairseq_leave_out_the_padding)
