/* asking.h - what only models of some tasks take beside their inputs: how labels of tokens become
 * spans, a question, the form of a vector, how a text is written. Options have the names of a
 * request's members.
 *
 *     asking_set(&asking, "aggregation", "first", &err);
 *     asking_check(&asking, 1u << info->task, &err);        once, not for each input
 *
 * Threads: no state.
 */
#ifndef ATTND_TOOLS_ANSWERS_ASKING_H
#define ATTND_TOOLS_ANSWERS_ASKING_H

#include "engine/engine.h"
#include "tools/answers/writing_options.h"
#include "wire/vector_form.h"

#include <limits.h>

/* Zeros: nothing is asked beyond the input. */
struct asking {
    enum aggregation aggregation;
    struct engine_question question; /* top is 0: it follows from top_k */
    struct vector_form vector;
    struct writing_options write; /* closed by who set them */
};

/* Sets aggregation, question, doc_stride, max_seq_len, max_answer_len, handle_impossible_answer,
 * align_to_words, dimensions, encoding, chunks, normalize, or an option of writing
 * (writing_options.h); '-' counts as '_'. Texts borrow the value. NULL: a flag that is given.
 * ERR_UNUSABLE says what is expected; ERR_IO of a file. */
enum err_code asking_set(struct asking *out, const char *name, const char *value, struct err *err);

/* The texts that an answer has, if the model gives `own` where nothing is asked. */
static inline unsigned asking_texts(const struct asking *asking, unsigned own)
{
    const long long asked =
        asking->write.is_given ? asking->write.writing.asked.num_return_sequences : LLONG_MIN;
    return own == 0 || asked < 1 ? own : (unsigned)asked;
}

/* tasks: 1 << enum engine_task of each model that may answer. ERR_UNUSABLE names what none of them
 * takes. */
enum err_code asking_check(const struct asking *asking, unsigned tasks, struct err *err);

/* Members of a request that are set, but for the question's text, which stands beside each text:
 * "\"aggregation\":\"first\",", each with a comma behind it; "": none. *out is yours to free.
 * ERR_NO_MEMORY. */
enum err_code asking_write(char **out, const struct asking *asking, struct err *err);

/* Rows of a table of options. S is the sign
 * between two words, SET what takes name and value. */
#define ASKING_ROW(SET, name_, value_, help_)                                                      \
    {                                                                                              \
        .name = name_, .type = CLI_OTHER, .apply = SET, .value = value_, .help = help_             \
    }
#define ASKING_ROW_AGGREGATION(SET)                                                                \
    ASKING_ROW(SET, "aggregation", "HOW",                                                          \
               "Tags: how labels of tokens become spans: none, simple, path, first, max or "       \
               "average (default: the model's, else simple).")
#define ASKING_ROWS_WINDOW(S, SET)                                                                 \
    ASKING_ROW(SET, "doc" S "stride", "N",                                                         \
               "Question answering: tokens that two windows of a long text share."),               \
        ASKING_ROW(SET, "max" S "seq" S "len", "N",                                                \
                   "Question answering: tokens of a window (default: 384, or what the model "      \
                   "reads)."),                                                                     \
        ASKING_ROW(SET, "max" S "answer" S "len", "N",                                             \
                   "Question answering: tokens of an answer (default: 15).")
#define ASKING_ROW_WORDS(S, SET)                                                                   \
    ASKING_ROW(SET, "align" S "to" S "words", "true|false",                                        \
               "Question answering: whether answers are whole words (default: true).")
#define ASKING_ROW_DIMENSIONS(SET)                                                                 \
    ASKING_ROW(SET, "dimensions", "N", "Embedding: only the first N numbers of a vector.")
#define ASKING_ROWS_VECTOR(SET)                                                                    \
    ASKING_ROW(SET, "encoding", "NAME", "Embedding: " VECTOR_ENCODING_NAMES " (default: float)."), \
        ASKING_ROW(SET, "chunks", "WHAT",                                                          \
                   "Embedding: also vectors of a text's " VECTOR_CHUNKS_NAMES ".")

#endif
