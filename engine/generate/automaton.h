/* automaton.h - a deterministic automaton over the bytes of a text, with few enough states to be a
 * table.
 *
 *     automaton_words(&automaton, words, count, false, &arena, &err)
 *     state = automaton_walk(&automaton, AUTOMATON_START, bytes, len)
 *     if (state == AUTOMATON_DEAD) ...         no text of the automaton goes on like that
 *     if (automaton_accepts(&automaton, state)) ...     the text so far is one
 *
 * From every state but the dead one some byte string leads to a text that is accepted. Threads:
 * immutable once it is made.
 */
#ifndef ATTND_ENGINE_GENERATE_AUTOMATON_H
#define ATTND_ENGINE_GENERATE_AUTOMATON_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AUTOMATON_DEAD = 0,
    AUTOMATON_START = 1,
    AUTOMATON_STATES_MAX = 16384,  /* the dead one and the start included */
    AUTOMATON_BYTES_MAX = 8 << 20, /* of the table of steps */
    AUTOMATON_WORDS_MAX = 1000,
};

struct automaton {
    unsigned states, classes;
    uint8_t class_of[256];  /* bytes that all states treat alike */
    const uint16_t *next;   /* [states][classes] */
    const uint8_t *accepts; /* [states] */
};

/* A text of an arena; it may hold any bytes. */
struct automaton_text {
    const char *bytes;
    size_t len;
};

static inline unsigned automaton_walk(const struct automaton *automaton, unsigned state,
                                      const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && state != AUTOMATON_DEAD; i++)
        state =
            automaton
                ->next[state * automaton->classes + automaton->class_of[(unsigned char)bytes[i]]];
    return state;
}

static inline bool automaton_accepts(const struct automaton *automaton, unsigned state)
{
    return automaton->accepts[state] != 0;
}

/* Accepts the words alone, 1 to AUTOMATON_WORDS_MAX. ERR_UNUSABLE, which calls the list `name` and
 * gives the word's number and the limit, for none, too many, an empty one, or more states than
 * AUTOMATON_STATES_MAX. Cost: memory of the table, at most AUTOMATON_BYTES_MAX. */
enum err_code automaton_words(struct automaton *out, const char *name,
                              const struct automaton_text *words, size_t count, struct arena *arena,
                              struct err *err);

/* Accepts each text whose numbers, the longest runs of the digits 0 to 9, are numbers of the
 * source: "3.97" has the numbers 3 and 97. ERR_UNUSABLE, which calls the rule `name`, for more
 * states than AUTOMATON_STATES_MAX. */
enum err_code automaton_numbers(struct automaton *out, const char *name,
                                struct automaton_text source, struct arena *arena, struct err *err);

/* Bytes that this takes from the arena; 0: it is refused. */
size_t automaton_numbers_bytes(struct automaton_text source);
/* Bytes of an automaton: words have at most a state for each byte and two more, and a class for
 * each kind of byte and one more. */
static inline size_t automaton_bytes(size_t states, size_t classes)
{
    return states * classes * sizeof(uint16_t) + states + 2 * (size_t)ARENA_ALIGNMENT;
}

/* Takes a table's bytes from the arena, with all steps to the dead state and no state accepting.
 * ERR_UNUSABLE, which calls the automaton `name`, for a table over bytes_max. */
enum err_code automaton_table(struct automaton *out, const char *name, unsigned states,
                              unsigned classes, size_t bytes_max, uint16_t **next,
                              uint8_t **accepts, struct arena *arena, struct err *err);

/* Accepts the texts of `old` that neither begin nor end with white space of ASCII (that of Python's
 * str.strip): a tokenizer that strips writes no others. ERR_UNUSABLE, which calls it `name`, if
 * there are none, or for a table over bytes_max. Linear in the table; takes twice its bytes while
 * it runs. */
enum err_code automaton_trim(struct automaton *out, const struct automaton *old, const char *name,
                             size_t bytes_max, struct arena *arena, struct err *err);

#endif
