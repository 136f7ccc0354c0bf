#include "engine/explain/explanation.h"
#include "tests/support/suite.h"

#include <string.h>

static const struct {
    enum explain_method method;
    const char *name;
} methods[] = {{EXPLAIN_ROLLOUT, "rollout"},
               {EXPLAIN_ATTENTION, "attention"},
               {EXPLAIN_GRADIENT, "gradient"},
               {EXPLAIN_GRADIENT_LAST, "gradient-last"},
               {EXPLAIN_ALIGNMENT, "alignment"}};
enum { METHODS = sizeof methods / sizeof methods[0] };

START_TEST(each_method_is_found_by_the_name_that_it_has)
{
    ck_assert_int_eq(METHODS, EXPLAIN_METHODS);
    for (int i = 0; i < METHODS; i++) {
        enum explain_method found = EXPLAIN_METHODS;
        ck_assert_str_eq(method_name(methods[i].method), methods[i].name);
        ck_assert(method_find(methods[i].name, &found));
        ck_assert_int_eq(found, methods[i].method);
    }
    ck_assert_str_eq(method_names(), "rollout, attention, gradient, gradient-last, alignment");
}
END_TEST

START_TEST(no_other_name_is_a_method)
{
    static const char *const others[] = {"", "default", "Rollout", "gradient-", "gradient-last "};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        enum explain_method found = EXPLAIN_METHODS;
        ck_assert(!method_find(others[i], &found));
        ck_assert_int_eq(found, EXPLAIN_METHODS);
    }
}
END_TEST

START_TEST(images_are_explained_by_rollout_and_texts_by_the_last_gradient)
{
    ck_assert_int_eq(method_default(ENGINE_IMAGE), EXPLAIN_ROLLOUT);
    ck_assert_int_eq(method_default(ENGINE_TEXT), EXPLAIN_GRADIENT_LAST);
}
END_TEST

SUITE("explanation", each_method_is_found_by_the_name_that_it_has, no_other_name_is_a_method,
      images_are_explained_by_rollout_and_texts_by_the_last_gradient)
