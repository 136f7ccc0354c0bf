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

/* Names of the members of a call, the body of POST /predict: document.c knows a call by them, and
 * the codec (wire/codec_names.c) takes no others. A query has those of its tasks, too. */
#define DOCUMENT_NAMES_TASK                                                                        \
    "long_text", "prompt_name", "aggregation", "dimensions", "encoding", "normalize", "chunks"
#define DOCUMENT_NAMES_QUESTION                                                                    \
    "doc_stride", "max_seq_len", "max_answer_len", "handle_impossible_answer", "align_to_words"
#define DOCUMENT_NAMES_OTHER                                                                       \
    "candidate_labels", "hypothesis_template", "max_new_tokens", "min_new_tokens", "num_beams",    \
        "num_return_sequences", "no_repeat_ngram_size", "length_penalty", "source_language",       \
        "target_language", "pattern", "allowed", "copy_numbers", "checksum", "stream", "keep",     \
        "similar"
#define DOCUMENT_NAMES_CALL                                                                        \
    "text", "image", "inputs", "model", "top_k", "explain", "explain_layer", "overlay",            \
        "attention_stats", "deadline_ms", "id", "context", DOCUMENT_NAMES_TASK, "question",        \
        DOCUMENT_NAMES_QUESTION, "text_pair", DOCUMENT_NAMES_OTHER

/* True if the text is a document of another kind. out then names the kind and says what to do:
 * "this is a KLARF file, not a log; ...". False: it is a text. The whole text is read only if its
 * begin looks like a document. */
bool document_describe(const char *text, size_t len, char out[DOCUMENT_TEXT_BYTES]);

#endif
