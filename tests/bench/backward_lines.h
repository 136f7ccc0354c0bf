/* backward_lines.h - one line per gradient and optimiser kernel, each as a share of the bandwidth
 * of the cache level that its data lives in. */
#ifndef ATTND_TESTS_BENCH_BACKWARD_LINES_H
#define ATTND_TESTS_BENCH_BACKWARD_LINES_H

#include "tests/bench/machine.h"

/* Measures on the calling thread. */
enum err_code backward_lines_print(const struct machine *machine, FILE *file, struct err *err);

#endif
