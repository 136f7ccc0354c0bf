/* output_check.h - what a written text must be: automata that all accept it, and a question about
 * the whole of it. The search asks for each candidate whether some such text begins like that
 * (Willard and Louf 2023, "Efficient Guided Generation for Large Language Models": an automaton
 * over characters, walked token by token).
 *
 *     struct output_check check = {.texts = &texts, .automata = {&pattern}, .automaton_count = 1};
 *     output_check_start(&check, &state);
 *     if (output_check_step(&check, &state, token)) ...
 *
 * Several automata may each have a way to an end and have none in common; and a vocabulary may lack
 * the tokens for one. Then the search finds nothing. Threads: immutable, but for what `holds` does.
 */
#ifndef ATTND_ENGINE_GENERATE_OUTPUT_CHECK_H
#define ATTND_ENGINE_GENERATE_OUTPUT_CHECK_H

#include "engine/generate/automaton.h"

#include <stdbool.h>
#include <stdint.h>

enum { OUTPUT_AUTOMATA_MAX = 4 };

/* The bytes that each token adds to the text; none for special tokens. */
struct token_texts {
    const char *bytes;
    const uint32_t *offset; /* [vocabulary + 1] */
};

struct output_check {
    const struct token_texts *texts; /* may be NULL if there are no automata, nor `whole` */
    const struct token_texts *first; /* of the text's first token: it may lose the space in front.
                                        NULL: as the others */
    const uint32_t *start;           /* the token that all texts begin with; NULL: none */
    bool skips_empty;                /* behind a token that added nothing comes a first one again */
    const struct automaton *automata[OUTPUT_AUTOMATA_MAX];
    unsigned automaton_count;
    /* Accepts what `holds` asks for as a whole, a checksum: it bans no token, and a search that has
     * found nothing looks ahead for its texts (look_ahead.h). Where it does not accept the empty
     * text, and that is likelier than all others together, nothing is answered but a text that is
     * likelier than all others that are not empty. Tokens then add one byte at most. NULL: none. */
    const struct automaton *whole;
    /* Asked at the end of a hypothesis, whose ids have the start before them, ids[-1], and may have
     * the end: true if it may be answered. NULL: all may. */
    bool (*holds)(void *context, const uint32_t *ids, unsigned count);
    void *context;
};

struct output_state {
    uint16_t at[OUTPUT_AUTOMATA_MAX];
    uint16_t whole;
    bool has_first; /* the next token is not the text's first */
};

static inline const struct token_texts *output_check_texts(const struct output_check *check,
                                                           const struct output_state *state)
{
    return state->has_first || check->first == NULL ? check->texts : check->first;
}

/* True if the token adds nothing to any text. */
static inline bool output_check_is_silent(const struct output_check *check, uint32_t token)
{
    return check->automaton_count > 0 &&
           check->texts->offset[token] == check->texts->offset[token + 1];
}

/* False: no text that is accepted goes on with the token; the state is then of no use. */
static inline bool output_check_step(const struct output_check *check, struct output_state *state,
                                     uint32_t token)
{
    bool is_alive = true;
    if (check->automaton_count == 0 && check->whole == NULL)
        return true;
    const struct token_texts *texts = output_check_texts(check, state);
    const uint32_t begin = texts->offset[token], end = texts->offset[token + 1];
    for (unsigned a = 0; a < check->automaton_count && is_alive; a++) {
        state->at[a] = (uint16_t)automaton_walk(check->automata[a], state->at[a],
                                                texts->bytes + begin, end - begin);
        is_alive = state->at[a] != AUTOMATON_DEAD;
    }
    if (check->whole != NULL)
        state->whole =
            (uint16_t)automaton_walk(check->whole, state->whole, texts->bytes + begin, end - begin);
    state->has_first = state->has_first || end > begin || !check->skips_empty;
    return is_alive;
}

static inline void output_check_start(const struct output_check *check, struct output_state *state)
{
    for (unsigned a = 0; a < check->automaton_count; a++)
        state->at[a] = AUTOMATON_START;
    state->whole = AUTOMATON_START;
    state->has_first = false;
    if (check->start != NULL) /* a dead state stays dead */
        output_check_step(check, state, *check->start);
}

/* Bytes with which a token may begin that output_check_step lets through. */
static inline void output_check_first_bytes(const struct output_check *check,
                                            const struct output_state *state, bool out[256])
{
    for (unsigned byte = 0; byte < 256; byte++) {
        out[byte] = true;
        for (unsigned a = 0; a < check->automaton_count; a++)
            out[byte] = out[byte] && automaton_walk(check->automata[a], state->at[a],
                                                    &(const char){(char)byte}, 1);
    }
}

/* True if the text may end here. */
static inline bool output_check_ends(const struct output_check *check,
                                     const struct output_state *state)
{
    bool ends = true;
    for (unsigned a = 0; a < check->automaton_count; a++)
        ends = ends && automaton_accepts(check->automata[a], state->at[a]);
    return ends;
}

#endif
