/* Versions are made up here: the functions below stand before jansson's and libpng's. */
#include "engine/base/file.h"
#include "engine/base/versions.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *jansson_tells = "2.14";
static uint32_t libpng_tells = 10639;

const char *jansson_version_str(void);
uint32_t png_access_version_number(void);

const char *jansson_version_str(void)
{
    return jansson_tells;
}

uint32_t png_access_version_number(void)
{
    return libpng_tells;
}

/* Ends of the ranges, the last ones with updates that nobody has seen. */
START_TEST(versions_are_taken_from_the_oldest_tested_to_before_the_next_minor_one)
{
    static const struct {
        const char *name, *taken[4], *others[6];
    } libraries[] = {
        {"GnuTLS", {"3.7.0", "3.7.9", "3.8.99"}, {"3.6.16", "3.9.0", "2.7.0", "4.8.0"}},
        {"OpenBLAS", {"0.3.21 NO_LAPACKE", "0.3.29", "0.3.99"}, {"0.2.20", "0.4.0", "1.3.0"}},
        {"jansson", {"2.14", "2.14.1", "2.14.99"}, {"2.13.1", "2.15", "3.14"}},
        {"libpng", {"1.6.0", "1.6.39", "1.6.99"}, {"1.5.30", "1.7.0", "2.6.0"}},
        {"librdkafka", {"2.0.2", "2.8.0", "2.8.99"}, {"1.9.2", "2.9.0", "3.0.0"}},
        {"nettle", {"3.8", "3.10", "3.10.99"}, {"3.7", "3.11", "4.8"}},
        {"zlib", {"1.2.13", "1.3.1", "1.3.1.zlib-ng"}, {"1.1.4", "1.4.0", "2.2.0"}},
    };
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        const char *name = libraries[i].name;
        for (const char *const *version = libraries[i].taken; *version != NULL; version++) {
            struct err err = {0};
            ck_assert_msg(versions_judge(name, *version, &err) == ERR_OK, "%s", err.text);
        }
        for (const char *const *version = libraries[i].others; *version != NULL; version++) {
            struct err err = {0};
            ck_assert_msg(versions_judge(name, *version, &err) == ERR_UNSUPPORTED, "%s %s", name,
                          *version);
        }
    }
}
END_TEST

START_TEST(versions_errors_have_the_name_and_the_range)
{
    static const char *const cases[][3] = {
        {"GnuTLS", "3.9.0",
         "GnuTLS 3.9.0 is not supported (supported: 3.7 to 3.8.x); install that of Debian 12 or "
         "13"},
        {"OpenBLAS", NULL,
         "OpenBLAS of unknown version is not supported (supported: 0.3.x); install that of Debian "
         "12 or 13"},
        {"nettle", "next",
         "nettle next is not supported (supported: 3.8 to 3.10.x); install that of Debian 12 or "
         "13"},
        {"jansson", "a version that has no end",
         "jansson a version that has n is not supported (supported: 2.14.x); install that of "
         "Debian 12 or 13"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        ck_assert_int_eq(versions_judge(cases[i][0], cases[i][1], &err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, cases[i][2]);
    }
    struct err err = {0};
    ck_assert_int_eq(versions_judge("libnothing", "1.0", &err), ERR_INTERNAL);
}
END_TEST

/* docs/operating.md has a row for each library, with the range of the refusal. */
START_TEST(versions_in_the_document_are_those_of_the_table)
{
    static const char *const names[] = {"GnuTLS",     "OpenBLAS", "jansson", "libpng",
                                        "librdkafka", "nettle",   "zlib"};
    char *text;
    size_t len;
    struct err err = {0};
    ck_assert(!file_read(&text, &len, "docs/operating.md", 1 << 20, &err));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char row[64], range[64] = "";
        snprintf(row, sizeof row, "\n| %s ", names[i]);
        char *at = memmem(text, len, row, strlen(row));
        ck_assert_msg(at != NULL, "no row of %s", names[i]);
        ck_assert_int_eq(sscanf(at + strlen(row), "%*[^|]| %63[^|]", range) +
                             sscanf(at + strlen(row), "| %63[^|]", range),
                         1);
        range[strcspn(range, "|") - (range[strlen(range) - 1] == ' ')] = '\0';
        err = (struct err){0};
        versions_judge(names[i], "0.0", &err);
        ck_assert_msg(strstr(err.text, range) != NULL, "%s: the document says %s: %s", names[i],
                      range, err.text);
    }
    free(text);
}
END_TEST

START_TEST(versions_of_linked_libraries_are_asked_for_when_the_program_runs)
{
    struct err err = {0};
    ck_assert_msg(versions_check(&err) == ERR_OK, "%s", err.text);
    jansson_tells = "2.15.1";
    ck_assert_int_eq(versions_check(&err), ERR_UNUSABLE);
    ck_assert_str_eq(
        err.text, "jansson 2.15.1 is not supported (supported: 2.14.x); install that of Debian 12 "
                  "or 13");
    jansson_tells = "2.14.1";
    libpng_tells = 10700;
    err = (struct err){0};
    ck_assert_int_eq(versions_check(&err), ERR_UNUSABLE);
    ck_assert_str_eq(
        err.text,
        "libpng 1.7.0 is not supported (supported: 1.6.x); install that of Debian 12 or 13");
}
END_TEST

SUITE("versions", versions_are_taken_from_the_oldest_tested_to_before_the_next_minor_one,
      versions_errors_have_the_name_and_the_range, versions_in_the_document_are_those_of_the_table,
      versions_of_linked_libraries_are_asked_for_when_the_program_runs)
