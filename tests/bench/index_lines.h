/* index_lines.h - lines on the index of past inputs (engine/index): a million vectors of 384
 * numbers in 2000 clusters, built, opened and searched, in each element type; beside the plain
 * products in fp32, which tell the recall, too. */
#ifndef ATTND_TESTS_BENCH_INDEX_LINES_H
#define ATTND_TESTS_BENCH_INDEX_LINES_H

#include "engine/base/err.h"

#include <stdio.h>

/* Writes a file of 0.8 GB in the folder, and removes it. Takes 2.5 GB of memory, and minutes. */
enum err_code index_lines_print(const char *folder, unsigned threads, FILE *file, struct err *err);

#endif
