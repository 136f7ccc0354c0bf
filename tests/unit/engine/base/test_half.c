#include "engine/base/half.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ALL = 65536 };

static uint16_t every[ALL];
static float widened[ALL];

static void fill(void)
{
    for (int i = 0; i < ALL; i++)
        every[i] = (uint16_t)i;
}

/* The definition of IEEE 754 binary16, in double arithmetic. */
static double f16_by_definition(unsigned half)
{
    int exponent = half >> 10 & 31;
    double fraction = half & 1023;
    double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

START_TEST(half_widens_every_f16_exactly)
{
    fill();
    half_f16_to_f32(widened, every, ALL);
    for (unsigned i = 0; i < ALL; i++) {
        double expected = f16_by_definition(i);
        ck_assert_msg(isnan(expected) ? isnan(widened[i]) : widened[i] == expected, "half %04x", i);
        ck_assert_int_eq(!!signbit(widened[i]), i >> 15);
    }
}
END_TEST

START_TEST(half_widens_every_bf16_as_the_upper_half_of_an_f32)
{
    fill();
    half_bf16_to_f32(widened, every, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t bits;
        memcpy(&bits, &widened[i], sizeof bits);
        ck_assert_uint_eq(bits, i << 16);
    }
}
END_TEST

START_TEST(half_writes_no_more_than_count)
{
    fill();
    for (size_t count = 0; count < 40; count++) {
        for (int i = 0; i < 64; i++)
            widened[i] = -7.0f;
        half_f16_to_f32(widened, every + 0x3C00, count);
        for (size_t i = 0; i < 64; i++)
            ck_assert_int_eq(widened[i] == -7.0f, i >= count);
        uint16_t narrowed[64] = {0};
        half_f32_to_f16(narrowed, widened, count);
        for (size_t i = 0; i < 64; i++)
            ck_assert_uint_eq(narrowed[i], i < count ? 0x3C00 + i : 0);
    }
}
END_TEST

static void expect_narrowed(float number, uint16_t expected)
{
    uint16_t found;
    half_f32_to_f16(&found, &number, 1);
    ck_assert_msg(found == expected, "%a: %04x instead of %04x", (double)number, found, expected);
}

/* Every finite f16 number comes back; between two neighbours the half-way point goes to the even
 * one, and what lies just beside it to the nearer one: rounding has no other case. */
START_TEST(half_narrows_to_the_nearest_f16_and_ties_to_even)
{
    fill();
    half_f16_to_f32(widened, every, ALL);
    for (uint16_t sign = 0, half = 0;; half++) {
        float low = widened[sign + half];
        expect_narrowed(low, (uint16_t)(sign + half));
        if (half == 0x7BFF && sign != 0)
            break;
        if (half == 0x7BFF) {
            sign = 0x8000;
            half = (uint16_t)-1;
            continue;
        }
        float middle = low + (widened[sign + half + 1] - low) / 2;
        expect_narrowed(middle, (uint16_t)(sign + half + (half & 1)));
        expect_narrowed(nextafterf(middle, 0), (uint16_t)(sign + half));
        expect_narrowed(nextafterf(middle, 2 * middle), (uint16_t)(sign + half + 1));
    }
}
END_TEST

START_TEST(half_narrows_what_is_too_large_to_an_infinity)
{
    expect_narrowed(65504.0f, 0x7BFF);
    expect_narrowed(nextafterf(65520.0f, 0), 0x7BFF);
    expect_narrowed(65520.0f, 0x7C00);
    expect_narrowed(-3e38f, 0xFC00);
    expect_narrowed(INFINITY, 0x7C00);
    expect_narrowed(0x1p-140f, 0);
    expect_narrowed(-0.0f, 0x8000);
    uint16_t found;
    half_f32_to_f16(&found, &(float){NAN}, 1);
    ck_assert_uint_gt(found & 0x7FFF, 0x7C00);
}
END_TEST

SUITE("half", half_widens_every_f16_exactly, half_widens_every_bf16_as_the_upper_half_of_an_f32,
      half_writes_no_more_than_count, half_narrows_to_the_nearest_f16_and_ties_to_even,
      half_narrows_what_is_too_large_to_an_infinity)
