/* edits.h - how far a text that was written is from the right one: the characters that must be put
 * in, taken out or replaced (Levenshtein 1966).
 *
 *     edits_count("timeoutup", 9, "timeout up", 10, &arena, &edits, &err)      edits.count 1 of 10
 *
 * 64 cells of the table are one word (Myers 1999, "A fast bit-vector algorithm for approximate
 * string matching based on dynamic programming"; blocks as in Hyyro 2003): two texts of 4096
 * characters without anything in common take 1.2 ms (x86-64), a table of whole numbers 53 ms.
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_ENGINE_STATISTICS_EDITS_H
#define ATTND_ENGINE_STATISTICS_EDITS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>

struct edits {
    unsigned count;
    unsigned characters; /* of the right text */
};

/* Both are UTF-8. ERR_NO_MEMORY. */
enum err_code edits_count(const char *written, size_t written_len, const char *right,
                          size_t right_len, struct arena *scratch, struct edits *out,
                          struct err *err);

#endif
