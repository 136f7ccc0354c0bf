/* writing_report.h - the report of a model that writes texts (struct writing_assessment), as
 * report/task_report.h has the others. Threads: no state. */
#ifndef ATTND_LEARN_EVAL_TEXTS_WRITING_REPORT_H
#define ATTND_LEARN_EVAL_TEXTS_WRITING_REPORT_H

#include "learn/eval/report/task_report.h"
#include "learn/eval/texts/writing_assessment.h"

extern const struct task_report_kind task_report_texts;

#endif
