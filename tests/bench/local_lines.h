/* local_lines.h - lines that show that the time of local attention grows with a text's length and
 * not with its square: one head at several lengths, beside attention to all tokens. */
#ifndef ATTND_TESTS_BENCH_LOCAL_LINES_H
#define ATTND_TESTS_BENCH_LOCAL_LINES_H

#include "engine/base/err.h"

#include <stdio.h>

/* Measures on the calling thread. */
enum err_code local_lines_print(FILE *file, struct err *err);

#endif
