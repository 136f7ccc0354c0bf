/* written.h - the files that a try writes, which must be as those of a try that nothing disturbed.
 *
 *     written_keep(&written, folder, files, 3);           (after a try while nothing fails)
 *     ... in a try: return written_outcome(&written, &err, why, size);
 *     written_free(&written);
 *
 * A try that is refused may have written them or not; what is there is whole, and no unfinished
 * write is left behind. Threads: one, the test's.
 */
#ifndef ATTND_TESTS_TORTURE_WRITTEN_H
#define ATTND_TESTS_TORTURE_WRITTEN_H

#include "tests/torture/drill.h"

enum { WRITTEN_MAX = 8 };

enum written_kind {
    WRITTEN_SAME,     /* byte for byte */
    WRITTEN_TIMED,    /* but for its numbers, of which some are times */
    WRITTEN_IN_STEPS, /* byte for byte in the end; one that is refused may leave an earlier one */
};

struct written_file {
    const char *name;
    enum written_kind kind;
};

struct written {
    const char *folder;
    const struct written_file *files; /* [count]; borrowed */
    unsigned count;                   /* 0: nothing is known yet, and every try is right */
    char *bytes[WRITTEN_MAX];
    size_t lens[WRITTEN_MAX];
};

void written_keep(struct written *out, const char *folder, const struct written_file *files,
                  unsigned count);
void written_free(struct written *written);

enum drill_outcome written_outcome(const struct written *written, const struct err *err, char *why,
                                   size_t size);

#endif
