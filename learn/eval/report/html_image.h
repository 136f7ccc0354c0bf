/* html_image.h - writes an image of a data set into a page, shrunk so that no side has more than
 * 128 pixels. Threads: one for each file. */
#ifndef ATTND_LEARN_EVAL_REPORT_HTML_IMAGE_H
#define ATTND_LEARN_EVAL_REPORT_HTML_IMAGE_H

#include "learn/data/picture.h"

#include <stdio.h>

/* Size at which an image is shown, in pixels. */
struct html_image {
    unsigned width, height;
};

/* Writes an <img> of the picture that picture_read reads; nothing if it cannot be read. */
enum err_code html_image(FILE *file, struct pictures *pictures, const char *path,
                         struct html_image *shown, struct err *err);
void html_image_png(FILE *file, const char *png, size_t len);

#endif
