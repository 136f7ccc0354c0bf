/* unicode_forms.h - Unicode normalisation forms C, D, KC and KD (UAX 15) of an aligned text.
 *
 *     if (unicode_forms_apply(UNICODE_NFKC, &text, &next, &arena, interrupt, &err))
 *         return err.code;
 *     text = next;
 *     ...
 *     if (unicode_forms_is_mark(character)) ... "StripAccents" removes it
 *
 * Characters and alignments are those of the reference (Hugging Face tokenizers 0.22.2 with its
 * crate unicode-normalization-alignments 0.1.12): Unicode 9.0, so characters of later versions
 * neither decompose nor compose nor are reordered.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_UNICODE_FORMS_H
#define ATTND_ENGINE_TEXT_UNICODE_FORMS_H

#include "engine/base/interrupt.h"
#include "engine/text/aligned.h"

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

#endif
