/* grapheme.h - extended grapheme clusters (UAX 29): one character in a reader's eyes.
 *
 *     for (size_t at = 0, end; at < len; at = end) {
 *         end = grapheme_end(text, len, at);
 *         ... text[at .. end) is a cluster: a letter with its accents, a flag, CR LF
 *     }
 *
 * Borders are those of the reference (crate unicode-segmentation 1.12.0 in Hugging Face tokenizers
 * 0.22.2): Unicode 16.0, with rule GB9c for conjuncts of Indic scripts.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_GRAPHEME_H
#define ATTND_ENGINE_TEXT_GRAPHEME_H

#include <stddef.h>

/* Returns the end of the cluster that begins at `at`. text[len] is valid UTF-8, at < len, and `at`
 * is 0 or the end of the cluster before. Linear in the cluster. */
size_t grapheme_end(const char *text, size_t len, size_t at);

#endif
