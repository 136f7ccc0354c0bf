/* report_mistakes.h - writes the wrong answers with the highest scores: images (at most 128 pixels
 * a side, each a PNG inside the page) and the first lines of texts. An image that can no longer be
 * read is only named. ERR_NO_MEMORY. */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_MISTAKES_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_MISTAKES_H

#include "learn/eval/report/report.h"

enum err_code report_mistakes_print(const struct report *report, FILE *file, struct err *err);

#endif
