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
#include "wire/vector_form.h"

#include <limits.h>

/* Zeros: nothing is asked beyond the input. */
struct asking {
    enum aggregation aggregation;
    struct engine_question question; /* top is 0: it follows from top_k */
    struct vector_form vector;
    struct engine_writing writing; /* if it writes */
    bool writes;                   /* an option of writing is given */
};

/* Sets aggregation, question, doc_stride, max_seq_len, max_answer_len, handle_impossible_answer,
 * align_to_words, dimensions, encoding, chunks, normalize, or an option of writing
 * (wire/codec_writing.h); '-' counts as '_'. Question and languages borrow the value. NULL: a flag
 * that is given. ERR_UNUSABLE says what is expected. */
enum err_code asking_set(struct asking *out, const char *name, const char *value, struct err *err);

/* The texts that an answer has, if the model gives `own` where nothing is asked. */
static inline unsigned asking_texts(const struct asking *asking, unsigned own)
{
    const long long asked = asking->writes ? asking->writing.asked.num_return_sequences : LLONG_MIN;
    return own == 0 || asked < 1 ? own : (unsigned)asked;
}

/* tasks: 1 << enum engine_task of each model that may answer. ERR_UNUSABLE names what none of them
 * takes. */
enum err_code asking_check(const struct asking *asking, unsigned tasks, struct err *err);

/* Members of a request that are set, but for the question's text, which stands beside each text:
 * "\"aggregation\":\"first\",", each with a comma behind it; "": none. *out is yours to free.
 * ERR_NO_MEMORY. */
enum err_code asking_write(char **out, const struct asking *asking, struct err *err);

/* Rows of a table of options: those of writing. S is the sign between two words. */
#define ASKING_ROWS_WRITING(S, SET)                                                                \
    {.name = "max" S "new" S "tokens",                                                             \
     .type = CLI_OTHER,                                                                            \
     .apply = SET,                                                                                 \
     .value = "N",                                                                                 \
     .help = "Writing: most tokens of the text (default: as the checkpoint says, else 64)."},      \
        {.name = "min" S "new" S "tokens",                                                         \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "N",                                                                             \
         .help = "Writing: fewest tokens."},                                                       \
        {.name = "num" S "beams",                                                                  \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "N",                                                                             \
         .help = "Writing: hypotheses that are followed at once, 1 to 8 (beam search)."},          \
        {.name = "num" S "return" S "sequences",                                                   \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "N",                                                                             \
         .help = "Writing: texts that are answered, the best first."},                             \
        {.name = "no" S "repeat" S "ngram" S "size",                                               \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "N",                                                                             \
         .help = "Writing: no sequence of so many tokens twice."},                                 \
        {.name = "length" S "penalty",                                                             \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "X",                                                                             \
         .help = "Writing: scores are divided by length^X."},                                      \
        {.name = "source" S "language",                                                            \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "CODE",                                                                          \
         .help = "Writing: the language of the texts, as the checkpoint's tokenizer calls it."},   \
    {                                                                                              \
        .name = "target" S "language", .type = CLI_OTHER, .apply = SET, .value = "CODE",           \
        .help = "Writing: the language to write in."                                               \
    }

#endif
