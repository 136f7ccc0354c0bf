/* positions.h: grids of numbers at another size. */
#include "learn/train/network/positions.h"
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
    positions_resize(out, 5, in, 3, 1);
    for (int i = 0; i < 25; i++)
        ck_assert_float_eq_tol(out[i], up[i], 2e-5f);
    positions_resize(out, 2, in, 3, 1);
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq_tol(out[i], down[i], 2e-5f);
    positions_resize(out, 3, in, 3, 1);
    ck_assert_mem_eq(out, in, sizeof in);
}
END_TEST

/* Each column of numbers is a grid of its own, and what lies behind the last is nobody's. */
START_TEST(positions_keep_their_columns_apart)
{
    enum { WIDTH = 3, FROM = 4, TO = 7 };
    float in[FROM * FROM * WIDTH], out[TO * TO * WIDTH + 1], plane[FROM * FROM], one[TO * TO];
    numbers_fill(in, FROM * FROM * WIDTH, 1, 8);
    out[TO * TO * WIDTH] = 123;
    positions_resize(out, TO, in, FROM, WIDTH);
    ck_assert_float_eq(out[TO * TO * WIDTH], 123);
    for (size_t c = 0; c < WIDTH; c++) {
        for (size_t i = 0; i < FROM * FROM; i++)
            plane[i] = in[i * WIDTH + c];
        positions_resize(one, TO, plane, FROM, 1);
        for (size_t i = 0; i < TO * TO; i++)
            ck_assert_float_eq(out[i * WIDTH + c], one[i]);
    }
}
END_TEST

/* The weights of the four neighbours add up to 1, at the edge too. */
START_TEST(positions_of_one_value_stay_that_value)
{
    float in[25], out[12 * 12];
    for (int i = 0; i < 25; i++)
        in[i] = 2.5f;
    for (size_t to = 1; to <= 12; to++) {
        positions_resize(out, to, in, 5, 1);
        for (size_t i = 0; i < to * to; i++)
            ck_assert_float_eq_tol(out[i], 2.5f, 1e-6f);
    }
}
END_TEST

SUITE("positions", positions_resize_as_pytorch_does, positions_keep_their_columns_apart,
      positions_of_one_value_stay_that_value)
