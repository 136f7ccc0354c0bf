/* precompiled.h - the normaliser "Precompiled" of tokenizer.json: SentencePiece's table of
 * replacements (its rules nmt_nfkc and the like).
 *
 *     precompiled_read(&table, base64, len, &arena, &err);
 *     precompiled_apply(table, &text, &next, &work, interrupt, &err);
 *     text = next;
 *
 * A grapheme cluster of fewer than 6 bytes is looked up whole, and the shortest entry that it
 * begins with replaces all of it. A longer cluster, or one without an entry, is looked up character
 * by character (crate spm_precompiled 0.1.4 of Hugging Face tokenizers 0.22.2).
 *
 * Threads: a table is immutable; any number may apply it.
 */
#ifndef ATTND_ENGINE_TEXT_PRECOMPILED_H
#define ATTND_ENGINE_TEXT_PRECOMPILED_H

#include "engine/base/interrupt.h"
#include "engine/text/aligned.h"

enum { PRECOMPILED_REPLACEMENT_BYTES_MAX = 1024 }; /* bounds what a character can become */

struct precompiled;

/* Most bytes that a byte of text becomes, by kind of byte (ASCII or other): at least 1; the rules
 * nmt_nfkc have 1 and 11. */
struct precompiled_growth {
    size_t ascii, other;
};

/* `base64[len]` is the member precompiled_charsmap: 4 bytes with the size of the trie, the trie (a
 * double array of 4-byte units, as darts-clone writes them), and the replacements, each ended by a
 * NUL. Memory, the decoded bytes, from the arena. ERR_UNUSABLE if it is not base64, cut short, not
 * UTF-8, or points outside itself; ERR_UNSUPPORTED for a longer replacement than the above;
 * ERR_NO_MEMORY. Error texts name the member. Linear in len. */
enum err_code precompiled_read(struct precompiled **out, const char *base64, size_t len,
                               struct arena *arena, struct err *err);

/* *out is `in` with everything replaced; it may share the arrays of `in`, which is not changed.
 * Memory from the arena as an aligned_builder. Linear in *out. The interrupt (NULL: none) is
 * checked every few thousand clusters. ERR_NO_MEMORY, or the interrupt's error. */
enum err_code precompiled_apply(const struct precompiled *table, const struct aligned *in,
                                struct aligned *out, struct arena *arena,
                                struct interrupt *interrupt, struct err *err);

struct precompiled_growth precompiled_growth(const struct precompiled *table);

/* ---- as SentencePiece itself applies it ---- */

enum { PRECOMPILED_KEY_BYTES_MAX = 255 }; /* of precompiled_of_bytes */

/* The same table as the bytes of a SentencePiece model, which are borrowed. Its growth counts
 * space_bytes for each space of a replacement. ERR_UNSUPPORTED for a longer key than the above. */
enum err_code precompiled_of_bytes(struct precompiled **out, const char *bytes, size_t len,
                                   size_t space_bytes, struct arena *arena, struct err *err);

/* Finds the longest entry that text[len] begins with: *taken are its bytes, *out [*out_len] the
 * replacement, which may be empty. False: there is none. */
bool precompiled_longest(const struct precompiled *table, const char *text, size_t len,
                         size_t *taken, const char **out, size_t *out_len);

#endif
