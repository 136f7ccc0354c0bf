/* picture.h - the encoded image that a data set's item names: a PNG or JPEG file as it stands, or a
 * wafer of an STDF file, drawn and made a PNG, so that whoever takes images takes wafers too.
 *
 *     struct pictures pictures = {0};
 *     picture_read(&pictures, "maps/1.png", &bytes, &len, &err);
 *     picture_read(&pictures, "lot.stdf#W03", &bytes, &len, &err);     (yours to free)
 *     pictures_close(&pictures);
 *
 * "lot.stdf" is the file's only wafer. The last STDF file stays open, as a lot's wafers are asked
 * for one after another. Threads: one at a time.
 */
#ifndef ATTND_LEARN_DATA_PICTURE_H
#define ATTND_LEARN_DATA_PICTURE_H

#include "engine/base/err.h"
#include "learn/data/stdf.h"

#include <stdbool.h>
#include <stddef.h>

struct pictures {
    char *stdf_path; /* NULL: none is open */
    struct stdf stdf;
};

/* Is it an STDF file, by its name (.stdf, .std, either with .gz), or a wafer of one? *file_len: the
 * length of the file's part; *wafer: behind the #, NULL if there is none. */
bool picture_is_stdf(const char *path, size_t *file_len, const char **wafer);

/* As file_read_input and stdf.h. Yours to free. */
enum err_code picture_read(struct pictures *pictures, const char *path, char **bytes, size_t *len,
                           struct err *err);
void pictures_close(struct pictures *pictures);

#endif
