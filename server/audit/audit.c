/* audit.c - see audit.h.
 *
 * Invariants, under the lock:
 *  1. `chain` is the chain with all lines that are in the log or in `next`; `kept` is the one with
 *     those that are in the log. Whatever fails to be written is dropped from both, so that the
 *     line that follows carries the hash of one that is there.
 *  2. At most one thread is the writer (`is_writing`). Others append to `next` meanwhile, and wait
 *     until their batch was written.
 *  3. A batch is written whole or dropped whole, and with it all that was appended behind it.
 *
 *
 * Lock ranks: audit->lock before the files' fd_lock. No lock is held while a file is written or
 * synced. */
#include "server/audit/audit.h"

#include "engine/base/clock.h"
#include "server/audit/audit_files.h"
#include "server/observe/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCH_BYTES = 256 * 1024,
    LOST_LINE_BYTES = AUDIT_SEAL_BYTES + 64,
    EXPIRE_EVERY_MS = 3600 * 1000
};
static const uint64_t EXPIRE_EVERY_NS = (uint64_t)EXPIRE_EVERY_MS * CLOCK_NS_PER_MS;
_Static_assert((int)BATCH_BYTES >= 2 * (int)AUDIT_LINE_BYTES_MAX, "a batch takes a line and more");

struct batch {
    char bytes[BATCH_BYTES];
    size_t len;
    uint64_t lines;
    uint64_t lost;     /* lines that one of its lines tells to be lost */
    uint64_t since_ns; /* when its first line was appended */
};

/* A thread waits for the line that it appended; this is on its stack. */
struct waiter {
    struct waiter *next;
    bool is_done;
    struct err err; /* code != ERR_OK: it was dropped */
};

struct audit {
    struct audit_options options;
    struct audit_files files; /* the writer's, but for syncing */
    pthread_t syncer;
    pthread_mutex_t lock;
    pthread_cond_t changed;  /* a batch was written or dropped */
    pthread_cond_t unsynced; /* something is to be synced, or closing */

    /* Under the lock. */
    struct audit_chain chain, kept;
    struct batch *next, *spare;
    struct waiter *waiting; /* of `next` */
    bool is_writing, is_closing;
    bool must_rotate; /* the newest file is full, or there is none */
    uint64_t
        unsynced_ns; /* when the oldest line that is not synced was appended; 0: there is none */
    uint64_t untold; /* lines that are lost and not yet told in the log */
    struct audit_state state;
    unsigned char key[];
};

/* ---- one batch ---- */

static void tell(struct waiter *list, const struct err *err)
{
    for (struct waiter *next; list != NULL; list = next) {
        next = list->next;
        list->err = *err;
        list->is_done = true;
    }
}

/* Lines that cannot be written: refused, or counted as lost. What those who wait are told. */
static struct err count_locked(struct audit *audit, uint64_t lines, const struct err *err)
{
    struct err outcome = {0};
    if (audit->options.refuse) {
        audit->state.refused += lines;
        err_set(&outcome, ERR_NOT_READY, "%s", err->text);
    } else {
        audit->state.lost += lines;
        audit->untold += lines;
    }
    return outcome;
}

/* Lines of the batch, without the one that tells of lost lines. */
static uint64_t own_lines(const struct batch *batch)
{
    return batch->lines - (batch->lost > 0);
}

static void empty(struct batch *batch)
{
    batch->len = 0;
    batch->lines = batch->lost = 0;
}

/* Without a writer: the files are the writer's. */
static void look_at_file_locked(struct audit *audit)
{
    audit->must_rotate = audit->files.fd < 0 || audit->files.bytes >= audit->options.rotate_bytes;
}

/* Takes `next` and writes it. If it cannot be written, what was appended since is dropped with it:
 * its chain goes on from the lines that are lost. */
static void lead_locked(struct audit *audit)
{
    struct batch *batch = audit->next;
    struct waiter *waiting = audit->waiting;
    struct audit_chain with = audit->chain;
    struct err err = {0}, outcome = {0};
    audit->next = audit->spare;
    audit->spare = NULL;
    audit->waiting = NULL;
    audit->is_writing = true;
    pthread_mutex_unlock(&audit->lock);
    if (audit_files_write(&audit->files, batch->bytes, batch->len, &err) == ERR_OK &&
        audit->options.sync == AUDIT_EACH && audit_files_sync(&audit->files, &err))
        audit_files_undo(&audit->files, batch->len);
    pthread_mutex_lock(&audit->lock);
    if (err.code != ERR_OK) {
        outcome = count_locked(audit, own_lines(batch) + own_lines(audit->next), &err);
        tell(audit->waiting, &outcome);
        audit->waiting = NULL;
        empty(audit->next);
        audit->chain = audit->kept;
    } else {
        audit->kept = with;
        audit->state.written += batch->lines;
        audit->untold -= batch->lost;
        if (audit->options.sync == AUDIT_GROUP && audit->unsynced_ns == 0) {
            audit->unsynced_ns = batch->since_ns;
            pthread_cond_signal(&audit->unsynced);
        }
    }
    tell(waiting, &outcome);
    empty(batch);
    audit->spare = batch;
    audit->is_writing = false;
    look_at_file_locked(audit);
    pthread_cond_broadcast(&audit->changed);
}

