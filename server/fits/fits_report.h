/* fits_report.h - the main figures of the report that attnd-fit leaves in a model's directory.
 *
 *     {"before": {"inputs", "accuracy", "accuracy_interval", "macro_f1", "macro_f1_interval",
 *                 "f1": {label: {"f1", "f1_interval"}}}, "after": {the same}}
 *
 * as report.json has them, without the paths of the models. If that is more than FITS_TEXT_BYTES,
 * "f1" is left out on both sides.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_FITS_FITS_REPORT_H
#define ATTND_SERVER_FITS_FITS_REPORT_H

#include "engine/base/err.h"

/* Yours to free; NULL in *out if the report has none. ERR_IO, ERR_MALFORMED, ERR_NO_MEMORY. */
enum err_code fits_report_read(char **out, const char *dir, struct err *err);

#endif
