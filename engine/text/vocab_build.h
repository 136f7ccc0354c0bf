/* vocab_build.h - trains a WordPiece vocabulary on counted words.
 *
 *     struct vocab_build_options options = {.size = 8000, .pair_min = 2, .character_min = 2};
 *     vocab_build(&list, &words, &options, &err);
 *     list.pieces[0 .. list.count)                      "[PAD]", "[UNK]", ..., "##ing"
 *     vocab_build_close(&list);
 *
 * The pieces in order: [PAD] [UNK] [CLS] [SEP] [MASK]; the printable ASCII characters and every
 * other one that occurs at least character_min times, first those that begin a word, then those
 * that continue one ("##x"; punctuation never does); then pieces merged from two, most frequent
 * pair first (Schuster and Nakajima 2012), until there are `size` or no pair occurs pair_min times.
 *
 * The same words in the same order give the same list; ties go to the older pieces. Threads: one.
 */
#ifndef ATTND_ENGINE_TEXT_VOCAB_BUILD_H
#define ATTND_ENGINE_TEXT_VOCAB_BUILD_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/text/word_counts.h"

#include <stddef.h>
#include <stdint.h>

struct vocab_build_options {
    size_t size;                      /* pieces, at most 2^20 */
    uint64_t pair_min, character_min; /* at least 1 */
    /* Called after every piece, if not NULL. */
    void (*progress)(void *context, size_t pieces);
    void *context;
};

struct vocab_list {
    const char **pieces; /* [count], UTF-8 */
    size_t count;
    struct arena arena;
};

/* ERR_UNUSABLE if special tokens and characters alone are more than `size`. Close it in any case.
 */
enum err_code vocab_build(struct vocab_list *out, const struct word_counts *words,
                          const struct vocab_build_options *options, struct err *err);
void vocab_build_close(struct vocab_list *list);

#endif
