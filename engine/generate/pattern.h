/* pattern.h - a regular expression as an automaton over the bytes of UTF-8. Hostile input: every
 * bound is checked before the work that it bounds.
 *
 *     pattern_compile(&automaton, "pattern", "[A-Z]{2}[0-9]+(-[0-9]{2})?", len, &arena, &err)
 *
 * The whole text must match; "^" in front and "$" at the end say so and change nothing.
 *
 *     a b ( ) (?: ) |         one after the other, groups, either
 *     * + ? {2} {2,} {2,5}    repetition
 *     .                       any character but a line feed
 *     [a-f_] [^a-f]           a character of a set, or of none of it
 *     \d \w \s \D \W \S       digits, letters and digits and "_", white space of ASCII; all others
 *     \t \n \r \f \v \x41 \u00E9    characters by name or code point; a backslash before
 *                             punctuation takes it as it is
 *
 * What is no regular language or no question of a whole text is refused by name: references back,
 * assertions, lazy and possessive repetition, flags.
 *
 * Thompson's construction (1968) makes states of which sets become those of the automaton (Rabin
 * and Scott 1959); code points become ranges of bytes as in RE2 (Cox 2010, "Regular Expression
 * Matching in the Wild"). No C library of Debian gives such an automaton to walk byte by byte:
 * PCRE2 and TRE match without one, RE2 and Hyperscan (C++) hide theirs and do not tell whether an
 * end can still be reached, foma has Xerox' notation and no bounds. Threads: pure function.
 */
#ifndef ATTND_ENGINE_GENERATE_PATTERN_H
#define ATTND_ENGINE_GENERATE_PATTERN_H

#include "engine/generate/automaton.h"

#include <stddef.h>

enum {
    PATTERN_BYTES_MAX = 4096,
    PATTERN_STATES_MAX = 4096,   /* of the automaton */
    PATTERN_PARTS_MAX = 32768,   /* states of Thompson's construction */
    PATTERN_REPEAT_MAX = 1000,   /* in braces */
    PATTERN_NESTING_MAX = 64,    /* of groups */
    PATTERN_TABLE_MAX = 1 << 20, /* bytes of the automaton's steps */
    PATTERN_WORK_MAX = 16 << 20, /* parts looked at while sets are made, some tens of ms */
};

/* Compiles pattern[len], which error texts call `name`. ERR_UNUSABLE, with the byte offset or the
 * limit that is exceeded; the text never contains the pattern. Takes pattern_compile_bytes, 5 MB,
 * while it runs, and from the arena the table: at most PATTERN_TABLE_MAX and a byte a state. */
enum err_code pattern_compile(struct automaton *out, const char *name, const char *pattern,
                              size_t len, struct arena *arena, struct err *err);
size_t pattern_compile_bytes(void);

#endif
