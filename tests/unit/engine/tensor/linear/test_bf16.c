#include "engine/base/cpu.h"
#include "engine/tensor/linear/bf16.h"
#include "engine/tensor/linear/onednn.h"
#include "engine/tensor/tile_state.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

START_TEST(bf16_is_refused_where_the_cpu_does_not_multiply_it)
{
    struct err err = {0};
    ck_assert_int_eq(bf16_judge(false, 3, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "this CPU does not multiply bf16 natively; use f32 or int8");
}
END_TEST

START_TEST(bf16_is_refused_where_it_gains_too_little)
{
    static const double gains[] = {0, 0.52, 1, 1.09, NAN};
    for (size_t i = 0; i < sizeof gains / sizeof gains[0]; i++) {
        struct err err = {0};
        ck_assert_int_eq(bf16_judge(true, gains[i], &err), ERR_UNSUPPORTED);
    }
    struct err err = {0};
    bf16_judge(true, 0.52, &err);
    ck_assert_str_eq(err.text, "bf16 measured 0.52 x the speed of f32 on this CPU, less than 1.1 "
                               "x; use f32 or int8");
}
END_TEST

START_TEST(bf16_is_accepted_where_it_is_faster)
{
    struct err err = {0};
    ck_assert_int_eq(bf16_judge(true, BF16_GAIN_MIN, &err), ERR_OK);
    ck_assert_int_eq(bf16_judge(true, 8, &err), ERR_OK);
}
END_TEST

START_TEST(bf16_is_always_allowed_to_the_reference)
{
    struct err err = {0};
    const struct linear_backend *backend = NULL;
    ck_assert_int_eq(bf16_choose(&backend, "reference", &err), ERR_OK);
    ck_assert_ptr_eq(backend, &linear_scalar[PRECISION_BF16]);
}
END_TEST

START_TEST(bf16_is_refused_by_a_backend_that_has_none)
{
    struct err err = {0};
    const struct linear_backend *backend = NULL;
    ck_assert_int_eq(bf16_choose(&backend, "openblas", &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the linear backend 'openblas' cannot multiply in bf16");
    ck_assert_ptr_null(backend);
}
END_TEST

START_TEST(bf16_gain_is_a_ratio_of_two_times)
{
    struct err err = {0};
    double gain = 0;
    ck_assert_int_eq(bf16_gain(&gain, &linear_reference, &linear_native[PRECISION_F32], &err),
                     ERR_OK);
    ck_assert_msg(gain > 0 && isfinite(gain), "%g", gain);
}
END_TEST

/* Where the processor multiplies bf16 how fast it does so decides; where not nothing is measured. */
START_TEST(bf16_choice_on_this_machine_is_what_was_asked_for_or_the_reason)
{
    static const char *const names[] = {NULL, "auto", "native",
                                        ONEDNN_IS_BUILT ? "onednn" : "native"};
    bool is_native = cpu_has_bf16() || tile_state_permitted();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct err err = {0};
        const struct linear_backend *backend = NULL;
        enum err_code code = bf16_choose(&backend, names[i], &err);
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

SUITE("bf16", bf16_is_refused_where_the_cpu_does_not_multiply_it,
      bf16_is_refused_where_it_gains_too_little, bf16_is_accepted_where_it_is_faster,
      bf16_is_always_allowed_to_the_reference, bf16_is_refused_by_a_backend_that_has_none,
      bf16_gain_is_a_ratio_of_two_times,
      bf16_choice_on_this_machine_is_what_was_asked_for_or_the_reason)
