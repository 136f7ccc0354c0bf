#include "server/http/http.h"
#include "server/http/http_request.h"
#include "tests/support/suite.h"

#include <microhttpd.h>
#include <string.h>

START_TEST(library_knows_the_versions_of_debian_12_and_13_and_their_updates)
{
    static const struct {
        const char *version;
        int option, level;
        bool is_lax;
    } rows[] = {
        {"0.9.75", MHD_OPTION_STRICT_FOR_CLIENT, -1, true},
        {"0.9.77", MHD_OPTION_STRICT_FOR_CLIENT, -1, true},
        {"1.0.0", 38, 3, false},
        {"1.0.1", 38, 3, false},
        {"1.0.99", 38, 3, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct library library;
        struct err err = {0};
        ck_assert_int_eq(library_identify(&library, rows[i].version, &err), ERR_OK);
        ck_assert_int_eq(library.strict_option, rows[i].option);
        ck_assert_int_eq(library.strict_level, rows[i].level);
        ck_assert_int_eq(library.is_lax, rows[i].is_lax);
    }
}
END_TEST

START_TEST(library_refuses_every_other_version_by_name_and_ranges)
{
    static const char *const versions[] = {"0.9.74", "0.9.78", "0.10.0", "0.9.750", "1.1.0",
                                           "2.0.1",  "1.0",    "",       "1.0.x",   NULL};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct library library;
        struct err err = {0};
        ck_assert_int_eq(library_identify(&library, versions[i], &err), ERR_UNUSABLE);
        if (versions[i] != NULL)
            ck_assert_ptr_nonnull(strstr(err.text, versions[i]));
        ck_assert_ptr_nonnull(strstr(err.text, "0.9.75 to 0.9.77 and 1.0.x"));
    }
}
END_TEST

START_TEST(library_takes_what_is_linked)
{
    struct err err = {0};
    ck_assert_int_eq(http_check_library(&err), ERR_OK);
}
END_TEST

SUITE("library", library_knows_the_versions_of_debian_12_and_13_and_their_updates,
      library_refuses_every_other_version_by_name_and_ranges, library_takes_what_is_linked)
