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

/* True if the text is a document of another kind. out then names the kind and says what to do:
 * "this is a KLARF file, not a log; ...". False: it is a text. The whole text is read only if its
 * begin looks like a document. */
bool document_describe(const char *text, size_t len, char out[DOCUMENT_TEXT_BYTES]);

#endif
