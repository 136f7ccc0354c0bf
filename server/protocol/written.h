/* written.h - texts that models write, in the forms of Hugging Face's tasks and of
 * text-generation-inference:
 *
 *     {"translation_text": "..."}       {"summary_text": "..."}       {"generated_text": "..."}
 *     {"generated_text": "...", "details": {"finish_reason": "length" | "eos_token",
 *      "generated_tokens", "seed": null, "prefill": [], "tokens": [{"id", "text", "logprob",
 *      "special"}, ...]}}
 *     data: {"index": 1, "token": {"id", "text", "logprob", "special"}, "generated_text": null,
 *            "details": null}                                      a stream; the last token's event
 *     has the text, and with the option details {"finish_reason", "generated_tokens", "seed": null,
 *     "input_length"}
 *     data: {"error", "error_type"}                                in place of it
 *
 *     written_read(request, parameters, &how)                      the call is read
 *     written_bytes(request, row, how, &work)                      before the work
 *     written_row(text, request, row, how)                         the answer is there
 *
 * Options are those of generate() of transformers, in `parameters` or its `generate_parameters`,
 * and those of text-generation-inference. Texts are not sampled: what asks for that, or for
 * anything else that would change the answer and is not there, is refused by name, unless its value
 * changes nothing.
 *
 * Source: the specifications of tasks in huggingface.js (translation, summarization,
 * text2text-generation, image-to-text, text-generation) and the router of text-generation-inference
 * 3.3.
 *
 * Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_WRITTEN_H
#define ATTND_SERVER_PROTOCOL_WRITTEN_H

#include "server/protocol/writing.h"

/* The member that has the text. */
enum written_form {
    WRITTEN_BY_MODEL, /* by its family: written_form_of */
    WRITTEN_TRANSLATION,
    WRITTEN_SUMMARY,
    WRITTEN_TEXT
};

struct written_how {
    enum written_form form;
    bool is_asked;      /* the call has an option of texts that are written */
    bool is_generation; /* one that only clients of text-generation-inference send */
    bool has_details;
    bool repeats_input; /* return_full_text: the input stands before the text */
    bool tidies;        /* clean_up_tokenization_spaces */
};

/* Names of members that written_read knows, for doc_check_members. */
#define WRITTEN_GENERATE                                                                           \
    "max_new_tokens, min_new_tokens, max_length, min_length, num_beams, num_return_sequences, "    \
    "no_repeat_ngram_size, length_penalty, do_sample, temperature, top_k, top_p, typical_p, "      \
    "epsilon_cutoff, eta_cutoff, repetition_penalty, num_beam_groups, diversity_penalty, "         \
    "penalty_alpha, use_cache"
#define WRITTEN_GENERATION                                                                         \
    "adapter_id, best_of, decoder_input_details, details, frequency_penalty, grammar, "            \
    "return_full_text, seed, stop, top_n_tokens, watermark"
#define WRITTEN_TASKS                                                                              \
    "src_lang, tgt_lang, clean_up_tokenization_spaces, truncation, generate_parameters"

/* Options of `parameters` (NULL: there are none) into request->call and *how, whose form and
 * is_generation may be set before. Returns request->err.code. */
enum err_code written_read(struct request *request, const struct json_t *parameters,
                           struct written_how *how);
/* top_k of `parameters`, which other models know in another meaning. Likewise. */
enum err_code written_read_top(struct request *request, const struct json_t *parameters);

enum written_form written_form_of(const struct engine_info *info);

/* Upper bounds of a row's text and, in *work, of what is taken while it is written. */
size_t written_bytes(const struct request *request, const struct row *row,
                     const struct written_how *how, size_t *work);

/* All texts of a row, the best first, with commas between them. */
void written_row(struct codec_text *text, const struct request *request, const struct row *row,
                 const struct written_how *how);

/* For struct protocol: the events of text-generation-inference's streams. written_row has made the
 * answer. */
void written_event(struct codec_text *text, const struct engine_piece *token,
                   const struct protocol_end *end);

#endif
