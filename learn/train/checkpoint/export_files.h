/* export_files.h - writes the files beside the weights of a checkpoint directory from those of
 * another directory. Errors name the path. Threads: one at a time in a directory. */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_EXPORT_FILES_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_EXPORT_FILES_H

#include "engine/base/err.h"
#include "engine/vision/region.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes a directory unless it is there. */
enum err_code export_files_make_dir(const char *dir, struct err *err);

/* Copies SOURCE/NAME to DIR/NAME; if there is no SOURCE/NAME, removes DIR/NAME. Sets *found (may be
 * NULL). */
enum err_code export_files_copy(const char *dir, const char *source, const char *name, bool *found,
                                struct err *err);

/* Copies the tokenizer's files. model_max_length becomes tokens_max unless that is 0 or more
 * than the source's.
 * ERR_UNSUPPORTED if there is no vocabulary. */
enum err_code export_files_tokenizer(const char *dir, const char *source, unsigned tokens_max,
                                     struct err *err);

/* Writes preprocessor_config.json, or the file that the source has in its place (preprocess.h), for
 * another image size. A file that yields that size already is copied. Else the crop, or without a
 * crop the size, becomes image_size, and a size before a crop is scaled with it. `source_size` is
 * the source model's. ERR_UNSUPPORTED if the source has none. */
enum err_code export_files_preprocessor(const char *dir, const char *source,
                                        const char *family_class, struct extent source_size,
                                        struct extent image_size, struct err *err);

#endif
