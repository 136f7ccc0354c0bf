/* linkage.c - see linkage.h.
 *
 * The nearest-neighbour chain (Benzecri 1982; Muellner, arXiv:1109.2378): from any group to its
 * most alike, from that one to its own, until two are each other's; these become one. Average
 * linkage makes no group more alike to another than the more alike of its halves was, so the order
 * in which pairs are found does not matter, and a group whose most alike is too far away is
 * finished. The mean cosine of a joined group with another is that of its halves, by size. */
#include "server/review/linkage.h"

#include "server/serve/likeness.h"

#include <stdbool.h>

enum { NOBODY = -1 };

struct walk {
    const struct linkage *linkage;
    float *cosines;   /* [count * (count - 1) / 2] mean ones, of each pair of open groups */
    float *lengths;   /* [count] of the likenesses */
    unsigned *sizes;  /* [count] of the group that an input names; 0: it is finished, or joined */
    unsigned *joined; /* [count] the input that names the group of this one, perhaps by others */
    unsigned *chain;  /* [length] */
    unsigned length;
};

static float *between(const struct walk *walk, unsigned a, unsigned b)
{
    const size_t high = a > b ? a : b, low = a > b ? b : a;
    return &walk->cosines[high * (high - 1) / 2 + low];
}

/* The most alike open group that is alike enough, of several the one before in the chain. */
static int most_alike(const struct walk *walk, unsigned group)
{
    float best = walk->linkage->least;
    int found = NOBODY;
    if (walk->length > 1) {
        const unsigned before = walk->chain[walk->length - 2];
        best = *between(walk, group, before);
        found = (int)before;
    }
    for (unsigned other = 0; other < walk->linkage->count; other++) {
        if (walk->sizes[other] == 0 || other == group)
            continue;
        const float cosine = *between(walk, group, other);
        if (cosine > best || (found == NOBODY && cosine == best)) {
            best = cosine;
            found = (int)other;
        }
    }
    return found;
}

static void join(struct walk *walk, unsigned group, unsigned into)
{
    const float part = (float)walk->sizes[group], rest = (float)walk->sizes[into];
    walk->sizes[into] += walk->sizes[group];
    walk->sizes[group] = 0;
    walk->joined[group] = into;
    for (unsigned other = 0; other < walk->linkage->count; other++)
        if (walk->sizes[other] > 0 && other != into)
            *between(walk, into, other) =
                (part * *between(walk, group, other) + rest * *between(walk, into, other)) /
                (part + rest);
}

/* From `first` until its chain is empty. */
static enum err_code follow(struct walk *walk, unsigned first, struct err *err)
{
    walk->chain[walk->length++] = first;
    while (walk->length > 0) {
        const unsigned last = walk->chain[walk->length - 1];
        const int next = most_alike(walk, last);
        if (interrupt_look(walk->linkage->interrupt, err))
            return err->code;
        if (next == NOBODY) {
            walk->sizes[last] = 0;
            walk->length--;
        } else if (walk->length > 1 && (unsigned)next == walk->chain[walk->length - 2]) {
            join(walk, last, (unsigned)next);
            walk->length -= 2;
        } else
            walk->chain[walk->length++] = (unsigned)next;
    }
    return ERR_OK;
}

size_t linkage_bytes(unsigned count)
{
    const size_t pairs = (size_t)count * (count > 0 ? count - 1 : 0) / 2;
    return pairs * sizeof(float) + 4 * (size_t)count * sizeof(unsigned) + 5 * ARENA_ALIGNMENT;
}

enum err_code linkage_groups(const struct linkage *linkage, unsigned *of, unsigned *groups,
                             struct arena *arena, struct err *err)
{
    const unsigned count = linkage->count;
    struct walk walk = {
        .linkage = linkage,
        .cosines =
            arena_alloc(arena, (size_t)count * (count > 0 ? count - 1 : 0) / 2 * sizeof(float)),
        .lengths = arena_alloc(arena, count * sizeof *walk.lengths),
        .sizes = arena_alloc(arena, count * sizeof *walk.sizes),
        .joined = arena_alloc(arena, count * sizeof *walk.joined),
        .chain = arena_alloc(arena, count * sizeof *walk.chain),
    };
    *groups = 0;
    if (walk.cosines == NULL || walk.lengths == NULL || walk.sizes == NULL || walk.joined == NULL ||
        walk.chain == NULL)
        return err_no_memory(err, linkage_bytes(count));
    for (unsigned i = 0; i < count; i++) {
        walk.sizes[i] = 1;
        walk.joined[i] = i;
    }
    for (unsigned a = 0; a < count; a++) {
        const int8_t *one = linkage->likenesses + (size_t)a * linkage->size;
        walk.lengths[a] = likeness_length(one, linkage->size);
        if (interrupt_look(linkage->interrupt, err))
            return err->code;
        for (unsigned b = 0; b < a; b++) {
            const float lengths = walk.lengths[a] * walk.lengths[b];
            const int8_t *other = linkage->likenesses + (size_t)b * linkage->size;
            *between(&walk, a, b) =
                lengths > 0 ? (float)likeness_dot(one, other, linkage->size) / lengths : 0;
        }
    }
    for (unsigned i = 0; i < count; i++)
        while (walk.sizes[i] > 0)
            if (follow(&walk, i, err))
                return err->code;
    /* From names to numbers, in the order of the first input of each. */
    unsigned *numbers = walk.chain; /* [count] of the group that an input names, plus one */
    for (unsigned i = 0; i < count; i++)
        numbers[i] = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned name = i;
        while (walk.joined[name] != name)
            name = walk.joined[name];
        if (numbers[name] == 0)
            numbers[name] = ++*groups;
        of[i] = numbers[name] - 1;
    }
    return ERR_OK;
}
