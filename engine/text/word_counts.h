/* word_counts.h - counts the words of some texts. A word is the unit that WordPiece matches:
 * normalised, and cut at white space and punctuation; a punctuation character is a word.
 *
 *     struct word_counts words;
 *     word_counts_init(&words, flags);
 *     word_counts_add(&words, text, len, &err);         for each text
 *     words.items[i].count, word_counts_text(&words, i)
 *     word_counts_deinit(&words);
 *
 * Words of more than WORD_CHARACTERS_MAX characters, which WordPiece does not match, are left out.
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_WORD_COUNTS_H
#define ATTND_ENGINE_TEXT_WORD_COUNTS_H

#include "engine/base/err.h"
#include "engine/text/normalizer.h"

#include <stddef.h>
#include <stdint.h>

enum { WORD_CHARACTERS_MAX = 100 };

struct word_count {
    uint64_t count;
    size_t offset; /* place of its UTF-8 in `bytes`; no NUL */
    uint32_t len;
    uint32_t hash;
};

struct word_counts {
    struct normalizer_flags flags;
    struct word_count *items; /* in the order of their first occurrence */
    size_t count, capacity;
    uint32_t *slots; /* number of an item plus one; 0: empty */
    size_t slot_mask;
    char *bytes;
    size_t bytes_used, bytes_capacity;
};

void word_counts_init(struct word_counts *words, struct normalizer_flags flags);
void word_counts_deinit(struct word_counts *words);

/* ERR_UNUSABLE for invalid UTF-8, with its byte offset: nothing of the text is counted. */
enum err_code word_counts_add(struct word_counts *words, const char *text, size_t len,
                              struct err *err);

const char *word_counts_text(const struct word_counts *words, size_t index);

#endif
