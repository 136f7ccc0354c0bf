#include "engine/base/interrupt.h"
#include "tests/support/look_counter.h"
#include "tests/support/suite.h"

START_TEST(work_without_an_interrupt_goes_on)
{
    struct err err = {0};
    ck_assert_int_eq(interrupt_look(NULL, &err), ERR_OK);
    ck_assert_int_eq(err.code, ERR_OK);
}
END_TEST

START_TEST(an_interrupt_ends_the_work_with_its_own_error)
{
    struct err err = {0};
    struct look_counter counter;
    struct interrupt *interrupt = look_counter_init(&counter, 2);
    ck_assert_int_eq(interrupt_look(interrupt, &err), ERR_OK);
    ck_assert_int_eq(interrupt_look(interrupt, &err), ERR_DEADLINE);
    ck_assert_int_eq(err.code, ERR_DEADLINE);
    ck_assert_str_eq(err.text, "enough");
}
END_TEST

START_TEST(an_interrupt_is_asked_once_in_its_interval_unless_it_said_no)
{
    struct err err = {0};
    struct look_counter counter;
    struct interrupt *interrupt = look_counter_init(&counter, 0);
    interrupt->interval_ns = UINT64_C(3600) * CLOCK_NS_PER_S;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(interrupt_look(interrupt, &err), ERR_OK);
    ck_assert_uint_eq(counter.looks, 1);
    interrupt->next_ns = 0;
    counter.last = 2;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(interrupt_look(interrupt, &err), ERR_DEADLINE);
    ck_assert_uint_eq(counter.looks, 6);
}
END_TEST

SUITE("interrupt", work_without_an_interrupt_goes_on, an_interrupt_ends_the_work_with_its_own_error,
      an_interrupt_is_asked_once_in_its_interval_unless_it_said_no)
