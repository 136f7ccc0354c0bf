/* library.h - identifies the version of libmicrohttpd that is linked, and how to make it strict.
 *
 *     struct library library;
 *     if (library_identify(&library, MHD_get_version(), &err))
 *         return err.code;                                   the version is none that was tested
 *
 * Debian 12 has 0.9.75 and Debian 13 has 1.0.1 under the same soname, so the version is asked for
 * when the program runs, not when it is compiled. By MHD_get_version, since 0.9.75 has no
 * MHD_get_version_bin.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_HTTP_LIBRARY_H
#define ATTND_SERVER_HTTP_LIBRARY_H

#include "engine/base/err.h"

#include <stdbool.h>

struct library {
    int strict_option, strict_level; /* for MHD_start_daemon */
    bool is_lax;                     /* it takes what layout.h has to refuse */
};

/* ERR_UNUSABLE, with the version and the ranges, for a version outside them or no version. */
enum err_code library_identify(struct library *out, const char *version, struct err *err);

#endif
