/* decision.h - what to do with an answer: auto (use it without review), review (by a person), or
 * unknown (the input is out of distribution). Plain data. */
#ifndef ATTND_ENGINE_DECIDE_DECISION_H
#define ATTND_ENGINE_DECIDE_DECISION_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum decision { DECISION_AUTO, DECISION_REVIEW, DECISION_UNKNOWN, DECISION_COUNT };

/* A doubt about an answer, whatever its score: not all of the text is read; the image is not
 * grey; the text was written with another checksum than the threshold was fitted with. */
enum input_doubt { DOUBT_NONE, DOUBT_TRUNCATED, DOUBT_COLOURED, DOUBT_CHECKSUM };

struct judgement {
    enum decision decision;
    bool uncalibrated; /* review: the model has no thresholds */
    bool truncated;    /* review: the model has not read all of the text; nothing else was wrong */
    bool coloured;     /* review: the picture has colours, and the model learnt grey ones */
    bool other_checksum; /* review: DOUBT_CHECKSUM; nothing else was wrong */
    unsigned label;  /* review, unless one of these: the label that scores below its threshold */
    float score;     /* its score, of a span that of the span */
    bool never;      /* review: that label has no threshold: never auto */
    float threshold; /* review: the label's, unless one of these; unknown: ood_score's */

    bool has_ood;    /* the model gives an OOD score */
    float ood_score; /* larger: further out of distribution; finite */
    bool has_rank;
    float ood_rank; /* the share of the validation inputs with a lower score, 0 to 1 */
};

enum { DECISION_THRESHOLD_BYTES = 24 };

/* "auto", "review", "unknown". */
static inline const char *decision_name(enum decision decision)
{
    return decision == DECISION_AUTO ? "auto" : decision == DECISION_REVIEW ? "review" : "unknown";
}

/* Writes a threshold as a person gave it: 0.8, and not 0.800000012, which is the float. */
static inline const char *decision_threshold_text(char out[DECISION_THRESHOLD_BYTES],
                                                  float threshold)
{
    snprintf(out, DECISION_THRESHOLD_BYTES, "%.6g", (double)threshold);
    if (strtof(out, NULL) != threshold)
        snprintf(out, DECISION_THRESHOLD_BYTES, "%.9g", (double)threshold);
    return out;
}

#endif
