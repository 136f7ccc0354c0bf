/* fits_left.h - the files of a fit, from its request to the audit line of its end, so that a start
 * after a kill can tell of fits without such a line; and the number of the last fit.
 *
 *     STATE_DIR/fits/last              {"format":1,"last":7}
 *     STATE_DIR/fits/7/fit             {"format":1,"model":"wafer-vit","from_version":"1",...}
 *     STATE_DIR/fits/7/...             its inputs (fits_place.h)
 *
 * Threads: no state; a number belongs to one.
 */
#ifndef ATTND_SERVER_FITS_FITS_LEFT_H
#define ATTND_SERVER_FITS_FITS_LEFT_H

#include "server/fits/fits_job.h"

#define FITS_LEFT_FOLDER "fits" /* folder in state_dir */

/* Makes the files of a job that has its number. ERR_NOT_READY: the directory cannot be written. */
enum err_code fits_left_begin(const char *root, const struct fit_job *job, struct err *err);
/* Removes them, when the line of the fit's end is in the audit log. */
void fits_left_end(const char *root, uint64_t number);

/* The ERR_UNUSABLE of fits_left_read in that directory's folder; removes nothing. */
enum err_code fits_left_check(const char *state_dir, struct err *err);

/* Removes the fits that earlier processes left below `root`, and visits each with what is known of
 * it. *last: the highest number. ERR_UNUSABLE begins with the path: the file of the last number
 * cannot be read. */
enum err_code fits_left_read(const char *root, void (*visit)(void *context, struct fit_job *job),
                             void *context, uint64_t *last, unsigned *count, struct err *err);

#endif
