/* grey_png.h - writes 8-bit grey pixels as a PNG. Threads: any. */
#ifndef ATTND_ENGINE_DATA_GREY_PNG_H
#define ATTND_ENGINE_DATA_GREY_PNG_H

#include "engine/base/err.h"

#include <stddef.h>

/* grey: [height, width]; sides from 1 to 16384. *bytes are yours to free. */
enum err_code grey_png_write(const unsigned char *grey, unsigned width, unsigned height,
                             char **bytes, size_t *len, struct err *err);

#endif
