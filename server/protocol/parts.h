/* parts.h - answers about parts of a text, in the form of Hugging Face's pipelines
 * token-classification, question-answering and fill-mask (transformers 4.57):
 *
 *     [{"entity_group", "score", "word", "start", "end"}, ...]     without aggregation "entity" in
 *                                  its place, and "index", the token's place in the input
 *     {"score", "start", "end", "answer"}                          or an array of 0, 2 or more
 *     [{"score", "token", "token_str", "sequence"}, ...]           of several masks an array each
 *
 *     parts_read(request, parameters, model, &how)                 the call is read
 *     parts_bytes(request, row, how, &work)                        before the work
 *     parts_write(writing, request, row, how)                      the answer is there
 *
 * `word` and `sequence` are what the tokenizer makes of the tokens, not the text.
 *
 * Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_PARTS_H
#define ATTND_SERVER_PROTOCOL_PARTS_H

#include "server/protocol/writing.h"

enum { PARTS_FILL_TOP = 5, PARTS_TOP_MAX = 100 };

struct parts_how {
    unsigned top_k;             /* fill: words for a mask, at most PARTS_TOP_MAX */
    const char *const *ignored; /* [ignored_count] tags: labels that are left out */
    unsigned ignored_count;
};

/* Options of `parameters` into request->call and the ignored labels of *how: aggregation_strategy,
 * ignore_labels, stride; max_answer_len, max_seq_len, max_question_len, doc_stride,
 * handle_impossible_answer, align_to_words; targets. What the model (NULL: none is served) cannot
 * obey is refused here or when it prepares. Returns request->err.code. */
enum err_code parts_read(struct request *request, const struct json_t *parameters,
                         const struct served_model *model, struct parts_how *how);

/* True if the model's answers are parts. */
static inline bool parts_are_told(const struct engine_info *info)
{
    return info->task == ENGINE_TAG || info->task == ENGINE_ANSWER || info->task == ENGINE_FILL;
}

/* Upper bounds of the text and, in *work, of what is taken while it is written. */
size_t parts_bytes(const struct request *request, const struct row *row,
                   const struct parts_how *how, size_t *work);

void parts_write(struct codec_text *text, const struct request *request, const struct row *row,
                 const struct parts_how *how);

#endif
