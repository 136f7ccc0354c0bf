/* look_ahead.h - how likely the rest of a text can be if an automaton is to accept the whole: a
 * search from token to token does not see it, since a checksum shows at the end alone.
 *
 *     look_ahead_open(&ahead, &automaton, &texts, places_max, &arena, &err)
 *     look_ahead_note(&ahead, place, token, logarithm, ends);     a first search, at each place
 *     if (look_ahead_compute(&ahead, places, is_cut, AUTOMATON_START))
 *         ... look_ahead_rest(&ahead, place, state)               a second search orders by it
 *
 * The first search notes p_t(c), the probabilities of the tokens at place t behind its best
 * hypothesis. As if they were the same behind every other one, the rest of a text that is in state
 * s of the automaton is at best (dynamic programming; Bellman 1957)
 *
 *     rest(t, s) = max( log p_t(end) where s accepts, max over c of log p_t(c) + rest(t + 1, s c) )
 *
 * and a search that orders hypotheses by their own sum plus rest(t, s) (Hart, Nilsson and Raphael
 * 1968) follows those that can end well. Their sums stay the model's.
 *
 * Tokens add one byte to the text, or none. Threads: one at a time.
 */
#ifndef ATTND_ENGINE_GENERATE_LOOK_AHEAD_H
#define ATTND_ENGINE_GENERATE_LOOK_AHEAD_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/generate/output_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look_ahead {
    const struct automaton *automaton;
    const struct token_texts *texts;
    float *chances; /* [places][classes + 2] logarithms: of the likeliest token with a byte of each
                       class, of one without a byte, and of an end */
    float *rest;    /* [places + 1][states] */
};

/* Bytes of the arena. */
size_t look_ahead_bytes(const struct automaton *automaton, unsigned places);
/* Automaton and texts are borrowed. ERR_NO_MEMORY. */
enum err_code look_ahead_open(struct look_ahead *out, const struct automaton *automaton,
                              const struct token_texts *texts, unsigned places, struct arena *arena,
                              struct err *err);

/* Begins a place: no token is possible there. */
void look_ahead_begin(struct look_ahead *ahead, unsigned place);
/* A token that is possible at the place, with the logarithm of its probability. */
void look_ahead_note(struct look_ahead *ahead, unsigned place, uint32_t token, float logarithm,
                     bool ends);
/* Fills `rest` from `places` places; is_cut: a text may end behind the last of them without an end.
 * False: no text that begins in the state `first` can be accepted. Cost: places x states x classes.
 */
bool look_ahead_compute(struct look_ahead *ahead, unsigned places, bool is_cut, unsigned first);

/* rest(place, state), at most 0; minus infinity for the dead state. */
static inline float look_ahead_rest(const struct look_ahead *ahead, unsigned place, unsigned state)
{
    return ahead->rest[(size_t)place * ahead->automaton->states + state];
}

#endif
