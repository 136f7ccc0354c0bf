/* suite.h - what every unit test is written with, over the check library.
 *
 *     START_TEST(arena_returns_aligned_memory) { ... } END_TEST
 *     SUITE("arena", arena_returns_aligned_memory, ...)
 *
 * Names are claims. Tests are independent of order; each runs in a process of its own (CK_FORK=no
 * in the environment runs them in one, for a debugger or a sanitizer). Programs run from the
 * repository's root, so fixtures are "tests/data/...".
 *
 * The suites of a folder of tests/unit are linked into one program, its runner (runner.c); a test
 * that defines a function which is not static stays a program of its own (tests/alone.sh).
 */
#ifndef ATTND_TESTS_SUPPORT_SUITE_H
#define ATTND_TESTS_SUPPORT_SUITE_H

#include <check.h>

#include <stdbool.h>

/* Ends the test in whose body it stands, which cannot be made here and now, and says why:
 *
 *     skipped: TEST: WHY
 *
 * tests/run-units.sh counts these lines and shows them. A test that only returns says that it has
 * passed. */
#define suite_skip(why)                                                                            \
    do {                                                                                           \
        (void)_i; /* of START_TEST: in another function it would not end the test */               \
        suite_skipped(__func__, why);                                                              \
        return;                                                                                    \
    } while (0)

/* The same line for a part of a test; the test goes on. */
void suite_skipped(const char *test, const char *why);

/* The running test may end with so many more open descriptors than it began with: a library that is
 * not ours keeps them. Every other test must end with as many as it began with. */
void suite_forgive_descriptors(unsigned count);

/* How long a test waits for what must come: less than its own time, so that the wait is told, and
 * more than any machine needs. */
unsigned suite_patience_s(void);
int suite_patience_ms(void); /* the same, for poll */

/* Waits until the condition holds, which is looked at every other millisecond. A test waits for what
 * it needs and never for a time: a machine may have ten times as much to do as it can. */
#define suite_await(condition)                                                                     \
    do {                                                                                           \
        const long suite_since = suite_seconds();                                                  \
        while (!(condition))                                                                       \
            ck_assert_msg(suite_rest(suite_since), "not in %u s: %s", suite_patience_s(),          \
                          #condition);                                                             \
    } while (0)

/* For suite_await: the time; and a rest, false if patience has ended since. */
long suite_seconds(void);
bool suite_rest(long since);

/* Runs the listed tests, each with a time limit of five minutes; 0 if all passed. */
int suite_run(const char *name, const TTest *const *tests, int count);

/* One of a program's suites; name: of the suite, file: of its source. */
struct suite {
    const char *name, *file;
    int (*run)(void);
    struct suite *next;
};

/* Called before main. */
void suite_add(struct suite *suite);

/* call runs suite_count tests, suite_tests; 0 if all passed. */
#define SUITE_BY(name_, call, ...)                                                                 \
    static int suite_run_it(void)                                                                  \
    {                                                                                              \
        const TTest *const suite_tests[] = {__VA_ARGS__};                                          \
        const int suite_count = (int)(sizeof suite_tests / sizeof suite_tests[0]);                 \
        return call;                                                                               \
    }                                                                                              \
    __attribute__((constructor)) static void suite_add_it(void)                                    \
    {                                                                                              \
        static struct suite suite = {.name = name_, .file = __FILE__, .run = suite_run_it};        \
        suite_add(&suite);                                                                         \
    }
#define SUITE(name, ...) SUITE_BY(name, suite_run(name, suite_tests, suite_count), __VA_ARGS__)

#endif
