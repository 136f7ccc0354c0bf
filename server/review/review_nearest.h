/* review_nearest.h - the kept inputs of a model that are nearest to a new one, by likeness
 * (server/serve/likeness.h), with the right labels that people gave.
 *
 *     const struct review_nearest_question question = {.model = "wafer-vit", .likeness = likeness,
 *                                                      .likeness_size = 192, .k = 5, ...};
 *     review_nearest(review, &question, items, &count, &arena, &err);
 *
 * The newest REVIEW_READ_MAX inputs of the model are compared; an older input with the id and index
 * of a newer one is not.
 *
 * Threads: any; it reads files and computes, on the caller's thread: a second for the most.
 */
#ifndef ATTND_SERVER_REVIEW_REVIEW_NEAREST_H
#define ATTND_SERVER_REVIEW_REVIEW_NEAREST_H

#include "engine/base/interrupt.h"
#include "server/feedback/feedback.h"
#include "server/review/review.h"
#include "wire/answer.h"

/* The source of each: GET /review/{id} returns it; with the index of an input among several. */
#define REVIEW_NEAREST_SOURCE "review"
enum { REVIEW_NEAREST_SOURCE_BYTES = 32 };

struct review_nearest_question {
    const char *model;
    const int8_t *likeness; /* [likeness_size] */
    unsigned likeness_size;
    unsigned k;                  /* at most so many */
    struct feedback *feedback;   /* borrowed */
    struct interrupt *interrupt; /* NULL: none */
};

/* Most memory that it takes of the arena. */
size_t review_nearest_bytes(struct review *review, unsigned k);

/* Fills items [k], the nearest first, and *count. Their strings are the arena's. ERR_NOT_READY: the
 * inputs or predictions of before the start are still being read; ERR_NO_MEMORY; the error of the
 * interrupt. */
enum err_code review_nearest(struct review *review, const struct review_nearest_question *question,
                             struct answer_neighbour *items, unsigned *count, struct arena *arena,
                             struct err *err);

#endif
