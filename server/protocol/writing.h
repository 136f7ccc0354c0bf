/* writing.h - replies of others' protocols, written row by row without a tree.
 *
 *     struct writing *writing = writing_begin(request, "[");
 *     writing_labels(writing, &request->rows[writing->encoded], &how);
 *     return request->call.item_count - ++writing->encoded;
 *
 * Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_WRITING_H
#define ATTND_SERVER_PROTOCOL_WRITING_H

#include "server/serve/request.h"
#include "wire/codec_dump.h"

/* The reply in the making, request->reply. */
struct writing {
    struct codec_text text;
    unsigned encoded; /* rows */
    unsigned *order;  /* room for the places of labels of any row, or of all rows */
};

/* Begins it with `head` at the first call. NULL if there is no memory. */
struct writing *writing_begin(struct request *request, const char *head);

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

/* The cosine of the vectors of two rows. */
void writing_cosine(struct codec_text *text, const struct row *left, const struct row *right);

/* order [count] <- places of scores, the highest first, equal ones in their order. */
void writing_rank(unsigned *order, const float *scores, unsigned count);

#endif
