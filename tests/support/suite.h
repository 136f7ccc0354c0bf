/* suite.h - the main() of every unit test, over the check library.
 *
 *     START_TEST(arena_returns_aligned_memory) { ... } END_TEST
 *     SUITE("arena", arena_returns_aligned_memory, ...)
 *
 * Names are claims. Tests are independent of order; each runs in a process of its own (CK_FORK=no
 * in the environment runs them in one, for a debugger or a sanitizer). Programs run from the
 * repository's root, so fixtures are "tests/data/...".
 */
#ifndef ATTND_TESTS_SUPPORT_SUITE_H
#define ATTND_TESTS_SUPPORT_SUITE_H

#include <check.h>

/* Ends the test in whose body it stands, which cannot be made here and now, and says why:
 *
 *     skipped: TEST: WHY
 *
 * tests/run-units.sh counts these lines and shows them. A test that only returns says that it has
 * passed. */
#define suite_skip(why)                                                                            \
    do {                                                                                           \
        suite_skipped(__func__, why);                                                              \
        return;                                                                                    \
    } while (0)

/* The same line for a part of a test; the test goes on. */
void suite_skipped(const char *test, const char *why);

/* The running test may end with so many more open descriptors than it began with: a library that is
 * not ours keeps them. Every other test must end with as many as it began with. */
void suite_forgive_descriptors(unsigned count);

/* Runs the listed tests, each with a time limit of a minute; the exit code of main. */
int suite_run(const char *name, const TTest *const *tests, int count);

#define SUITE(name, ...)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return suite_run(name, tests, (int)(sizeof tests / sizeof tests[0]));                      \
    }

#endif
