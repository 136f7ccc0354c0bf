/* pattern_parts.h - Thompson's construction: a regular expression's parts, each a state that takes
 * a byte or none. Private to pattern.c, which makes sets of them. Threads: one at a time. */
#ifndef ATTND_ENGINE_GENERATE_PATTERN_PARTS_H
#define ATTND_ENGINE_GENERATE_PATTERN_PARTS_H

#include "engine/base/err.h"
#include "engine/generate/pattern.h"

#include <stddef.h>
#include <stdint.h>

enum part_kind {
    PART_BYTE,   /* takes a byte of low to high, goes to `next` */
    PART_EITHER, /* goes to `next` and to `other` */
    PART_GO,     /* goes to `next` */
    PART_END     /* the whole has matched */
};

struct part {
    uint8_t kind, low, high;
    uint16_t next, other;
};

struct pattern_parts {
    struct part at[PATTERN_PARTS_MAX];
    unsigned count;
    unsigned start;
};

/* Reads pattern[len]; from every part a way leads to PART_END. ERR_UNUSABLE as pattern_compile. */
enum err_code pattern_parts_read(struct pattern_parts *out, const char *name, const char *pattern,
                                 size_t len, struct err *err);

#endif
