/* writing.h - replies of others' protocols, written row by row without a tree.
 *
 *     struct writing *writing = writing_next(request, "[", request->call.item_count);
 *     if (writing == NULL)
 *         return 0;
 *     writing_labels(writing, &request->rows[writing->encoded], &how);
 *     return writing_done(writing, "]");
 *
 * Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_WRITING_H
#define ATTND_SERVER_PROTOCOL_WRITING_H

#include "server/protocol/protocol.h"
#include "wire/codec_dump.h"

/* The reply in the making, request->reply. */
struct writing {
    struct codec_text text;
    unsigned encoded, count; /* rows: that are written, and all */
    unsigned *order;         /* room for the places of labels of any row, or of all rows */
};

/* Begins it with `head` at the first call. NULL if there is no memory. */
struct writing *writing_begin(struct request *request, const char *head);
/* The same for the next of `count` rows, behind a comma. NULL also if all are written. */
struct writing *writing_next(struct request *request, const char *head, unsigned count);
/* The row is written; the last one is followed by `tail`. How many are left. */
unsigned writing_done(struct writing *writing, const char *tail);

/* For struct protocol: the sum of the rows, and a problem in their place; the rows that are left,
 * and the end of the text. */
size_t writing_reply_bytes(const struct request *request, size_t *text);
const char *writing_encode(struct request *request, const struct codec_timing *timing, size_t *len);
#define WRITING_PROTOCOL                                                                           \
    .reply_bytes = writing_reply_bytes, .encode = writing_encode,                                  \
    .reply_type = "application/json", .problem_type = "application/json"

/* Writes a number with the digits of answer.h, and numbers as an array. */
enum { WRITING_NUMBER_BYTES = 24 }; /* most that it takes, and a comma: -0.123456789e-38, */
void writing_number(struct codec_text *text, float number);
void writing_numbers(struct codec_text *text, const float *numbers, unsigned count);

/* [{"label": "...", "score": 0.9}, ...], the best first. */
struct writing_how {
    unsigned top_k;    /* TOP_K_ALL */
    bool wants_logits; /* in place of scores */
};
void writing_labels(struct writing *writing, const struct row *row, const struct writing_how *how);
/* One of these, with a comma in front unless it is the first. */
void writing_label(struct codec_text *text, const char *label, float score, bool is_first);
/* Upper bound of the text and of the order. */
size_t writing_labels_bytes(const struct row *row);

/* Numbers of a row's vector, as many as the call wants. */
unsigned writing_vector_size(const struct request *request, const struct row *row);
/* The cosine of the vectors of two rows. */
void writing_cosine(struct codec_text *text, const struct request *request, const struct row *left,
                    const struct row *right);

/* order [count] <- places of scores, the highest first, equal ones in their order. */
void writing_rank(unsigned *order, const float *scores, unsigned count);

#endif
