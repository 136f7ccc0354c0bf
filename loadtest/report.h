/* report.h - the tally as a table for people or as one JSON object for machines. */
#ifndef ATTND_LOADTEST_REPORT_H
#define ATTND_LOADTEST_REPORT_H

#include "engine/base/err.h"
#include "loadtest/tally.h"

#include <stdio.h>

void report_text(const struct tally *tally, FILE *file);

/* One line. ERR_NO_MEMORY. */
enum err_code report_json(const struct tally *tally, FILE *file, struct err *err);

#endif
