/* text_file.h - what a file of text holds, in one way for every program, as the server reads a body
 * of text/plain. Threads: no state.
 */
#ifndef ATTND_ENGINE_CONTENT_TEXT_FILE_H
#define ATTND_ENGINE_CONTENT_TEXT_FILE_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A file's bytes become its text: gzip is unpacked, UTF-16 with a byte order mark becomes UTF-8,
 * and a mark is left out. Other bytes that are not UTF-8 stay. *bytes is malloc's, and may be
 * exchanged; on an error it is freed and NULL. ERR_MALFORMED: damaged gzip; ERR_TOO_LARGE: gzip of
 * more than bytes_max; ERR_UNUSABLE: half a character of UTF-16; ERR_NO_MEMORY. */
enum err_code text_file_decode(char **bytes, size_t *len, size_t bytes_max, struct err *err);

/* True if the path ends so, or so and in ".gz", in letters of either case: ".csv". */
bool text_file_ends(const char *path, const char *ending);

#endif
