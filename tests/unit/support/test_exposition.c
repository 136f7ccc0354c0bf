/* The tests' own reader must be able to fail, or the tests that use it cannot. */
#include "tests/support/exposition.h"
#include "tests/support/suite.h"

#include <string.h>

static struct exposition *parse(const char *text)
{
    char problem[EXPOSITION_PROBLEM_BYTES];
    return exposition_parse(text, strlen(text), problem);
}

#define HEAD "# HELP a_total Help.\n# TYPE a_total counter\n"
#define HISTOGRAM "# HELP h Help.\n# TYPE h histogram\n"

START_TEST(exposition_accepts_a_good_page)
{
    struct exposition *page =
        parse(HEAD "a_total{l=\"x\\\\\\\"\\n\",m=\"\"} 1\na_total{l=\"y\"} 2.5e3\n" HISTOGRAM
                   "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n");
    ck_assert_ptr_nonnull(page);
    ck_assert_double_eq(exposition_value(page, "a_total{l=\"y\"}"), 2500);
    ck_assert_uint_eq(exposition_samples(page), 6);
    ck_assert(exposition_has_family(page, "h") && !exposition_has_family(page, "g"));
    exposition_free(page);
}
END_TEST

START_TEST(exposition_accepts_a_negative_sum_of_what_may_be_negative)
{
    struct exposition *page =
        parse(HISTOGRAM "h_bucket{le=\"-1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum -3\nh_count 2\n");
    ck_assert_ptr_nonnull(page);
    ck_assert_double_eq(exposition_value(page, "h_sum"), -3);
    exposition_free(page);
}
END_TEST

START_TEST(exposition_refuses_bad_pages)
{
    static const char *const bad[] = {
        "a_total 1\n",
        "# HELP a_total Help.\na_total 1\n",
        "# TYPE a_total counter\na_total 1\n",
        HEAD "a_total 1",
        HEAD "a_total  1\n",
        HEAD "a_total 1 2\n",
        HEAD "a_total\n",
        HEAD "a_total x\n",
        HEAD "a_total -1\n",
        HEAD "a_total NaN\n",
        HEAD "b_total 1\n",
        HEAD "a_total 1\na_total 2\n",
        HEAD "a_total{l=\"x\"} 1\na_total{l=\"x\"} 1\n",
        HEAD "a_total{l=\"x\",l=\"y\"} 1\n",
        HEAD "a_total{0=\"x\"} 1\n",
        HEAD "a_total{__l=\"x\"} 1\n",
        HEAD "a_total{l=\"x} 1\n",
        HEAD "a_total{l=\"\\x\"} 1\n",
        HEAD "a_total{l=\"x\" m=\"y\"} 1\n",
        HEAD "a_total{le=\"1\"} 1\n",
        HEAD "a_total{l=\"\xFF\"} 1\n",
        HEAD "a_total 1\n" HEAD,
        HEAD "a_total 1\n# HELP b B.\n# TYPE b gauge\nb 1\n" HEAD "a_total 2\n",
        "# HELP a A.\n# TYPE a counter\n",
        "# HELP a_total A.\n# TYPE a_total gauge\n",
        "# HELP a A.\n# TYPE a thing\n",
        "# comment\n",
        HISTOGRAM "h 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        HISTOGRAM "h_bucket{le=\"+Inf\"} 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\n"
                  "h_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"0\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum -1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"-1\"} -1\nh_bucket{le=\"+Inf\"} 1\nh_sum -1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"-1\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum -Inf\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"x\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(parse(bad[i]) == NULL, "%s", bad[i]);
}
END_TEST

SUITE("exposition", exposition_accepts_a_good_page,
      exposition_accepts_a_negative_sum_of_what_may_be_negative, exposition_refuses_bad_pages)
