/* audit_read.h - reads an audit log from its oldest file to its newest, and follows its chain.
 *
 *     struct audit_reading reading = {.key = key, .visit = print, .context = stdout};
 *     if (audit_read(&reading, paths, count, &err))
 *         return fail(&err);                       "FILE:LINE: its "prev" is not the hash of ..."
 *     printf("%llu lines\n", reading.lines);
 *
 * A file must not be made in a weaker way than the one before it (audit_chain.h), and with a key
 * the last one must be made with it: what has no key, anybody may have written.
 *
 * The oldest file may begin at any number, since older ones may have been removed; what it begins
 * with is believed. An unfinished line at the end of the newest file is what a writer, or a kill,
 * leaves: it is told in `unfinished` and is no error.
 *
 * Threads: a reading belongs to one.
 */
#ifndef ATTND_SERVER_AUDIT_AUDIT_READ_H
#define ATTND_SERVER_AUDIT_AUDIT_READ_H

#include "server/audit/audit_chain.h"

#include <stdbool.h>

struct audit_reading {
    struct audit_key key; /* of lines that were written with one; none: there are none such */
    /* Called for each line that the chain holds, without its end of line but with a NUL. False: it
     * is enough, no more is read. NULL: only the chain is followed. */
    bool (*visit)(void *context, const char *line, size_t len);
    void *context;

    /* Result of the reading. */
    uint64_t lines;
    uint64_t first, last;        /* numbers of the first and the last line */
    char head[SHA256_HEX_BYTES]; /* the last line's hash */
    size_t unfinished;           /* bytes behind the last end of line */
    enum audit_way way;          /* of the last file */
    uint64_t keyed_from;         /* number of the first line that the key proves; 0: none */
};

/* ERR_MALFORMED: the first line that breaks the chain, or a file weaker than the one before;
 * ERR_UNSUPPORTED: a newer format; ERR_UNUSABLE: a key is needed; ERR_IO, ERR_NO_MEMORY. The text
 * begins with FILE:LINE: or FILE:. */
enum err_code audit_read(struct audit_reading *reading, char *const *paths, size_t count,
                         struct err *err);

#endif
