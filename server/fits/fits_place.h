/* fits_place.h - the directories of a fit: the one of its inputs, the one of the model that it
 * makes, and their remains after a fit that was ended in the middle.
 *
 *     STATE_DIR/fits/7/                inputs, of nobody but the server's user
 *     STATE_DIR/fits/7/out             the path of the model, for a start after a kill
 *     MODELS_ROOT/wafer-vit-2          whole, or not there
 *     MODELS_ROOT/wafer-vit-2.aB3x9Q   while attnd-fit writes it
 *
 * Threads: no state; a place belongs to one.
 */
#ifndef ATTND_SERVER_FITS_FITS_PLACE_H
#define ATTND_SERVER_FITS_FITS_PLACE_H

#include "engine/base/err.h"
#include "server/fits/fits_job.h"

#include <limits.h>

/* A version that can be a part of a directory's name: 1 to FITS_VERSION_BYTES of A-Z a-z 0-9 . _ -,
 * the first a letter or digit. ERR_UNUSABLE. */
enum err_code fits_place_check(const char *version, struct err *err);

/* The next version: "2" after "1", "v10" after "v9", "b.1" after "b". ERR_UNUSABLE: it is too long.
 */
enum err_code fits_place_next(const char *version, char out[FITS_VERSION_BYTES + 1],
                              struct err *err);

/* The directory of a fit's inputs below `root`. ERR_IO. */
enum err_code fits_place_dir(char dir[PATH_MAX], const char *root, uint64_t number,
                             struct err *err);
/* Makes it, with the file that names the fit's model; the root is made, too. ERR_IO. */
enum err_code fits_place_begin(char dir[PATH_MAX], const char *root, uint64_t number,
                               const char *out, struct err *err);

/* A directory and the files in it, if it is there. False: something stays. */
bool fits_place_remove(const char *dir);
/* Removes the partial directories that attnd-fit was writing for a model of that path. */
void fits_place_remove_partial(const char *out);

/* Removes the directory of a fit that an earlier process left, and the partial model it was
 * writing. */
void fits_place_clear(const char *dir);

#endif
