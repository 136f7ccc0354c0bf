/* window.h - the last predictions, each found by the id and index that it was answered with: a ring
 * of entries, and an open-addressing table of places in it. All of it is allocated at the start.
 *
 *     window_open(&window, 100000, &err);
 *     window_key(&window, "die-7", 0, key);
 *     window_put(&window, &entry, ...)                  the oldest one is forgotten
 *     struct window_entry *entry = window_find(&window, key);
 *
 * An id may have 128 bytes, and most are short: an entry holds a hash of 128 bits in its place. The
 * hash has a random key, so no client can make two ids collide, and by chance two of 10^12 ids do
 * with a probability below 10^-14; nothing is compared beyond it.
 *
 * Predictions have numbers. Those of this process count from size + 1; 1 to size are kept for the
 * ones before a restart, which are read while new ones come already (feedback_past.c). Of two with
 * one key the higher number is found, in whichever order they were put.
 *
 * Measured (100000 predictions, x86-64): 66 bytes each, 56 of the entry and 10 of the table; 190 ns
 * to put one into a full window, hash and lock with it, which does not show in the median of
 * /predict (24 pairs of 2000 requests of 158 us: 0.0 us, quartiles -14 and 7).
 *
 * Threads: one at a time.
 */
#ifndef ATTND_SERVER_FEEDBACK_WINDOW_H
#define ATTND_SERVER_FEEDBACK_WINDOW_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_NO_LABEL UINT64_MAX

struct window_entry {
    uint64_t key[2];
    uint64_t number;        /* 0: an empty place */
    uint64_t predicted_set; /* has_set: outcomes.h's set of labels; is_text: a text's place */
    uint64_t label;         /* the right one, or is_set: the right set, or is_text: the right text's
                           place; WINDOW_NO_LABEL: nobody told */
    uint32_t predicted;     /* outcomes.h's label */
    uint16_t version;       /* outcomes.h's */
    uint16_t owner;         /* the key that asked (window_owner) */
    uint8_t decision;       /* enum decision */
    bool has_set : 1;       /* several labels may hold: predicted is the best of them */
    bool is_set : 1;
    bool is_text : 1;      /* the answer is a text (feedback_state.h) */
    bool is_other : 1;     /* the label is counted as "other" (outcomes.h) */
    bool is_sampled : 1;   /* drawn at random among the automatic ones */
    bool is_contested : 1; /* somebody else asked under its id as well */
};
_Static_assert(sizeof(struct window_entry) == 56, "as it was measured");

struct window {
    unsigned size; /* 0: nothing is remembered */
    uint64_t next; /* the number of the next prediction of this process */
    uint64_t secret[2];
    struct window_entry *entries; /* [size] that of a number is at number % size */
    uint32_t *places;             /* [mask + 1] 1 + the place of an entry; 0: empty */
    uint32_t mask;
    void (*left)(void *context, const struct window_entry *entry); /* is told of each that is
                                                                      forgotten; NULL: nobody */
    void *context; /* argument of `left`, borrowed */
};

/* Bytes that a window of that size takes. */
size_t window_bytes(unsigned size);

/* ERR_NO_MEMORY; ERR_IO without random bytes. */
enum err_code window_open(struct window *window, unsigned size, struct err *err);
/* Tells `left` of each that is remembered. */
void window_close(struct window *window);

/* Any thread. */
void window_key(const struct window *window, const char *id, unsigned index, uint64_t key[2]);

/* A hash of who asked: the name of a key, or NULL. Names are the configuration's, so nobody can
 * choose one of the same hash; by chance two of 100 have one with a probability of 0.07. */
uint16_t window_owner(const struct window *window, const char *key_name);

/* A new prediction; its number is set here. */
void window_put(struct window *window, const struct window_entry *entry);

/* Puts an entry from before the start, with its number. False: a newer entry has its place or its
 * key. */
bool window_put_old(struct window *window, const struct window_entry *entry);

/* True if the entry is from before the start. */
static inline bool window_is_old(const struct window *window, const struct window_entry *entry)
{
    return entry->number <= window->size;
}

/* Forgets the latest with the key, if there is one. */
void window_drop(struct window *window, const uint64_t key[2]);

/* Forgets the oldest of all with a text. *from: no older one has any. False: there is none. */
bool window_drop_oldest_text(struct window *window, uint64_t *from);

/* Forgets all of a version, whose number will be another's. */
void window_drop_version(struct window *window, unsigned version);

/* The latest with the key; NULL: it is not remembered. Valid until the next is put. */
struct window_entry *window_find(const struct window *window, const uint64_t key[2]);

#endif
