/* answer.h - parses a reply's body and compares it with the expected answer.
 *
 *     struct answer_book *book;                         NULL book: nothing is expected by name
 *     answer_book_open(&book, "expected.jsonl", inputs, &err);
 *     struct answer answer;
 *     enum outcome outcome = answer_judge(book, item, status, body, len, 1e-5, &answer);
 *
 * Threads: a book is immutable after open.
 */
#ifndef ATTND_LOADTEST_ANSWER_H
#define ATTND_LOADTEST_ANSWER_H

#include "engine/base/err.h"
#include "tools/client/outcome.h"

#include <stdbool.h>
#include <stddef.h>

/* Times that the server reports, in its reply's timing_ms. */
#define ANSWER_TIMES(X) X(queue) X(prepare) X(inference) X(total)

struct answer {
    bool timed; /* all of the times below were there */
#define X(name) double name##_ms;
    ANSWER_TIMES(X)
#undef X
    char why[160]; /* if the outcome is MISMATCH or MALFORMED */
};

struct answer_book;

/* Lines of `attnd-predict --json`, one for each of `inputs` inputs in their order: an answer, or a
 * problem object whose status is then the expected one. Yours to close. */
enum err_code answer_book_open(struct answer_book **out, const char *path, unsigned inputs,
                               struct err *err);
void answer_book_close(struct answer_book *book);

/* OUTCOME_OK, OUTCOME_MISMATCH, OUTCOME_MALFORMED or, for a status that is not 200 and not
 * expected, OUTCOME_STATUS. */
enum outcome answer_judge(const struct answer_book *book, unsigned item, unsigned status,
                          const char *body, size_t len, double tolerance, struct answer *answer);

#endif
