/* review_state.h - what review.c keeps, and review_restore.c fills at the start. Private to both.
 *
 *     review_restore(review);                 by the thread, before it writes anything
 *     atomic_load(&review->is_restored)
 *
 * Threads: as the fields say.
 */
#ifndef ATTND_SERVER_REVIEW_REVIEW_STATE_H
#define ATTND_SERVER_REVIEW_REVIEW_STATE_H

#include "server/review/kept_file.h"
#include "server/review/review.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct job;

struct review {
    struct review_options options;
    uint64_t bytes_max;
    uint64_t block_bytes; /* a file takes whole ones of the disk */
    char dir[PATH_MAX];   /* of the files */
    pthread_mutex_t queue;
    pthread_cond_t wanted; /* with queue: a job came, or all is closing */
    /* Under queue. */
    struct job *first, **end;
    unsigned jobs;
    size_t waiting; /* bytes of the inputs */

    pthread_mutex_t lock;
    struct kept_list list; /* under lock; changed by the thread alone */

    atomic_bool is_closing;             /* set under queue; partners: review_close, the thread */
    atomic_bool is_restored;            /* partners: review_restore, review_check_restored */
    atomic_uint_fast64_t kept, dropped; /* alone */
    /* Fields of the thread. */
    uint64_t next; /* number of the next file */
    bool is_failing;
    /* Fields of the main thread. */
    pthread_t thread;
    bool has_thread;
};

/* Any thread. */
void review_key(const struct review *review, const char *id, unsigned index, uint64_t key[2]);

/* A hash of its name, for kept_entry. */
uint32_t review_model(const char *model);
/* ERR_NOT_READY: what was kept before the start is still being read. */
enum err_code review_check_restored(const struct review *review, struct err *err);

/* Bytes that a file of this size takes on the disk. */
static inline uint64_t review_on_disk(const struct review *review, uint64_t bytes)
{
    return (bytes + review->block_bytes - 1) / review->block_bytes * review->block_bytes;
}

/* By the thread: removes the oldest until so many bytes more, and one file, are allowed. */
void review_make_room(struct review *review, uint64_t bytes);
void review_add(struct review *review, const struct kept_entry *entry);

/* Reads what the directory holds, sets the next number, and says that it has done so. */
void review_restore(struct review *review);

#endif
