/* explanations_gallery.h - draws explanations on a page, one method beside the other. Threads: one
 * for each file. */
#ifndef ATTND_LEARN_EVAL_REPORT_EXPLANATIONS_GALLERY_H
#define ATTND_LEARN_EVAL_REPORT_EXPLANATIONS_GALLERY_H

#include "learn/eval/explain/explanations.h"

#include <stdio.h>

/* Writes heat maps over images, or shaded words. An input that can no longer be read is left out.
 * ERR_NO_MEMORY. */
enum err_code explanations_gallery(const struct explanations *explanations, FILE *file,
                                   struct err *err);

#endif
