/* pattern.c - see pattern.h. Sets of parts become states in the order in which they are found. A
 * set lists the parts that take a byte, and the end; parts that take none are followed at once.
 * Since a way leads from every part to the end, the empty set alone is dead. */
#include "engine/generate/pattern.h"

#include "engine/base/utf8.h"
#include "engine/generate/pattern_parts.h"

#include <string.h>

enum {
    SETS_MAX = 1 << 20,              /* parts of all sets */
    PLACES = 4 * PATTERN_STATES_MAX, /* of the table of sets */
    STEPS_MAX = PATTERN_STATES_MAX * 256,
};

struct set {
    uint32_t begin, count; /* of members */
    bool accepts;
};

struct maker {
    struct pattern_parts parts;
    uint16_t members[SETS_MAX];          /* parts, rising in each set */
    struct set sets[PATTERN_STATES_MAX]; /* by state; the dead one's is empty */
    uint16_t places[PLACES];             /* states by their set's hash; 0: free */
    uint32_t seen[PATTERN_PARTS_MAX];    /* round in which a part was reached */
    uint16_t stack[PATTERN_PARTS_MAX];
    uint8_t sample[256];      /* a byte of each class */
    uint16_t next[STEPS_MAX]; /* [states][classes] */
    uint32_t round;
    unsigned states, member_count, classes;
    size_t work;
    const char *name;
    struct err *err;
};

/* ---- sets ---- */

static enum err_code refuse(struct maker *maker, const char *what, int limit)
{
    return err_set(maker->err, ERR_UNUSABLE, "%s: needs more than %d %s (limit)", maker->name,
                   limit, what);
}

/* Adds a part in its place. */
static void add_member(struct maker *maker, struct set *set, uint16_t part)
{
    uint16_t *members = maker->members + set->begin;
    uint32_t to = set->count++;
    for (; to > 0 && members[to - 1] > part; to--)
        members[to] = members[to - 1];
    members[to] = part;
    maker->work += set->count - to;
}

/* Adds to the new set what is reached from a part without a byte. */
static enum err_code reach(struct maker *maker, unsigned part, struct set *set)
{
    unsigned depth =
        0; /* grows by one a fork, and a fork is followed once: below the parts' number */
    maker->stack[depth++] = (uint16_t)part;
    while (depth > 0) {
        const unsigned at = maker->stack[--depth];
        const struct part *here = &maker->parts.at[at];
        if (maker->seen[at] == maker->round)
            continue;
        maker->seen[at] = maker->round;
        if (++maker->work > PATTERN_WORK_MAX)
            return refuse(maker, "steps to make its states", PATTERN_WORK_MAX);
        if (here->kind == PART_BYTE) {
            if (set->begin + set->count == SETS_MAX)
                return refuse(maker, "parts in its states", SETS_MAX);
            add_member(maker, set, (uint16_t)at);
        } else if (here->kind == PART_END) {
            set->accepts = true;
        } else {
            if (here->kind == PART_EITHER && maker->seen[here->other] != maker->round)
                maker->stack[depth++] = here->other;
            if (maker->seen[here->next] != maker->round)
                maker->stack[depth++] = here->next;
        }
    }
    return ERR_OK;
}

/* Finds the state of a set that stands behind the members so far, or makes it one. */
static enum err_code state_of(struct maker *maker, struct set set, uint16_t *out)
{
    const uint16_t *members = maker->members + set.begin;
    uint32_t place = set.accepts;
    for (uint32_t i = 0; i < set.count; i++)
        place = (place ^ members[i]) * 0x9E3779B1u;
    maker->work += set.count;
    for (place = (place >> 7) % PLACES; maker->places[place] != AUTOMATON_DEAD;
         place = (place + 1) % PLACES) {
        const struct set *other = &maker->sets[maker->places[place]];
        *out = maker->places[place];
        if (other->count == set.count && other->accepts == set.accepts &&
            memcmp(maker->members + other->begin, members, set.count * sizeof *members) == 0)
            return ERR_OK;
    }
    if (maker->states == PATTERN_STATES_MAX)
        return refuse(maker, "states", PATTERN_STATES_MAX);
    *out = maker->places[place] = (uint16_t)maker->states;
    maker->sets[maker->states++] = set;
    maker->member_count += set.count;
    return ERR_OK;
}

