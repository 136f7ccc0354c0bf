/* groups.h - which texts belong together, for an embedding to learn: the two of a pair, or all of
 * one label.
 *
 *     groups_open(&groups, datasets, 2, &arena, &err);         pairs become items of their own
 *     ... groups.of[part][item] ...
 *
 * A list with "text_pair" is of pairs: item 2i and item 2i + 1 are one (dataset_unpair). Pairs that
 * share a text, byte for byte, are of one group, however long the chain: none is a negative of
 * another. Other lists have labels, and a group is a label.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_GROUPS_H
#define ATTND_LEARN_TRAIN_LOOP_GROUPS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "learn/data/dataset.h"

#include <stdbool.h>

enum { GROUPS_PARTS = 2 };

struct groups {
    bool are_pairs;
    unsigned count;             /* 0: nothing was opened */
    unsigned *of[GROUPS_PARTS]; /* [datasets[i]->count], in the arena */
    const char **name;          /* [count] the label of a group; of pairs NULL */
};

/* ERR_UNUSABLE: one list has pairs and the other has none, a pair has a label or a value, only some
 * items have a second text, an item has neither a label nor a second text. ERR_NO_MEMORY. A data
 * set that is NULL is not there; the first is. */
enum err_code groups_open(struct groups *out, struct dataset *const datasets[GROUPS_PARTS],
                          struct arena *arena, struct err *err);

#endif
