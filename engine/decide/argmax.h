/* argmax.h - the label that an answer gives: the one with the largest logit or score, of equal ones
 * the first. Threads: pure function. */
#ifndef ATTND_ENGINE_DECIDE_ARGMAX_H
#define ATTND_ENGINE_DECIDE_ARGMAX_H

/* The index of the largest of scores[0..count), count >= 1. */
static inline unsigned argmax(const float *scores, unsigned count)
{
    unsigned best = 0;
    for (unsigned i = 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

#endif