/* ---- rotation ---- */

/* A new file begins with a line of its own: all that was appended is written before. If it cannot
 * be had, the old one goes on. */
static enum err_code rotate_locked(struct audit *audit, struct err *err)
{
    struct audit_chain chain = audit->chain;
    if (audit_files_begin(&audit->files, &chain, err) == ERR_OK) {
        audit->chain = audit->kept = chain;
        audit->unsynced_ns = 0;
    } else if (audit->files.fd >= 0)
        *err = (struct err){0};
    look_at_file_locked(audit);
    return err->code;
}

/* ---- appending ---- */

static void put_locked(struct audit *audit, const struct audit_members *line)
{
    struct batch *batch = audit->next;
    if (batch->len == 0)
        batch->since_ns = clock_now_ns();
    batch->len += audit_chain_seal(&audit->chain, line->text, line->len, batch->bytes + batch->len);
    batch->lines++;
}

/* Before a line goes in, those that were lost are told. */
static void put_lost_locked(struct audit *audit)
{
    char members[64];
    if (audit->untold == 0 || audit->next->lost > 0 || audit->is_writing)
        return;
    int len = snprintf(members, sizeof members, "\"type\":\"lost\",\"lines\":%llu",
                       (unsigned long long)audit->untold);
    put_locked(audit, &(struct audit_members){members, (size_t)len});
    audit->next->lost = audit->untold;
}

static bool has_room(const struct batch *batch, size_t len)
{
    return BATCH_BYTES - batch->len >= len + AUDIT_SEAL_BYTES + LOST_LINE_BYTES;
}

/* Until this thread, or another, has written what was appended. */
static void step_locked(struct audit *audit)
{
    if (audit->is_writing)
        pthread_cond_wait(&audit->changed, &audit->lock);
    else
        lead_locked(audit);
}

/* Appends as many of the lines as fit into one batch, but at least one: they are in the log or
 * dropped (waiter.err). Returns how many. */
static unsigned append_locked(struct audit *audit, const struct audit_members *lines,
                              unsigned count, struct waiter *waiter)
{
    unsigned done = 0;
    while (!has_room(audit->next, lines->len) ||
           (audit->must_rotate && (audit->is_writing || audit->next->len > 0)))
        step_locked(audit);
    if (audit->must_rotate && rotate_locked(audit, &waiter->err)) {
        waiter->err = count_locked(audit, count, &waiter->err);
        return count;
    }
    put_lost_locked(audit);
    while (done < count && has_room(audit->next, lines[done].len))
        put_locked(audit, &lines[done++]);
    waiter->next = audit->waiting;
    audit->waiting = waiter;
    while (!waiter->is_done)
        step_locked(audit);
    return done;
}

enum err_code audit_append(struct audit *audit, const struct audit_members *lines, unsigned count,
                           struct err *err)
{
    for (unsigned i = 0; i < count; i++)
        if (lines[i].len > AUDIT_LINE_BYTES_MAX - AUDIT_SEAL_BYTES)
            return err_set(err, ERR_INTERNAL, "a line of the audit log is longer than %d bytes",
                           AUDIT_LINE_BYTES_MAX);
    pthread_mutex_lock(&audit->lock);
    for (unsigned done = 0; done < count && err->code == ERR_OK;) {
        struct waiter waiter = {.is_done = false};
        done += append_locked(audit, lines + done, count - done, &waiter);
        if (waiter.err.code != ERR_OK)
            err_set(err, waiter.err.code, "%s", waiter.err.text);
    }
    pthread_mutex_unlock(&audit->lock);
    return err->code;
}

/* ---- the thread that syncs and expires ---- */

static void wait_ms_locked(struct audit *audit, unsigned ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    long ns = at.tv_nsec + (long)(ms % 1000) * CLOCK_NS_PER_MS;
    at.tv_sec += (time_t)(ms / 1000) + ns / CLOCK_NS_PER_S;
    at.tv_nsec = ns % CLOCK_NS_PER_S;
    pthread_cond_timedwait(&audit->unsynced, &audit->lock, &at);
}

/* That lines are gone stands in the log itself. Files that stay for another day are unusual: a long
 * pause, or a clock that is wrong. */
static void expire_locked(struct audit *audit)
{
    char members[64];
    if (audit->options.keep_days == 0)
        return;
    pthread_mutex_unlock(&audit->lock);
    const struct audit_expiry expiry = audit_files_expire(&audit->files, audit->options.keep_days);
    if (expiry.removed > 0) {
        const int len =
            snprintf(members, sizeof members, "\"type\":\"expired\",\"files\":%u", expiry.removed);
        log_event(expiry.later > 0 ? LOG_WARN : LOG_INFO, "audit_expired",
                  LOG_NUMBER("files", expiry.removed), LOG_NUMBER("later", expiry.later));
        audit_append(audit, &(struct audit_members){members, (size_t)len}, 1, &(struct err){0});
    }
    pthread_mutex_lock(&audit->lock);
}

