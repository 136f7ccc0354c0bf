/* asking.h - what only models of some tasks take beside their inputs: how labels of tokens become
 * spans, a question, the form of a vector. Options have the names of a request's members.
 *
 *     asking_set(&asking, "aggregation", "first", &err);
 *     asking_check(&asking, 1u << info->task, &err);        once, not for each input
 *
 * Threads: no state.
 */
#ifndef ATTND_TOOLS_ANSWERS_ASKING_H
#define ATTND_TOOLS_ANSWERS_ASKING_H

#include "engine/engine.h"
#include "wire/vector_form.h"

/* Zeros: nothing is asked beyond the input. */
struct asking {
    enum aggregation aggregation;
    struct engine_question question; /* top is 0: it follows from top_k */
    struct vector_form vector;
};

/* Sets aggregation, question, doc_stride, max_seq_len, max_answer_len, handle_impossible_answer,
 * align_to_words, dimensions, encoding, chunks or normalize; '-' counts as '_'. The question
 * borrows the value. NULL: a flag that is given. ERR_UNUSABLE says what is expected. */
enum err_code asking_set(struct asking *out, const char *name, const char *value, struct err *err);

/* tasks: 1 << enum engine_task of each model that may answer. ERR_UNUSABLE names what none of them
 * takes. */
enum err_code asking_check(const struct asking *asking, unsigned tasks, struct err *err);

/* Members of a request that are set, but for the question's text, which stands beside each text:
 * "\"aggregation\":\"first\",", each with a comma behind it; "": none. */
enum { ASKING_JSON_BYTES = 256 };
void asking_write(char out[ASKING_JSON_BYTES], const struct asking *asking);

#endif
