/* answer.c - see answer.h. Expected answers are parsed once and kept as trees; a reply is parsed,
 * its label, its predictions' number, order and scores are compared, its times noted, and its tree
 * freed. Ask for the same top_k in both runs. */
#include "loadtest/answer.h"

#include "engine/base/doc.h"
#include "tools/client/buffer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOOK_BYTES_MAX = 1 << 30 };

struct expected {
    struct json_t *root;
    unsigned status; /* 200, or that of a problem object */
};

struct answer_book {
    struct expected *expected;
    unsigned count, inputs;
};

static enum err_code read_expected(struct answer_book *book, const char *line, size_t len,
                                   struct err *err)
{
    if (book->count == book->inputs)
        return err_set(err, ERR_UNUSABLE, "more lines than inputs (%u)", book->inputs);
    struct expected *expected = &book->expected[book->count];
    if (doc_parse(&expected->root, line, len, &doc_limits_file, err))
        return err->code;
    book->count++;
    long long status = 200;
    const char *label = NULL;
    if (doc_get_integer(expected->root, "$", "status", 200, 599, &status, err) ||
        doc_get_string(expected->root, "$", "label", &label, err))
        return err->code;
    expected->status = (unsigned)status;
    if (status == 200 && label == NULL)
        return err_set(err, ERR_UNUSABLE, "neither $.label nor $.status is there");
    return ERR_OK;
}

static enum err_code read_book(struct answer_book *book, const struct buffer *file, struct err *err)
{
    unsigned number = 1;
    for (size_t at = 0; at < file->len; number++) {
        const char *newline = memchr(file->bytes + at, '\n', file->len - at);
        size_t len = newline ? (size_t)(newline - file->bytes) - at : file->len - at;
        if (len > 0 && read_expected(book, file->bytes + at, len, err))
            return err_prefix(err, "line %u: ", number);
        at += len + (newline != NULL);
    }
    if (book->count < book->inputs)
        return err_set(err, ERR_UNUSABLE, "%u lines for %u inputs", book->count, book->inputs);
    return ERR_OK;
}

enum err_code answer_book_open(struct answer_book **out, const char *path, unsigned inputs,
                               struct err *err)
{
    *out = NULL;
    struct answer_book *book = calloc(1, sizeof *book);
    if (book == NULL)
        return err_no_memory(err, sizeof *book);
    book->inputs = inputs;
    book->expected = calloc(inputs, sizeof *book->expected);
    struct buffer file = {0};
    if (book->expected == NULL)
        err_no_memory(err, inputs * sizeof *book->expected);
    else if (!buffer_file(&file, path, BOOK_BYTES_MAX))
        err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if (read_book(book, &file, err))
        err_prefix(err, "%s: ", path);
    buffer_deinit(&file);
    if (err->code) {
        answer_book_close(book);
        return err->code;
    }
    *out = book;
    return ERR_OK;
}

void answer_book_close(struct answer_book *book)
{
    if (book == NULL)
        return;
    for (unsigned i = 0; book->expected != NULL && i < book->count; i++)
        doc_free(book->expected[i].root);
    free(book->expected);
    free(book);
}

static enum outcome fail(struct answer *answer, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum outcome fail(struct answer *answer, enum outcome outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(answer->why, sizeof answer->why, format, args);
    va_end(args);
    return outcome;
}

static bool same_text(const struct json_t *a, const struct json_t *b, const char *key)
{
    const char *first = doc_as_string(doc_member(a, key));
    const char *second = doc_as_string(doc_member(b, key));
    return first != NULL && second != NULL && strcmp(first, second) == 0;
}

static bool near(const struct json_t *a, const struct json_t *b, double tolerance)
{
    double first, second;
    return doc_as_number(doc_member(a, "score"), &first) &&
           doc_as_number(doc_member(b, "score"), &second) && fabs(first - second) <= tolerance;
}

static enum outcome compare(const struct json_t *got, const struct json_t *expected,
                            double tolerance, struct answer *answer)
{
    if (!same_text(got, expected, "label"))
        return fail(answer, OUTCOME_MISMATCH, "label \"%.40s\" instead of \"%.40s\"",
                    doc_as_string(doc_member(got, "label")),
                    doc_as_string(doc_member(expected, "label")));
    if (!near(got, expected, tolerance))
        return fail(answer, OUTCOME_MISMATCH, "score differs by more than %g", tolerance);
    const struct json_t *mine = doc_member(got, "predictions");
    const struct json_t *theirs = doc_member(expected, "predictions");
    size_t count = doc_array_count(mine), other = doc_array_count(theirs);
    if (count != other)
        return fail(answer, OUTCOME_MISMATCH, "%zu predictions instead of %zu", count, other);
    for (size_t i = 0; i < count; i++) {
        const struct json_t *a = doc_array_item(mine, i), *b = doc_array_item(theirs, i);
        if (!same_text(a, b, "label"))
            return fail(answer, OUTCOME_MISMATCH, "another label in place %zu", i + 1);
        if (!near(a, b, tolerance))
            return fail(answer, OUTCOME_MISMATCH, "score %zu differs by more than %g", i + 1,
                        tolerance);
    }
    return OUTCOME_OK;
}

enum outcome answer_judge(const struct answer_book *book, unsigned item, unsigned status,
                          const char *body, size_t len, double tolerance, struct answer *answer)
{
    *answer = (struct answer){0};
    const struct expected *expected = book != NULL ? &book->expected[item] : NULL;
    if (expected != NULL && expected->status != 200)
        return status == expected->status ? OUTCOME_OK : OUTCOME_STATUS;
    if (status != 200)
        return OUTCOME_STATUS;
    struct json_t *root;
    struct err err = {0};
    if (doc_parse(&root, body, len, &doc_limits_file, &err))
        return fail(answer, OUTCOME_MALFORMED, "%.150s", err.text);
    const struct json_t *times = doc_member(root, "timing_ms");
    answer->timed = times != NULL;
#define X(name) answer->timed &= doc_as_number(doc_member(times, #name), &answer->name##_ms);
    ANSWER_TIMES(X)
#undef X
    enum outcome outcome = OUTCOME_OK;
    if (doc_as_string(doc_member(root, "label")) == NULL)
        outcome = fail(answer, OUTCOME_MALFORMED, "$.label: missing, or not a string");
    else if (expected != NULL)
        outcome = compare(root, expected->root, tolerance, answer);
    doc_free(root);
    return outcome;
}
