/* explanations_gallery.h - explanations drawn for a reader, method beside method. Threads: one a
 * file. */
#ifndef ATTND_LEARN_EVAL_REPORT_EXPLANATIONS_GALLERY_H
#define ATTND_LEARN_EVAL_REPORT_EXPLANATIONS_GALLERY_H

#include "learn/eval/explain/explanations.h"

#include <stdio.h>

/* Heat maps over images, or shaded words. An input that cannot be read any more is left out.
 * ERR_NO_MEMORY. */
enum err_code explanations_gallery(const struct explanations *explanations, FILE *file,
                                   struct err *err);

#endif
