/* kept_list.h - which inputs are kept, oldest first, in memory: a ring of numbers with what they
 * are found and counted by.
 *
 *     kept_list_open(&list, entries_max, &err);
 *     kept_list_add(&list, &entry);                        the caller has made room
 *     kept_list_find(&list, key, &entry);                  the newest of the key
 *     kept_list_oldest(&list)->number; kept_list_drop(&list);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_SERVER_REVIEW_KEPT_LIST_H
#define ATTND_SERVER_REVIEW_KEPT_LIST_H

#include "engine/base/err.h"
#include "engine/decide/decision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept_entry {
    uint64_t key[2]; /* of id and index */
    uint64_t number; /* of the file; higher is newer */
    uint64_t bytes;  /* of the disk */
    enum decision decision;
    uint32_t model; /* a hash of its name */
};

struct kept_list {
    struct kept_entry *entries; /* [room] */
    unsigned room, first, count;
    uint64_t bytes; /* of the disk, of all files */
};

/* ERR_NO_MEMORY. */
enum err_code kept_list_open(struct kept_list *list, unsigned room, struct err *err);
void kept_list_close(struct kept_list *list);

/* It is newer than all others, and there is room. */
void kept_list_add(struct kept_list *list, const struct kept_entry *entry);
const struct kept_entry *kept_list_oldest(const struct kept_list *list); /* NULL: it is empty */
void kept_list_drop(struct kept_list *list);                             /* the oldest */

/* The newest with the key; false: there is none. A walk over all: 0.1 ms of 100000. */
bool kept_list_find(const struct kept_list *list, const uint64_t key[2], struct kept_entry *out);

/* Numbers below `before`, newest first, of one decision or, with DECISION_COUNT, of any; how many
 * there are, of at most `most`. */
unsigned kept_list_before(const struct kept_list *list, uint64_t before, enum decision decision,
                          uint64_t *out, unsigned most);

/* The newest entries of a model, newest first; how many there are, of at most `most`. */
unsigned kept_list_newest(const struct kept_list *list, uint32_t model, struct kept_entry *out,
                          unsigned most);

/* Entries with numbers above `after`, oldest first; how many there are, of at most `most`. */
unsigned kept_list_after(const struct kept_list *list, uint64_t after, struct kept_entry *out,
                         unsigned most);

#endif