/* The state behind `from` and a byte of the class. */
static enum err_code step(struct maker *maker, unsigned from, unsigned class, uint16_t *out)
{
    const struct set old = maker->sets[from];
    struct set set = {.begin = maker->member_count};
    const uint8_t byte = maker->sample[class];
    maker->round++;
    *out = AUTOMATON_DEAD;
    maker->work += old.count;
    for (uint32_t i = 0; i < old.count; i++) {
        const struct part *part = &maker->parts.at[maker->members[old.begin + i]];
        if (part->low <= byte && byte <= part->high && reach(maker, part->next, &set))
            return maker->err->code;
    }
    if (maker->work > PATTERN_WORK_MAX)
        return refuse(maker, "steps to make its states", PATTERN_WORK_MAX);
    return set.count > 0 || set.accepts ? state_of(maker, set, out) : ERR_OK;
}

static enum err_code make_states(struct maker *maker)
{
    struct set start = {.begin = 0};
    uint16_t first;
    maker->round = 1;
    maker->states = AUTOMATON_START;
    if (reach(maker, maker->parts.start, &start) || state_of(maker, start, &first))
        return maker->err->code;
    for (unsigned state = AUTOMATON_START; state < maker->states; state++)
        for (unsigned class = 0; class < maker->classes; class ++)
            if (step(maker, state, class, &maker->next[state * maker->classes + class]))
                return maker->err->code;
    return ERR_OK;
}

size_t pattern_compile_bytes(void)
{
    return sizeof(struct maker);
}

enum err_code pattern_compile(struct automaton *out, const char *name, const char *pattern,
                              size_t len, struct arena *arena, struct err *err)
{
    struct arena scratch;
    size_t offset;
    uint16_t *next;
    uint8_t *accepts;
    if (len > PATTERN_BYTES_MAX)
        return err_set(err, ERR_UNUSABLE, "%s: %zu bytes (limit %d)", name, len, PATTERN_BYTES_MAX);
    if (!utf8_valid(pattern, len, &offset))
        return err_set(err, ERR_UNUSABLE, "%s: byte %zu: invalid UTF-8", name, offset);
    arena_init(&scratch);
    struct maker *maker = arena_alloc(&scratch, sizeof *maker);
    if (maker == NULL) {
        err_no_memory(err, sizeof *maker);
        goto out;
    }
    memset(maker->places, 0, sizeof maker->places);
    memset(maker->seen, 0, sizeof maker->seen);
    maker->member_count = 0;
    maker->work = 0;
    maker->name = name;
    maker->err = err;
    if (pattern_parts_read(&maker->parts, name, pattern, len, err))
        goto out;
    /* Bytes between which no part makes a difference are one class. */
    bool begins[257] = {false};
    for (unsigned i = 0; i < maker->parts.count; i++)
        if (maker->parts.at[i].kind == PART_BYTE)
            begins[maker->parts.at[i].low] = begins[maker->parts.at[i].high + 1] = true;
    unsigned class = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        class += byte > 0 && begins[byte];
        out->class_of[byte] = (uint8_t) class;
        maker->sample[class] = (uint8_t)byte;
    }
    maker->classes = class + 1;
    if (make_states(maker) || automaton_table(out, name, maker->states, maker->classes,
                                              PATTERN_TABLE_MAX, &next, &accepts, arena, err))
        goto out;
    memcpy(next, maker->next, (size_t)maker->states * maker->classes * sizeof *next);
    for (unsigned state = AUTOMATON_START; state < maker->states; state++)
        accepts[state] = maker->sets[state].accepts;
out:
    arena_deinit(&scratch);
    return err->code;
}
