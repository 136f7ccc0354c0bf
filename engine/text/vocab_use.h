/* vocab_use.h - counts the pieces of a checkpoint's vocabulary that some texts use, so that the
 * others can be removed.
 *
 *     vocab_use_open(&use, "models/encoder", &err);
 *     vocab_use_add(use, text, len, &err);                    for each text
 *     count = vocab_use_choose(use, &(struct vocab_choice){.keep_min = 1}, ids);
 *     vocab_use_close(use);
 *
 * Kept of vocab.txt: the pieces of the whole texts, without a limit; special tokens; and the
 * printable ASCII characters, both at the beginning of a word and within one. Then these texts
 * become the same pieces as before. Unknown words need care: such a word begins with pieces that
 * match, but no piece matches the rest. Without those longest pieces a shorter one might match and
 * the word become known. So the pieces of such partial matches are kept too.
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

/* Pieces that were used less than keep_min times are removed too; above 1, rare words change their
 * pieces. Without numbers, pieces with a digit are removed too, and every word with a digit becomes
 * a single [UNK]: addresses, offsets and time stamps then look alike, and a log is shorter by two
 * fifths. */
struct vocab_choice {
    uint64_t keep_min;
    bool without_numbers;
};

/* Writes the ids to keep, ascending, and returns their number; ids has room for vocab_use_size. */
size_t vocab_use_choose(const struct vocab_use *use, const struct vocab_choice *choice,
                        int32_t *ids);

#endif
