/* unicode.h - what a tokenizer needs of Unicode, equal to the reference tokenizer's: the properties
 * of a character, normalisation forms (UAX 15) and grapheme clusters (UAX 29).
 *
 *     const struct unicode_properties *p = unicode_properties(character);
 *     if (p->flags & UNICODE_PUNCTUATION) ...
 *
 * Characters are code points below 0x110000. Tables are generated (make_unicode_tables.py names the
 * versions of Unicode) and constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_UNICODE_H
#define ATTND_ENGINE_TEXT_UNICODE_H

#include "engine/base/interrupt.h"
#include "engine/text/aligned.h"
#include "engine/text/unicode_properties.h"

#include <stddef.h>
#include <stdint.h>

enum {
    UNICODE_DECOMPOSITION_MAX = 4,
    UNICODE_COMPATIBLE_MAX = 18, /* U+FDFA */
    UNICODE_LOWER_MAX = 2,
};

/* Writes the full canonical decomposition (not reordered), or the character itself if it has none.
 * Returns the number of characters written. */
unsigned unicode_decompose(uint32_t character, uint32_t out[UNICODE_DECOMPOSITION_MAX]);

/* The same of the full compatibility decomposition, of form KD. */
unsigned unicode_decompose_compatible(uint32_t character, uint32_t out[UNICODE_COMPATIBLE_MAX]);

/* Writes the lower-case form without regard to context: a final capital sigma becomes a medial one,
 * and U+0130 becomes two characters. Returns the number of characters written. */
unsigned unicode_lower(uint32_t character, uint32_t out[UNICODE_LOWER_MAX]);

/* ---- normalisation forms ----
 *
 *     if (unicode_forms_apply(UNICODE_NFKC, &text, &next, &arena, interrupt, &err))
 *         return err.code;
 *     text = next;
 *
 * Characters and alignments are those of Hugging Face tokenizers 0.22.2 with its crate
 * unicode-normalization-alignments 0.1.12: Unicode 9.0, so characters of later versions neither
 * decompose nor compose nor are reordered. */

enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

/* Bytes of a text in form KD, the longest form, for each of its bytes that is not ASCII (UAX 15,
 * section 12); ASCII stays as it is. */
enum { UNICODE_FORMS_GROWTH_MAX = 11 };

/* *out is `in` in the form; it may share the arrays of `in`, which is not changed. Memory from the
 * arena: that of an aligned_builder, 1 KiB, and 48 bytes for each character of the longest run of
 * combining characters, in form D, each of which is a byte of `in` at least. Linear in the text.
 * The interrupt (NULL: none) is checked every few thousand characters. ERR_NO_MEMORY, or the
 * interrupt's error. */
enum err_code unicode_forms_apply(enum unicode_form form, const struct aligned *in,
                                  struct aligned *out, struct arena *arena,
                                  struct interrupt *interrupt, struct err *err);

/* True for a character of general category Mn, Mc or Me in Unicode 9.0, which the reference's
 * StripAccents removes. BERT's strip_accents removes only Mn: UNICODE_MARK. */
bool unicode_forms_is_mark(uint32_t character);

/* ---- grapheme clusters: one character in a reader's eyes ----
 *
 *     for (size_t at = 0, end; at < len; at = end) {
 *         end = grapheme_end(text, len, at);
 *         ... text[at .. end) is a cluster: a letter with its accents, a flag, CR LF
 *     }
 *
 * Borders are those of crate unicode-segmentation 1.12.0 in Hugging Face tokenizers 0.22.2: Unicode
 * 16.0, with rule GB9c for conjuncts of Indic scripts. */

/* Returns the end of the cluster that begins at `at`. text[len] is valid UTF-8, at < len, and `at`
 * is 0 or the end of the cluster before. Linear in the cluster. */
size_t grapheme_end(const char *text, size_t len, size_t at);

#endif
