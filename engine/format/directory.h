/* directory.h - looks at a directory that should be a Hugging Face checkpoint, so that the error
 * for one that cannot be read names its kind and the next command.
 *
 *     if (directory_check(dir, &err))               // before any file of it is read
 *         return err.code;
 *     return directory_no_weights(dir, &err);       // nothing in it is model.safetensors
 *
 * Threads: pure functions of the file system.
 */
#ifndef ATTND_ENGINE_FORMAT_DIRECTORY_H
#define ATTND_ENGINE_FORMAT_DIRECTORY_H

#include "engine/base/err.h"

/* ERR_UNSUPPORTED for an archive or another file in place of a directory; for a directory without
 * config.json, naming what it is (an adapter, a directory above the model, another format); and for
 * a file that would be read and is a Git LFS pointer or a dangling link. ERR_IO: there is no such
 * directory. */
enum err_code directory_check(const char *dir, struct err *err);

/* ERR_UNSUPPORTED, always: the text names the directory's weights other than model.safetensors. */
enum err_code directory_no_weights(const char *dir, struct err *err);

#endif
