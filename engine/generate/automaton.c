#include "engine/generate/automaton.h"

#include <assert.h>
#include <string.h>

enum { DIGITS = 10, OTHER = 0 /* class of bytes that are nobody's */ };

enum err_code automaton_table(struct automaton *out, const char *name, unsigned states,
                              unsigned classes, size_t bytes_max, uint16_t **next,
                              uint8_t **accepts, struct arena *arena, struct err *err)
{
    const size_t steps = (size_t)states * classes, bytes = steps * sizeof **next;
    if (states > AUTOMATON_STATES_MAX)
        return err_set(err, ERR_UNUSABLE, "%s: needs more than %d states (limit)", name,
                       AUTOMATON_STATES_MAX);
    if (bytes > bytes_max)
        return err_set(err, ERR_UNUSABLE,
                       "%s: needs %u states of %u kinds of bytes, a table of %zu bytes (limit %zu)",
                       name, states, classes, bytes, bytes_max);
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
    if (automaton_table(out, name, states + (unsigned)bytes, classes, AUTOMATON_BYTES_MAX, &next,
                        &accepts, arena, err))
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

static size_t count_digits(struct automaton_text source)
{
    size_t digits = 0;
    for (size_t i = 0; i < source.len; i++)
        digits += is_digit(source.bytes[i]);
    return digits;
}

size_t automaton_numbers_bytes(struct automaton_text source)
{
    const size_t digits = count_digits(source);
    return digits > AUTOMATON_STATES_MAX
               ? 0
               : automaton_bytes(AUTOMATON_START + 1 + digits, DIGITS + 1);
}

/* Every number is a branch below the start; behind a whole one another byte leads back there. */
enum err_code automaton_numbers(struct automaton *out, const char *name,
                                struct automaton_text source, struct arena *arena, struct err *err)
{
    const unsigned classes = DIGITS + 1;
    unsigned states = AUTOMATON_START + 1;
    const size_t digits = count_digits(source);
    uint16_t *next;
    uint8_t *accepts;
    if (digits > AUTOMATON_STATES_MAX - states)
        return err_set(err, ERR_UNUSABLE, "%s: the source has %zu digits (limit %d)", name, digits,
                       AUTOMATON_STATES_MAX - (int)states);
    for (unsigned byte = 0; byte < 256; byte++)
        out->class_of[byte] = is_digit((char)byte) ? (uint8_t)(byte - '0' + 1) : OTHER;
    if (automaton_table(out, name, states + (unsigned)digits, classes, AUTOMATON_BYTES_MAX, &next,
                        &accepts, arena, err))
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

/* ---- without white space at the ends ---- */

/* Its states are pairs of an old state and whether a white space came last: 2 x state + space; one
 * more is the start, which takes none. */
struct trim {
    const struct automaton *old;
    unsigned pairs, classes;
    uint8_t class_of[256], old_class[256];
    bool is_space[256];   /* by class */
    bool *is_live;        /* [pairs] a text that is accepted goes on from it */
    uint16_t *number;     /* [pairs] new states; AUTOMATON_DEAD: none yet */
    uint16_t *of;         /* [pairs] by new state */
    uint32_t *from_first; /* [pairs + 1] offsets into `from` */
    uint16_t *from;       /* [pairs x classes] pairs with a step to each */
};

/* Splits classes that hold white space and other bytes. */
static void split_classes(struct trim *trim)
{
    static const char spaces[] = "\t\n\v\f\r\x1C\x1D\x1E\x1F ";
    uint16_t found[512] = {0}; /* class + 1 */
    for (unsigned byte = 0; byte < 256; byte++) {
        const bool is_space = byte != 0 && strchr(spaces, (int)byte) != NULL;
        uint16_t *class = &found[2 * trim->old->class_of[byte] + is_space];
        if (*class == 0) {
            trim->old_class[trim->classes] = trim->old->class_of[byte];
            trim->is_space[trim->classes] = is_space;
            *class = (uint16_t)++trim->classes;
        }
        trim->class_of[byte] = (uint8_t)(*class - 1);
    }
}

/* The pair behind one and a byte of the class; 0: none. */
static unsigned pair_step(const struct trim *trim, unsigned pair, unsigned class)
{
    const bool is_start = pair == trim->pairs - 1;
    const unsigned state = is_start ? AUTOMATON_START : pair / 2;
    const unsigned to = trim->old->next[state * trim->old->classes + trim->old_class[class]];
    if (to == AUTOMATON_DEAD || (is_start && trim->is_space[class]))
        return 0;
    return 2 * to + trim->is_space[class];
}

static bool pair_accepts(const struct trim *trim, unsigned pair)
{
    const bool is_start = pair == trim->pairs - 1;
    return trim->old->accepts[is_start ? AUTOMATON_START : pair / 2] && (is_start || pair % 2 == 0);
}

/* Lists the steps to each pair: a counting sort. */
static void turn_round(struct trim *trim)
{
    for (int is_counted = 0; is_counted < 2; is_counted++) {
        for (unsigned pair = 2; pair < trim->pairs; pair++)
            for (unsigned class = 0; class < trim->classes; class ++) {
                const unsigned to = pair_step(trim, pair, class);
                if (is_counted)
                    trim->from[--trim->from_first[to]] = (uint16_t)pair;
                else
                    trim->from_first[to]++;
            }
        for (unsigned pair = 1; pair <= trim->pairs && !is_counted; pair++)
            trim->from_first[pair] += trim->from_first[pair - 1];
    }
}

/* Goes back from the ends. The queue is trim->of, which is free until states are numbered. */
static void mark_live(struct trim *trim)
{
    unsigned done = 0, queued = 0;
    turn_round(trim);
    for (unsigned pair = 2; pair < trim->pairs; pair++)
        if (pair_accepts(trim, pair)) {
            trim->is_live[pair] = true;
            trim->of[queued++] = (uint16_t)pair;
        }
    while (done < queued) {
        const unsigned to = trim->of[done++];
        for (uint32_t i = trim->from_first[to]; i < trim->from_first[to + 1]; i++)
            if (!trim->is_live[trim->from[i]]) {
                trim->is_live[trim->from[i]] = true;
                trim->of[queued++] = trim->from[i];
            }
    }
}

/* Numbers what is live and in reach of the start; returns the states. */
static unsigned number_states(struct trim *trim)
{
    unsigned states = AUTOMATON_START;
    trim->number[trim->pairs - 1] = (uint16_t)states;
    trim->of[states++] = (uint16_t)(trim->pairs - 1);
    for (unsigned state = AUTOMATON_START; state < states; state++)
        for (unsigned class = 0; class < trim->classes; class ++) {
            const unsigned to = pair_step(trim, trim->of[state], class);
            if (!trim->is_live[to] || trim->number[to] != AUTOMATON_DEAD)
                continue;
            trim->number[to] = (uint16_t)states;
            trim->of[states++] = (uint16_t)to;
        }
    return states;
}

enum err_code automaton_trim(struct automaton *out, const struct automaton *old, const char *name,
                             size_t bytes_max, struct arena *arena, struct err *err)
{
    struct trim trim = {.old = old, .pairs = 2 * old->states + 1};
    struct arena scratch;
    uint16_t *next;
    uint8_t *accepts;
    assert(old->states <= AUTOMATON_STATES_MAX);
    split_classes(&trim);
    arena_init(&scratch);
    trim.is_live = arena_alloc_array(&scratch, trim.pairs, sizeof *trim.is_live);
    trim.number = arena_alloc_array(&scratch, trim.pairs, sizeof *trim.number);
    trim.of = arena_alloc_array(&scratch, trim.pairs + 1, sizeof *trim.of);
    trim.from_first = arena_alloc_array(&scratch, trim.pairs + 1, sizeof *trim.from_first);
    trim.from = arena_alloc_array(&scratch, trim.pairs, trim.classes * sizeof *trim.from);
    if (trim.is_live == NULL || trim.number == NULL || trim.of == NULL || trim.from_first == NULL ||
        trim.from == NULL) {
        err_no_memory(err, (size_t)trim.pairs * trim.classes * sizeof *trim.from);
        goto out;
    }
    mark_live(&trim);
    if (!trim.is_live[trim.pairs - 1]) {
        err_set(err, ERR_UNUSABLE, "%s: each of its texts begins or ends with white space", name);
        goto out;
    }
    const unsigned states = number_states(&trim);
    if (automaton_table(out, name, states, trim.classes, bytes_max, &next, &accepts, arena, err))
        goto out;
    memcpy(out->class_of, trim.class_of, sizeof out->class_of);
    for (unsigned state = AUTOMATON_START; state < states; state++) {
        accepts[state] = pair_accepts(&trim, trim.of[state]);
        for (unsigned class = 0; class < trim.classes; class ++)
            next[state * trim.classes + class] =
                trim.number[pair_step(&trim, trim.of[state], class)];
    }
out:
    arena_deinit(&scratch);
    return err->code;
}
