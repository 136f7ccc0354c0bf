#include "engine/tensor/linear/precision_speed.h"

#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

START_TEST(bf16_is_refused_where_the_cpu_does_not_multiply_it)
{
    struct err err = {0};
    ck_assert_int_eq(precision_speed_judge_bf16(false, 3, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "this CPU does not multiply bf16 natively; use f32 or int8");
}
END_TEST

START_TEST(bf16_is_refused_where_it_gains_too_little)
{
    static const double gains[] = {0, 0.52, 1, 1.09, NAN};
    for (size_t i = 0; i < sizeof gains / sizeof gains[0]; i++) {
        struct err err = {0};
        ck_assert_int_eq(precision_speed_judge_bf16(true, gains[i], &err), ERR_UNSUPPORTED);
    }
    struct err err = {0};
    precision_speed_judge_bf16(true, 0.52, &err);
    ck_assert_str_eq(err.text, "bf16 measured 0.52 x the speed of f32 on this CPU, less than 1.1 "
                               "x; use f32 or int8");
}
END_TEST

START_TEST(bf16_is_accepted_where_it_is_faster)
{
    struct err err = {0};
    ck_assert_int_eq(precision_speed_judge_bf16(true, PRECISION_GAIN_MIN, &err), ERR_OK);
    ck_assert_int_eq(precision_speed_judge_bf16(true, 8, &err), ERR_OK);
}
END_TEST

START_TEST(bf16_is_always_allowed_to_the_reference)
{
    struct err err = {0};
    const struct linear_backend *backend = NULL;
    ck_assert_int_eq(precision_speed_choose_bf16(&backend, "reference", &err), ERR_OK);
    ck_assert_ptr_eq(backend, &linear_scalar[PRECISION_BF16]);
}
END_TEST

START_TEST(bf16_is_refused_by_a_backend_without_it)
{
    struct err err = {0};
    const struct linear_backend *backend = NULL;
    ck_assert_int_eq(precision_speed_choose_bf16(&backend, "openblas", &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the linear backend 'openblas' cannot multiply in bf16");
    ck_assert_ptr_null(backend);
}
END_TEST

START_TEST(gains_are_ratios_of_times)
{
    static const struct linear_backend *const backends[] = {
        &linear_reference, &linear_native[PRECISION_F32], &linear_native[PRECISION_INT8]};
    static const struct product_shape shapes[] = {{5, 64, 40}, {3, 40, 64}};
    struct err err = {0};
    double gains[3] = {0};
    ck_assert_int_eq(precision_speed_gains(gains, backends, 3, shapes, 2, &err), ERR_OK);
    ck_assert_double_eq(gains[0], 1);
    for (int i = 1; i < 3; i++)
        ck_assert_msg(gains[i] > 0 && isfinite(gains[i]), "%g", gains[i]);
}
END_TEST

/* The speed decides if the processor multiplies bf16. Else nothing is measured. */
START_TEST(bf16_choice_on_this_machine_is_what_was_asked_for_or_the_reason)
{
    static const char *const names[] = {NULL, "auto", "native"};
    bool is_native = precision_speed_bf16_is_native();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct err err = {0};
        const struct linear_backend *backend = NULL;
        enum err_code code = precision_speed_choose_bf16(&backend, names[i], &err);
        const char *reason = is_native ? "bf16 measured " : "this CPU does not multiply bf16 ";
        if (code == ERR_OK && is_native) {
            ck_assert_int_eq(backend->precision, PRECISION_BF16);
            ck_assert(i < 2 || strncmp(backend->name, names[i], strlen(names[i])) == 0);
        } else {
            ck_assert_int_eq(code, ERR_UNSUPPORTED);
            ck_assert_int_eq(strncmp(err.text, reason, strlen(reason)), 0);
        }
    }
}
END_TEST

SUITE("precision_speed", bf16_is_refused_where_the_cpu_does_not_multiply_it,
      bf16_is_refused_where_it_gains_too_little, bf16_is_accepted_where_it_is_faster,
      bf16_is_always_allowed_to_the_reference, bf16_is_refused_by_a_backend_without_it,
      gains_are_ratios_of_times, bf16_choice_on_this_machine_is_what_was_asked_for_or_the_reason)
