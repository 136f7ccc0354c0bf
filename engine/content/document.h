/* document.h - texts that are no logs: the whole of one is a request of ours, a picture in base64,
 * or a file of a fab. A model would give any of them a label.
 *
 * A log may hold such lines: it is one of these only from its first record on.
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_CONTENT_DOCUMENT_H
#define ATTND_ENGINE_CONTENT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { DOCUMENT_TEXT_BYTES = 256 };

/* What a text is instead, and what to do: "this is a KLARF file, not a log; ...". False: a text. It
 * takes time in proportion to the text only where that begins like a document. */
bool document_describe(const char *text, size_t len, char out[DOCUMENT_TEXT_BYTES]);

#endif
