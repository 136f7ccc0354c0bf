#include "engine/generate/automaton.h"

#include <string.h>

enum { DIGITS = 10, OTHER = 0 /* class of bytes that are nobody's */ };

enum err_code automaton_table(struct automaton *out, const char *name, unsigned states,
                              unsigned classes, uint16_t **next, uint8_t **accepts,
                              struct arena *arena, struct err *err)
{
    const size_t steps = (size_t)states * classes, bytes = steps * sizeof **next;
    if (states > AUTOMATON_STATES_MAX)
        return err_set(err, ERR_UNUSABLE, "%s: needs more than %d states (limit)", name,
                       AUTOMATON_STATES_MAX);
    if (bytes > AUTOMATON_BYTES_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "%s: needs %u states of %u kinds of bytes, a table of %zu bytes (limit %d)",
                       name, states, classes, bytes, AUTOMATON_BYTES_MAX);
    *next = arena_alloc_array(arena, steps, sizeof **next);
    *accepts = arena_alloc_array(arena, states, sizeof **accepts);
    if (*next == NULL || *accepts == NULL)
        return err_no_memory(err, bytes + states);
    out->states = states;
    out->classes = classes;
    out->next = *next;
    out->accepts = *accepts;
    return ERR_OK;
}

/* ---- words, as a trie ---- */

/* Gives each byte of the words a class of its own; returns the number of classes. */
static unsigned classify(uint8_t class_of[256], const struct automaton_text *words, size_t count)
{
    bool is_used[256] = {false};
    unsigned classes = OTHER + 1;
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < words[w].len; i++)
            is_used[(unsigned char)words[w].bytes[i]] = true;
    for (unsigned byte = 0; byte < 256; byte++)
        class_of[byte] = is_used[byte] && classes < 256 ? (uint8_t)classes++ : OTHER;
    return classes;
}

/* Adds a word below the start; *states grows. */
static void add_word(const struct automaton *trie, uint16_t *next, uint8_t *accepts,
                     unsigned *states, struct automaton_text word)
{
    unsigned state = AUTOMATON_START;
    for (size_t i = 0; i < word.len; i++) {
        const unsigned class = trie->class_of[(unsigned char)word.bytes[i]];
        uint16_t *step = &next[state * trie->classes + class];
        if (*step == AUTOMATON_DEAD)
            *step = (uint16_t)(*states)++;
        state = *step;
    }
    accepts[state] = 1;
}

enum err_code automaton_words(struct automaton *out, const char *name,
                              const struct automaton_text *words, size_t count, struct arena *arena,
                              struct err *err)
{
    size_t bytes = 0;
    unsigned states = AUTOMATON_START + 1;
    uint16_t *next;
    uint8_t *accepts;
    if (count < 1 || count > AUTOMATON_WORDS_MAX)
        return err_set(err, ERR_UNUSABLE, "%s: %zu texts (1 to %d)", name, count,
                       AUTOMATON_WORDS_MAX);
    for (size_t w = 0; w < count; w++) {
        if (words[w].len == 0)
            return err_set(err, ERR_UNUSABLE, "%s[%zu]: empty", name, w);
        if (words[w].len > AUTOMATON_STATES_MAX - states - bytes)
            return err_set(err, ERR_UNUSABLE, "%s[%zu]: the texts have more than %d bytes (limit)",
                           name, w, AUTOMATON_STATES_MAX - (int)states);
        bytes += words[w].len;
    }
    const unsigned classes = classify(out->class_of, words, count);
    if (automaton_table(out, name, states + (unsigned)bytes, classes, &next, &accepts, arena, err))
        return err->code;
    for (size_t w = 0; w < count; w++)
        add_word(out, next, accepts, &states, words[w]);
    out->states = states;
    return ERR_OK;
}

/* ---- numbers of a source ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Every number is a branch below the start; behind a whole one another byte leads back there. */
enum err_code automaton_numbers(struct automaton *out, const char *name,
                                struct automaton_text source, struct arena *arena, struct err *err)
{
    const unsigned classes = DIGITS + 1;
    unsigned states = AUTOMATON_START + 1;
    size_t digits = 0;
    uint16_t *next;
    uint8_t *accepts;
    for (size_t i = 0; i < source.len; i++)
        digits += is_digit(source.bytes[i]);
    if (digits > AUTOMATON_STATES_MAX - states)
        return err_set(err, ERR_UNUSABLE, "%s: the source has %zu digits (limit %d)", name, digits,
                       AUTOMATON_STATES_MAX - (int)states);
    for (unsigned byte = 0; byte < 256; byte++)
        out->class_of[byte] = is_digit((char)byte) ? (uint8_t)(byte - '0' + 1) : OTHER;
    if (automaton_table(out, name, states + (unsigned)digits, classes, &next, &accepts, arena, err))
        return err->code;
    for (size_t i = 0; i < source.len; i++) {
        struct automaton_text number = {source.bytes + i, 0};
        while (i < source.len && is_digit(source.bytes[i]))
            i++, number.len++;
        if (number.len > 0)
            add_word(out, next, accepts, &states, number);
    }
    accepts[AUTOMATON_START] = 1;
    for (unsigned state = AUTOMATON_START; state < states; state++)
        if (accepts[state])
            next[state * classes + OTHER] = AUTOMATON_START;
    out->states = states;
    return ERR_OK;
}

/* ---- a space in front ---- */

/* The start moves to a new state, and the old number becomes a copy of it whose space leads
 * there. */
enum err_code automaton_skip_space(struct automaton *automaton, const char *name,
                                   struct arena *arena, struct err *err)
{
    const struct automaton old = *automaton;
    const unsigned moved = old.states, space = (unsigned char)' ';
    unsigned classes = old.classes;
    uint16_t *next;
    uint8_t *accepts;
    bool is_alone = true; /* no other byte has the class of the space */
    for (unsigned byte = 0; byte < 256; byte++)
        is_alone = is_alone && (byte == space || old.class_of[byte] != old.class_of[space]);
    if (!is_alone)
        automaton->class_of[space] = (uint8_t)classes++;
    if (automaton_table(automaton, name, old.states + 1, classes, &next, &accepts, arena, err))
        return err->code;
    for (unsigned state = 0; state <= moved; state++) {
        const unsigned from = state == moved ? AUTOMATON_START : state;
        for (unsigned class = 0; class < classes; class ++) {
            const unsigned as = class < old.classes ? class : old.class_of[space];
            const uint16_t to = old.next[from * old.classes + as];
            next[state * classes + class] = to == AUTOMATON_START ? (uint16_t)moved : to;
        }
        accepts[state] = old.accepts[from];
    }
    next[AUTOMATON_START * classes + automaton->class_of[space]] = (uint16_t)moved;
    return ERR_OK;
}
