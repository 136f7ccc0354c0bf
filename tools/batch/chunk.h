/* chunk.h - some inputs that follow each other, from their reading to the lines of their answers:
 * what one thread works on at a time. Where a chunk begins follows from the inputs alone, never
 * from time, so that a run that goes on makes the very batches that an unbroken one makes.
 *
 * Threads: a chunk has one holder at a time (batch_run.c). */
#ifndef ATTND_TOOLS_BATCH_CHUNK_H
#define ATTND_TOOLS_BATCH_CHUNK_H

#include "engine/base/arena.h"
#include "engine/base/sha256.h"
#include "tools/batch/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CHUNK_INPUTS = 64,
    CHUNK_BYTES = 4 * 1024 * 1024,
    CHUNK_FAILURE_BYTES = sizeof((struct err *)0)->text
};

struct chunk {
    struct record records[CHUNK_INPUTS]; /* their bytes are the arena's */
    unsigned count;
    struct arena arena;

    /* Sums over all inputs up to the end of the chunk. */
    uint64_t inputs, progress, progress_total;
    char digest[SHA256_HEX_BYTES];

    /* The answer. */
    char *lines; /* [lines_len], of open_memstream */
    size_t lines_len;
    unsigned failed;
    char failure[CHUNK_FAILURE_BYTES]; /* the first that failed, and why; "" if none did */
    bool is_done;
};

/* Counts an input that failed, for `why`. */
static inline void chunk_fail(struct chunk *chunk, const char *why)
{
    if (chunk->failed++ == 0)
        snprintf(chunk->failure, sizeof chunk->failure, "%s", why);
}

#endif
