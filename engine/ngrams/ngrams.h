/* ngrams.h - a text as hashed n-grams: which stretches of one to three words it has, each a row of
 * a table (ngram_table.h).
 *
 * A word is a run of letters, digits and underscores, and of any bytes beyond ASCII; ASCII letters
 * count as small ones. A run with a digit in it is `#`, and of `#`s that follow each other one
 * counts: addresses, times and counters are alike. Two blocks of the text are read, apart from each
 * other, since a word says another thing in a line that tells of a crash than among the rest:
 *
 *   NGRAM_LINES  the first `key_lines` lines with one of the key words in them
 *   NGRAM_HEAD   the first `characters` characters
 *
 * An n-gram's row is a hash of block and words (Weinberger et al. 2009, "Feature hashing for large
 * scale multitask learning"), its value 1 + ln(how often the block has it), each block's values
 * brought to length 1 and all of them to length 1 together. Hashes are FNV-1a of 64 bits; the same
 * text gives the same numbers on every machine.
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
    NGRAM_WORDS_MAX = 3,          /* of one n-gram */
    NGRAM_LINE_BYTES = 512,       /* of a line, so much is searched and read */
    NGRAM_SEARCH_BYTES = 1 << 18, /* of a text, so much is searched for lines with key words */
    NGRAM_CHARACTERS_MAX = 65536, /* largest values of a reading */
    NGRAM_LINES_MAX = 64,
    NGRAM_KEY_WORDS_MAX = 256,
    NGRAM_ROWS_MAX = 1 << 20,
};

enum ngram_block { NGRAM_LINES, NGRAM_HEAD, NGRAM_BLOCKS };

/* What of a text is read, and how many rows the table has. */
struct ngram_reading {
    unsigned characters;
    unsigned key_lines;           /* 0: no such block */
    const char *const *key_words; /* [key_word_count], as they are in the text */
    unsigned key_word_count;
    uint32_t rows; /* a power of two */
};

/* The words of a text like "BUG|DATA RACE"; NULL or empty: none. They are the arena's.
 * ERR_UNUSABLE for more than NGRAM_KEY_WORDS_MAX. */
enum err_code ngrams_key_words(struct ngram_reading *reading, const char *text, struct arena *arena,
                               struct err *err);

/* The other way round; NULL: no memory. */
const char *ngrams_join_key_words(const struct ngram_reading *reading, struct arena *arena);

struct ngram_entry {
    uint32_t row;
    uint32_t often; /* in its block */
    float value;    /* above 0 */
};

/* By block and row; in a block a row comes once. */
struct ngram_list {
    struct ngram_entry *entries; /* [count] */
    size_t count;
    size_t first[NGRAM_BLOCKS]; /* of each block */
};

/* The arena owns the entries. `text` is UTF-8, and read without its NULs. ERR_NO_MEMORY. */
enum err_code ngrams_list(const struct ngram_reading *reading, const char *text, size_t len,
                          struct arena *arena, struct ngram_list *out, struct err *err);
/* The values of a list, from how often each row comes. */
void ngrams_weigh(struct ngram_list *list);

/* Upper bounds of how many n-grams a text has, and of what that takes from the arena. */
size_t ngrams_most(const struct ngram_reading *reading, size_t len);
size_t ngrams_list_bytes(const struct ngram_reading *reading, size_t len);

/* One n-gram where it stands: bytes of the text, end exclusive. */
struct ngram {
    enum ngram_block block;
    uint32_t row;
    unsigned words;
    size_t start[NGRAM_WORDS_MAX], end[NGRAM_WORDS_MAX]; /* [words] of each word */
};

/* Each n-gram of both blocks, in the order of the text. */
void ngrams_each(const struct ngram_reading *reading, const char *text, size_t len,
                 void (*take)(void *context, const struct ngram *ngram), void *context);

#endif
