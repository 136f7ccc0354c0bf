/* ngrams.h - a text as hashed n-grams: its stretches of one to three words, each a row of a table
 * (ngram_table.h).
 *
 * A word is a run of letters, digits and underscores, and of any bytes beyond ASCII; ASCII letters
 * become lower case. A run with a digit is `#`, and successive `#`s count once: addresses, times
 * and counters look alike. Two blocks of the text are read separately, because a word in a line
 * about a crash means something else than elsewhere:
 *
 *   NGRAM_LINES  the first `key_lines` lines with one of the key words in them
 *   NGRAM_HEAD   the first `characters` characters
 *
 * An n-gram's row is a hash of block and words (Weinberger et al. 2009, "Feature hashing for large
 * scale multitask learning"), its value 1 + ln(count in the block). Each block's values are scaled
 * to a vector of length 1, then all of them together. Hashes are FNV-1a of 64 bits; the same text
 * gives the same numbers on every machine.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_NGRAMS_NGRAMS_H
#define ATTND_ENGINE_NGRAMS_NGRAMS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    NGRAM_WORDS_MAX = 3,          /* words of one n-gram */
    NGRAM_LINE_BYTES = 512,       /* bytes of a line that are searched and read */
    NGRAM_SEARCH_BYTES = 1 << 18, /* bytes of a text that are searched for key words */
    NGRAM_CHARACTERS_MAX = 65536, /* largest values of a reading */
    NGRAM_LINES_MAX = 64,
    NGRAM_KEY_WORDS_MAX = 256,
    NGRAM_ROWS_MAX = 1 << 20,
};

enum ngram_block { NGRAM_LINES, NGRAM_HEAD, NGRAM_BLOCKS };

/* The parts of a text that are read, and the number of the table's rows. */
struct ngram_reading {
    unsigned characters;
    unsigned key_lines;           /* 0: no such block */
    const char *const *key_words; /* [key_word_count], matched exactly */
    unsigned key_word_count;
    uint32_t rows; /* a power of two */
};

/* Reads the key words from a text like "BUG|DATA RACE"; NULL or empty: none. The arena owns them.
 * ERR_UNUSABLE for more than NGRAM_KEY_WORDS_MAX. */
enum err_code ngrams_key_words(struct ngram_reading *reading, const char *text, struct arena *arena,
                               struct err *err);

/* Writes such a text; NULL: no memory. */
const char *ngrams_join_key_words(const struct ngram_reading *reading, struct arena *arena);

struct ngram_entry {
    uint32_t row;
    uint32_t often; /* count in its block */
    float value;    /* above 0 */
};

/* N-grams sorted by block and row; a block has a row once. */
struct ngram_list {
    struct ngram_entry *entries; /* [count] */
    size_t count;
    size_t first[NGRAM_BLOCKS]; /* first entry of each block */
};

/* Returns the text without NULs: itself, or a copy in the arena. Tokenizers drop them, so a word
 * with a NUL is the word without. NULL: ERR_NO_MEMORY. */
const char *ngrams_without_nuls(const char *text, size_t *len, struct arena *arena,
                                struct err *err);

/* The arena owns the entries. `text` is UTF-8; its NULs are skipped. ERR_NO_MEMORY. */
enum err_code ngrams_list(const struct ngram_reading *reading, const char *text, size_t len,
                          struct arena *arena, struct ngram_list *out, struct err *err);
/* Computes the values of a list from its counts. */
void ngrams_weigh(struct ngram_list *list);

/* Upper bounds of the n-grams of a text, and of the bytes that ngrams_list takes from the arena. */
size_t ngrams_most(const struct ngram_reading *reading, size_t len);
size_t ngrams_list_bytes(const struct ngram_reading *reading, size_t len);

/* One n-gram and its place: bytes of the text, end exclusive. */
struct ngram {
    enum ngram_block block;
    uint32_t row;
    unsigned words;
    size_t start[NGRAM_WORDS_MAX], end[NGRAM_WORDS_MAX]; /* [words] of each word */
};

/* Calls take for each n-gram of both blocks, in the order of the text, which has no NUL. */
void ngrams_each(const struct ngram_reading *reading, const char *text, size_t len,
                 void (*take)(void *context, const struct ngram *ngram), void *context);

#endif
