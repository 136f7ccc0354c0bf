/* kernel_lines.h - one line per kernel and per linear layer, each as a share of what the machine
 * can do: of the bandwidth of the cache level that its data lives in, or of the peak. */
#ifndef ATTND_TESTS_BENCH_KERNEL_LINES_H
#define ATTND_TESTS_BENCH_KERNEL_LINES_H

#include "tests/bench/machine.h"

/* Kernels run on the calling thread, linear layers on machine->threads. */
enum err_code kernel_lines_print(const struct machine *machine, FILE *file, struct err *err);

#endif
