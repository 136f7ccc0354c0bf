/* vocab_use.h - which pieces of a checkpoint's vocabulary some texts use, so that the others can
 * go.
 *
 *     vocab_use_open(&use, "models/encoder", &err);
 *     vocab_use_add(use, text, len, &err);                    for each text
 *     count = vocab_use_choose(use, &(struct vocab_choice){.keep_min = 1}, ids);
 *     vocab_use_close(use);
 *
 * Of vocab.txt are kept: what the whole texts, beyond any limit, become; special tokens; and the
 * printable ASCII characters, as they begin a word and as they continue one. Then these texts
 * become the same pieces as before. An unknown word needs care for that: it was unknown because
 * after the longest pieces that it begins with no piece matched the rest; without those pieces a
 * shorter one might match and the word become known. So the pieces of such partial matches are kept
 * too.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_VOCAB_USE_H
#define ATTND_ENGINE_TEXT_VOCAB_USE_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vocab_use;

/* ERR_UNSUPPORTED without a vocab.txt, or with added tokens that have no line in it. Yours to
 * close. */
enum err_code vocab_use_open(struct vocab_use **out, const char *dir, struct err *err);
void vocab_use_close(struct vocab_use *use);

/* ERR_UNUSABLE for invalid UTF-8, with its byte offset. */
enum err_code vocab_use_add(struct vocab_use *use, const char *text, size_t len, struct err *err);

/* Lines of vocab.txt, and one of them. */
size_t vocab_use_size(const struct vocab_use *use);
const char *vocab_use_piece(const struct vocab_use *use, size_t id);

/* Pieces that were used less than keep_min times go as well; above 1, rare words change their
 * pieces. Without numbers, pieces with a digit go too, and every word that has one becomes a single
 * [UNK]: addresses, offsets and time stamps then look alike, and a log is shorter by two fifths. */
struct vocab_choice {
    uint64_t keep_min;
    bool without_numbers;
};

/* The ids to keep, ascending: ids[0 .. result), room for vocab_use_size. */
size_t vocab_use_choose(const struct vocab_use *use, const struct vocab_choice *choice,
                        int32_t *ids);

#endif
