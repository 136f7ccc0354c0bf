/* report_tables.h - writes the tables of the page. Each is a whole <table>, which scrolls if it is
 * wide. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_TABLES_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_TABLES_H

#include "learn/eval/report/report.h"

/* Above this many labels the matrix becomes a list of the most frequent confusions. */
enum { REPORT_TABLES_LABELS_MAX = 40 };

void report_tables_classes(const struct report *report, FILE *file);
void report_tables_matrix(const struct report *report, FILE *file);
/* ERR_NO_MEMORY. */
enum err_code report_tables_confusions(const struct report *report, FILE *file, struct err *err);
void report_tables_calibration(const struct report *report, FILE *file);
void report_tables_decisions(const struct report *report, FILE *file);
void report_tables_epochs(const struct report *report, FILE *file);
/* report->change must not be NULL. */
void report_tables_change(const struct report *report, FILE *file);
void report_tables_agreement(const struct report *report, FILE *file);

#endif
