/* lot_file.h - a lot out of a file of any format that is read (lot_formats.h).
 *
 *     struct lot lot;
 *     if (!lot_open(&lot, "lot.stdf", &err))
 *         lot_find(&lot, "W03", &wafer, &err);
 *     lot_close(&lot);
 *
 * Threads: any number; no state is shared.
 */
#ifndef ATTND_ENGINE_FAB_LOT_FILE_H
#define ATTND_ENGINE_FAB_LOT_FILE_H

#include "engine/fab/lot.h"

enum { LOT_FILE_BYTES_MAX = 1 << 30 }; /* also unpacked */

/* Reads a file, which may be packed as gzip. Fails as file_read_input and lot_read do; offsets are
 * those of the unpacked file. Close the lot in any case. */
enum err_code lot_open(struct lot *out, const char *path, struct err *err);

/* Reads the bytes of a file into a lot that is open and empty. ERR_UNUSABLE names the file's kind
 * if no format fits. */
enum err_code lot_read(struct lot *out, const void *bytes, size_t len, struct err *err);

#endif
