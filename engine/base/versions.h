/* versions.h - the versions of external libraries that attnd works with, in one table, except
 * libmicrohttpd's (server/http/library.c).
 *
 *     if (versions_check(&err))                                 what this program is linked with
 *         return err.code;
 *     if (versions_judge("OpenBLAS", "0.3.21", &err))           what it has opened
 *         return err.code;
 *
 * A soname tells the binary interface, not that the version was tested: Debian 12 and 13 have
 * different libraries with the same sonames. A range begins with the oldest version tested and ends
 * before the minor version after the newest, so security updates are accepted.
 *
 * libjpeg and libb64 do not tell their version; libjpeg compares its interface with the caller's
 * whenever a decoder is made.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_BASE_VERSIONS_H
#define ATTND_ENGINE_BASE_VERSIONS_H

#include "engine/base/err.h"

/* name: a name in the table. version: "3.7.9", more may follow; NULL: the library does not tell it.
 * ERR_UNSUPPORTED with name, version and range. */
enum err_code versions_judge(const char *name, const char *version, struct err *err);

/* Checks each library of the table that this program is linked with. ERR_UNUSABLE for the first
 * that is outside its range. */
enum err_code versions_check(struct err *err);

#endif