/* A line is synced half the promised time after it was written, so that the sync may take the rest;
 * until then more come to it. */
static void *run_syncer(void *context)
{
    struct audit *audit = context;
    uint64_t expired_ns = 0;
    pthread_mutex_lock(&audit->lock);
    while (!audit->is_closing) {
        if (expired_ns == 0 || clock_now_ns() - expired_ns > EXPIRE_EVERY_NS) {
            expire_locked(audit);
            expired_ns = clock_now_ns();
        }
        if (audit->unsynced_ns == 0)
            wait_ms_locked(audit, EXPIRE_EVERY_MS);
        if (audit->is_closing || audit->unsynced_ns == 0)
            continue;
        wait_ms_locked(audit, AUDIT_GROUP_MS / 2);
        struct err err = {0};
        const uint64_t since_ns = audit->unsynced_ns;
        audit->unsynced_ns = 0;
        pthread_mutex_unlock(&audit->lock);
        audit_files_sync(&audit->files, &err);
        pthread_mutex_lock(&audit->lock);
        if (err.code != ERR_OK) /* the lag goes on growing, and the next turn tries again */
            audit->unsynced_ns = since_ns;
    }
    pthread_mutex_unlock(&audit->lock);
    return NULL;
}

/* ---- open and close ---- */

static void audit_free(struct audit *audit)
{
    pthread_cond_destroy(&audit->unsynced);
    pthread_cond_destroy(&audit->changed);
    pthread_mutex_destroy(&audit->lock);
    free(audit->next);
    free(audit->spare);
    free(audit);
}

/* With a copy of the key, in constant memory as long as the audit lives. */
static struct audit *audit_alloc(const struct audit_options *options, struct err *err)
{
    size_t bytes = sizeof(struct audit) + options->key.len;
    struct audit *audit = calloc(1, bytes);
    pthread_condattr_t monotonic;
    if (audit == NULL) {
        err_no_memory(err, bytes);
        return NULL;
    }
    audit->options = *options;
    if (options->key.bytes != NULL)
        audit->options.key.bytes = memcpy(audit->key, options->key.bytes, options->key.len);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&audit->lock, NULL);
    pthread_cond_init(&audit->changed, NULL);
    pthread_cond_init(&audit->unsynced, &monotonic);
    pthread_condattr_destroy(&monotonic);
    audit->next = calloc(1, sizeof *audit->next);
    audit->spare = calloc(1, sizeof *audit->spare);
    if (audit->next != NULL && audit->spare != NULL)
        return audit;
    audit_free(audit);
    err_no_memory(err, sizeof *audit->next);
    return NULL;
}

enum err_code audit_open(struct audit **out, const struct audit_options *options, struct err *err)
{
    struct audit *audit = audit_alloc(options, err);
    *out = NULL;
    if (audit == NULL)
        return err->code;
    audit_chain_init(&audit->chain, audit->options.key);
    if (audit_files_open(&audit->files, options->dir, options->lock_wait_ms, &audit->chain,
                         &audit->state.cut_bytes, err)) {
        audit_free(audit);
        return err->code;
    }
    if (audit->files.fd < 0 && audit_files_begin(&audit->files, &audit->chain, err))
        goto out;
    audit->kept = audit->chain;
    look_at_file_locked(audit);
    int failure = pthread_create(&audit->syncer, NULL, run_syncer, audit);
    if (failure == 0)
        *out = audit;
    else
        err_no_thread(err, failure);
out:
    if (*out == NULL) {
        audit_files_close(&audit->files);
        audit_free(audit);
    }
    return err->code;
}

void audit_close(struct audit *audit)
{
    struct err ignored = {0};
    if (audit == NULL)
        return;
    pthread_mutex_lock(&audit->lock);
    audit->is_closing = true;
    pthread_cond_signal(&audit->unsynced);
    pthread_mutex_unlock(&audit->lock);
    pthread_join(audit->syncer, NULL);
    if (audit->options.sync != AUDIT_NONE)
        audit_files_sync(&audit->files, &ignored);
    audit_files_close(&audit->files);
    audit_free(audit);
}

struct audit_state audit_state(struct audit *audit)
{
    pthread_mutex_lock(&audit->lock);
    struct audit_state state = audit->state;
    state.seq = audit->kept.seq;
    memcpy(state.head, audit->kept.head, sizeof state.head);
    uint64_t since = audit->unsynced_ns;
    if (since == 0 && audit->is_writing && audit->next->len > 0)
        since = audit->next->since_ns;
    pthread_mutex_unlock(&audit->lock);
    state.lag_s = since != 0 ? clock_ms_between(since, clock_now_ns()) / 1000 : 0;
    return state;
}
