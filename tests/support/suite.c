#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The function that START_TEST makes of a name ends in "_fn". */
void suite_skipped(const char *test, const char *why)
{
    size_t len = strlen(test);
    if (len > 3 && strcmp(test + len - 3, "_fn") == 0)
        len -= 3;
    printf("skipped: %.*s: %s\n", (int)len, test, why);
    fflush(stdout); /* a test of its own process may end by a signal */
}

static unsigned open_before;

/* Descriptors of this process, with the one that lists them. */
static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void remember_descriptors(void)
{
    open_before = descriptors();
}

void suite_forgive_descriptors(unsigned count)
{
    open_before += count;
}

static void expect_the_same_descriptors(void)
{
    unsigned now = descriptors();
    ck_assert_msg(now == open_before, "the test began with %u descriptors and ends with %u",
                  open_before, now);
}

/* The sanitizers have their time several times. */
unsigned suite_patience_s(void)
{
    const char *times = getenv("CK_TIMEOUT_MULTIPLIER");
    return 200 * (times != NULL ? (unsigned)strtoul(times, NULL, 10) : 1);
}

int suite_patience_ms(void)
{
    return (int)suite_patience_s() * 1000;
}

long suite_seconds(void)
{
    return (long)time(NULL); /* some tests have a monotonic clock of their own */
}

bool suite_rest(long since)
{
    usleep(2000);
    return suite_seconds() - since < (long)suite_patience_s();
}

int suite_run(const char *name, const TTest *const *tests, int count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    /* Ends a test that hangs, on a machine that has ten times as much to do as it can. */
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, remember_descriptors, expect_the_same_descriptors);
    for (int i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
