/* shipped.h - models and configurations that come with the program, found by their names: beside
 * the build in models/ and models/configs/, or below the installation's share/attnd/models/. The
 * places follow from the program's own, /proc/self/exe, so that nothing needs to be set and a copy
 * of the whole still works. Threads: pure functions. */
#ifndef ATTND_LEARN_TRAIN_LOOP_SHIPPED_H
#define ATTND_LEARN_TRAIN_LOOP_SHIPPED_H

#include "engine/base/err.h"

#include <limits.h>

/* What --model means: a path that exists is itself; else a name, which has no slash, is looked for
 * in these places. ERR_UNUSABLE lists the names that there are. */
enum err_code shipped_find(char out[PATH_MAX], const char *name, struct err *err);

/* The same for a program that lies in the folder `bin`. */
enum err_code shipped_find_from(char out[PATH_MAX], const char *bin, const char *name,
                                struct err *err);

#endif
