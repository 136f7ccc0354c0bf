/* batch_fixture.h - what the tests of attnd-batch share: a small model whose answers hang on the
 * text, logs, and the program run in the background.
 *
 *     batch_fixture_open(&fixture, 1000);                 model, and log.txt of so many lines
 *     pid_t pid = batch_start(&fixture, (const char *[]){"--lines", fixture.log, NULL});
 *     ck_assert_int_eq(batch_wait(pid, &kilobytes), 0);
 *     batch_fixture_close(&fixture);
 *
 * Any failure fails the test. Threads: one.
 */
#ifndef ATTND_TESTS_SUPPORT_BATCH_FIXTURE_H
#define ATTND_TESTS_SUPPORT_BATCH_FIXTURE_H

#include "tests/support/checkpoint_writer.h"
#include "tests/support/tempdir.h"

#include <sys/types.h>

struct batch_fixture {
    struct checkpoint_writer model;
    struct tempdir dir;
    char log[128], out[128], state[160];
};

void batch_fixture_open(struct batch_fixture *fixture, unsigned lines);
void batch_fixture_write_log(const struct batch_fixture *fixture, unsigned lines);
void batch_fixture_close(struct batch_fixture *fixture);

/* Starts attnd-batch with this model and log, and --out. Its output goes nowhere. */
pid_t batch_start(const struct batch_fixture *fixture, const char *const *more);
/* The exit status, -1 if a signal ended it; the most memory that it had (NULL: not asked). */
int batch_wait(pid_t pid, long *kilobytes);
/* Number of inputs that are done by the state; 0 if there is no state. */
unsigned batch_done(const struct batch_fixture *fixture);

#endif
