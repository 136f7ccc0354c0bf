/* batcher.c - see batcher.h.
 *
 * The queue is an array of entries sorted by (due, arrival), of the queue's largest size, allocated
 * once at start. A heap would make the first row cheap but not the rest: filling a batch walks the
 * rows in order, which is fast in an array. Insertion is a binary search and a memmove of at most
 * limit x 40 bytes, a take is one pass that closes the gaps behind it. With 1024 entries both stay
 * far under 50 us (measured by tests/unit/server/serve/test_batcher.c), and a list would spend as
 * much on cache misses. What the walk needs of a row (model, tokens) is copied into the entry, so
 * that it touches only the rows that it takes.
 *
 * Numbered invariants, true whenever the lock is free:
 *   1. entries[0 .. count) are sorted by due, then by arrival.
 *   2. count + reserved <= limit, so that a submit never fails for want of room.
 *   3. a model's lane counts its entries and their tokens; the depths' sum is count. The lanes of
 *      models with entries, and no others, are in the list that begins with waiting.
 *   4. after closed is set, count never grows.
 */
#include "server/serve/batcher.h"

#include "engine/base/clock.h"
#include "server/serve/throughput.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t due_ns;
    struct row *row;
    struct served_model *model;
    unsigned tokens; /* not yet computed; the windows of a text may take several takes */
    unsigned step;   /* of them, the next window's: the least that a take computes */
    bool hurried;    /* its deadline is earlier than BATCHER_PATIENCE_MS after submission */
};

struct batcher {
    unsigned limit;       /* immutable */
    unsigned wait_ms_max; /* immutable once used; 0: no bound */
    unsigned takers;      /* immutable once used */
    pthread_mutex_t lock;
    pthread_cond_t filled; /* with lock: count grew, or closed was set */
    /* Under lock. */
    struct entry *entries; /* [limit], of which count are in use */
    unsigned count;
    unsigned reserved;
    unsigned idle;          /* takers that wait on filled */
    uint64_t batches, rows; /* taken so far */
    bool closed;
    bool hurry_next;      /* the last batch was led by a row that is not hurried */
    struct lane *waiting; /* the lanes in which something waits */
};

enum err_code batch_init(struct batch *batch, unsigned capacity, struct err *err)
{
    *batch = (struct batch){.capacity = capacity};
    batch->rows = calloc(capacity, sizeof *batch->rows);
    batch->expired = calloc(capacity, sizeof *batch->expired);
    if (batch->rows != NULL && batch->expired != NULL)
        return ERR_OK;
    batch_deinit(batch);
    return err_no_memory(err, 2 * capacity * sizeof(struct row *));
}

void batch_deinit(struct batch *batch)
{
    free(batch->rows);
    free(batch->expired);
    *batch = (struct batch){0};
}

enum err_code batcher_open(struct batcher **out, unsigned limit, struct err *err)
{
    struct batcher *batcher = calloc(1, sizeof *batcher);
    *out = batcher;
    if (batcher == NULL)
        return err_no_memory(err, sizeof *batcher);
    batcher->limit = limit;
    pthread_mutex_init(&batcher->lock, NULL);
    pthread_cond_init(&batcher->filled, NULL);
    batcher->entries = calloc(limit, sizeof *batcher->entries);
    if (batcher->entries != NULL)
        return ERR_OK;
    batcher_free(batcher);
    *out = NULL;
    return err_no_memory(err, limit * sizeof(struct entry));
}

void batcher_free(struct batcher *batcher)
{
    if (batcher == NULL)
        return;
    assert(batcher->count == 0 && batcher->idle == 0);
    pthread_cond_destroy(&batcher->filled);
    pthread_mutex_destroy(&batcher->lock);
    free(batcher->entries);
    free(batcher);
}

void batcher_limit_wait(struct batcher *batcher, unsigned wait_ms_max, unsigned takers)
{
    batcher->wait_ms_max = wait_ms_max;
    batcher->takers = takers > 0 ? takers : 1;
}

/* The time to compute all waiting rows; 0 if that is not bounded. */
static double wait_ms_locked(const struct batcher *batcher)
{
    double ns = 0;
    if (batcher->wait_ms_max == 0)
        return 0;
    for (const struct lane *lane = batcher->waiting; lane != NULL; lane = lane->next)
        ns += throughput_ns(&lane->throughput, lane->tokens);
    return ns / CLOCK_NS_PER_MS / batcher->takers;
}

/* The reasons why `count` more rows are accepted or refused. */
struct verdict {
    bool closed;
    unsigned room;
    double wait_ms;
};

static bool judge_locked(const struct batcher *batcher, unsigned count, struct verdict *verdict)
{
    *verdict = (struct verdict){
        .closed = batcher->closed,
        .room = batcher->limit - batcher->count - batcher->reserved,
        .wait_ms = count > 0 ? wait_ms_locked(batcher) : 0,
    };
    return !verdict->closed && count <= verdict->room && verdict->wait_ms <= batcher->wait_ms_max;
}

static enum err_code refuse(const struct batcher *batcher, const struct verdict *verdict,
                            unsigned count, struct err *err)
{
    if (verdict->closed)
        return err_set(err, ERR_NOT_READY, "the server is stopping");
    if (count > verdict->room)
        return err_set(err, ERR_QUEUE_FULL,
                       "the queue has room for %u more inputs of its %u, this request needs %u",
                       verdict->room, batcher->limit, count);
    return err_set(err, ERR_QUEUE_FULL,
                   "the queue holds about %.1f s of work, more than its %.1f s",
                   verdict->wait_ms / 1000, batcher->wait_ms_max / 1000.0);
}

enum err_code batcher_admit(struct batcher *batcher, unsigned count, struct err *err)
{
    struct verdict verdict;
    pthread_mutex_lock(&batcher->lock);
    bool admitted = judge_locked(batcher, count, &verdict);
    pthread_mutex_unlock(&batcher->lock);
    return admitted ? ERR_OK : refuse(batcher, &verdict, count, err);
}

enum err_code batcher_reserve(struct batcher *batcher, unsigned count, struct err *err)
{
    struct verdict verdict;
    pthread_mutex_lock(&batcher->lock);
    bool admitted = judge_locked(batcher, count, &verdict);
    if (admitted)
        batcher->reserved += count;
    pthread_mutex_unlock(&batcher->lock);
    return admitted ? ERR_OK : refuse(batcher, &verdict, count, err);
}

unsigned batcher_retry_after_s(struct batcher *batcher)
{
    pthread_mutex_lock(&batcher->lock);
    double over_ms = wait_ms_locked(batcher) - batcher->wait_ms_max;
    pthread_mutex_unlock(&batcher->lock);
    return throughput_retry_after_s(over_ms);
}

void batcher_computed(struct batcher *batcher, struct served_model *model, unsigned tokens,
                      uint64_t ns)
{
    pthread_mutex_lock(&batcher->lock);
    throughput_add(&model->lane.throughput, tokens, ns);
    pthread_mutex_unlock(&batcher->lock);
}

void batcher_inherit(struct batcher *batcher, struct served_model *model,
                     const struct served_model *from)
{
    pthread_mutex_lock(&batcher->lock);
    model->lane.throughput = from->lane.throughput;
    pthread_mutex_unlock(&batcher->lock);
}

void batcher_release(struct batcher *batcher, unsigned count)
{
    pthread_mutex_lock(&batcher->lock);
    assert(count <= batcher->reserved);
    batcher->reserved -= count;
    pthread_mutex_unlock(&batcher->lock);
}

/* When the row is due: see the order in batcher.h. */
static struct entry entry_of(struct row *row)
{
    const struct engine_result *result = &row->answer.result;
    const unsigned windows = result->windows_done, done = windows + result->written;
    const unsigned step = engine_step_tokens(&row->input, result);
    uint64_t patience = row->submitted_ns + (uint64_t)BATCHER_PATIENCE_MS * CLOCK_NS_PER_MS;
    uint64_t turn = patience + done * (uint64_t)BATCHER_WINDOW_MS * CLOCK_NS_PER_MS;
    bool hurried = row->deadline_ns != 0 && row->deadline_ns < patience;
    bool is_bound = row->deadline_ns != 0 && row->deadline_ns < turn;
    return (struct entry){
        .due_ns = is_bound ? row->deadline_ns : turn,
        .row = row,
        .model = row->model,
        .tokens = row->input.windows > 0
                      ? engine_input_tokens(&row->input, windows, row->input.windows - windows)
                      : step,
        .step = step,
        .hurried = hurried};
}

static void insert_locked(struct batcher *batcher, struct row *row)
{
    struct entry entry = entry_of(row);
    /* behind every entry that is due at the same time or earlier */
    unsigned place = 0, high = batcher->count;
    while (place < high) {
        unsigned middle = place + (high - place) / 2;
        if (batcher->entries[middle].due_ns <= entry.due_ns)
            place = middle + 1;
        else
            high = middle;
    }
    struct entry *at = &batcher->entries[place];
    memmove(at + 1, at, (batcher->count - place) * sizeof *at);
    *at = entry;
    batcher->count++;
    struct lane *lane = &row->model->lane;
    lane->tokens += entry.tokens;
    if (lane->depth++ > 0)
        return;
    lane->previous = NULL;
    lane->next = batcher->waiting;
    if (lane->next != NULL)
        lane->next->previous = lane;
    batcher->waiting = lane;
}

/* An entry leaves; closing the gap is the caller's. */
static void leave_locked(struct batcher *batcher, const struct entry *entry)
{
    struct lane *lane = &entry->model->lane;
    lane->tokens -= entry->tokens;
    if (--lane->depth > 0)
        return;
    if (lane->next != NULL)
        lane->next->previous = lane->previous;
    if (lane->previous != NULL)
        lane->previous->next = lane->next;
    else
        batcher->waiting = lane->next;
}

bool batcher_submit(struct batcher *batcher, struct row *const *rows, unsigned count)
{
    uint64_t now = clock_now_ns();
    for (unsigned i = 0; i < count; i++)
        if (rows[i]->answer.result.windows_done == 0)
            rows[i]->submitted_ns = now;
    pthread_mutex_lock(&batcher->lock);
    assert(count <= batcher->reserved);
    batcher->reserved -= count;
    bool accepted = !batcher->closed;
    for (unsigned i = 0; accepted && i < count; i++)
        insert_locked(batcher, rows[i]);
    pthread_mutex_unlock(&batcher->lock);
    pthread_cond_signal(&batcher->filled); /* a taker that leaves rows behind wakes the next */
    return accepted;
}

/* An entry due later cannot have expired: nothing is due after its deadline. */
static bool has_expired(const struct entry *entry, uint64_t now)
{
    return entry->due_ns <= now && entry->row->deadline_ns != 0 && entry->row->deadline_ns <= now;
}

/* The entry that leads the next batch, the first in order or, in turns, the first hurried one;
 * count if all have expired. */
static unsigned lead_locked(const struct batcher *batcher, uint64_t now)
{
    unsigned lead = batcher->count;
    for (unsigned i = 0; i < batcher->count; i++) {
        const struct entry *entry = &batcher->entries[i];
        if (has_expired(entry, now))
            continue;
        if (!batcher->hurry_next || entry->hurried)
            return i;
        if (lead == batcher->count)
            lead = i;
    }
    return lead;
}

/* How many tokens of rows this taker may have of the model of entry `lead`, with which its batch
 * begins: all that fit, or, while others wait idle, its part of what there is, so that two inputs
 * and two workers make two batches. A row counts with its next step. */
static unsigned budget_locked(const struct batcher *batcher, unsigned lead)
{
    struct served_model *model = batcher->entries[lead].model;
    size_t steps = 0;
    if (batcher->idle == 0)
        return model->batch_tokens;
    for (unsigned i = 0; i < batcher->count; i++)
        steps += batcher->entries[i].model == model ? batcher->entries[i].step : 0;
    size_t share = steps / (batcher->idle + 1) + 1;
    if (share < BATCHER_SHARE_TOKENS_MIN)
        share = BATCHER_SHARE_TOKENS_MIN;
    return share < model->batch_tokens ? (unsigned)share : model->batch_tokens;
}

struct fill {
    struct batch *batch;
    struct served_model *model; /* NULL: nothing is to be computed */
    unsigned budget;
    uint64_t now_ns;
};

/* Adds the entry to the batch if it fits. True if it did: the entry then leaves the queue. */
static bool fill_with(struct fill *fill, const struct entry *entry)
{
    struct batch *batch = fill->batch;
    if (has_expired(entry, fill->now_ns)) {
        if (batch->expired_count == batch->capacity)
            return false;
        batch->expired[batch->expired_count++] = entry->row;
        return true;
    }
    if (entry->model != fill->model || batch->row_count == batch->capacity ||
        batch->tokens >= fill->budget || entry->step > fill->budget - batch->tokens)
        return false;
    batch->rows[batch->row_count++] = entry->row;
    batch->tokens += entry->step;
    return true;
}

/* Gives the room that is left to further windows of the batch's rows. Rows with windows keep their
 * place reserved. */
static void extend_locked(struct batcher *batcher, const struct fill *fill)
{
    struct batch *batch = fill->batch;
    const unsigned most = fill->model != NULL ? fill->model->batch_tokens : 0;
    for (unsigned i = 0; i < batch->row_count; i++) {
        struct row *row = batch->rows[i];
        struct engine_result *result = &row->answer.result;
        result->step = 1;
        batcher->reserved += row_has_steps(row);
        while (result->windows_done + result->step < row->input.windows) {
            const unsigned next = result->windows_done + result->step;
            const unsigned more = engine_input_tokens(&row->input, next, 1);
            if (batch->tokens >= most || more > most - batch->tokens)
                break;
            batch->tokens += more;
            result->step++;
        }
    }
}

/* One pass in order; entries that stay move up into the gaps behind it. */
static void take_locked(struct batcher *batcher, unsigned lead, uint64_t now_ns,
                        struct batch *batch)
{
    struct fill fill = {.batch = batch, .now_ns = now_ns};
    unsigned kept = 0;
    if (lead < batcher->count) {
        /* the first row is in whatever its size; the capacity of a batch is at least one */
        const struct entry *entry = &batcher->entries[lead];
        fill.model = entry->model;
        fill.budget = budget_locked(batcher, lead);
        batch->rows[batch->row_count++] = entry->row;
        batch->tokens = entry->step;
        batcher->hurry_next = !entry->hurried;
    }
    for (unsigned i = 0; i < batcher->count; i++) {
        if (i == lead || fill_with(&fill, &batcher->entries[i]))
            leave_locked(batcher, &batcher->entries[i]);
        else
            batcher->entries[kept++] = batcher->entries[i];
    }
    batcher->count = kept;
    extend_locked(batcher, &fill);
    batcher->batches++;
    batcher->rows += batch->row_count;
}

static void tell_expired(const struct batch *batch)
{
    for (unsigned i = 0; i < batch->expired_count; i++) {
        struct row *row = batch->expired[i];
        if (row->answer.result.written > 0)
            err_set(&row->err, ERR_DEADLINE,
                    "the deadline passed while the text was written, after %u token%s",
                    row->answer.result.written, row->answer.result.written == 1 ? "" : "s");
        else
            err_set(&row->err, ERR_DEADLINE,
                    "the deadline passed while the input waited in the queue");
    }
}

bool batcher_take(struct batcher *batcher, struct batch *batch)
{
    batch->row_count = batch->expired_count = batch->tokens = 0;
    pthread_mutex_lock(&batcher->lock);
    while (batcher->count == 0 && !batcher->closed) {
        batcher->idle++;
        pthread_cond_wait(&batcher->filled, &batcher->lock);
        batcher->idle--;
    }
    bool any = batcher->count > 0;
    const uint64_t now = clock_now_ns();
    if (any)
        take_locked(batcher, lead_locked(batcher, now), now, batch);
    bool more = batcher->count > 0 && batcher->idle > 0;
    pthread_mutex_unlock(&batcher->lock);
    if (more)
        pthread_cond_signal(&batcher->filled);
    tell_expired(batch);
    return any;
}

bool batcher_take_between(struct batcher *batcher, const struct served_model *running,
                          struct batch *batch)
{
    const uint64_t now = clock_now_ns();
    unsigned lead = 0;
    batch->row_count = batch->expired_count = batch->tokens = 0;
    pthread_mutex_lock(&batcher->lock);
    for (; lead < batcher->count; lead++) {
        const struct entry *entry = &batcher->entries[lead];
        if (entry->model != running && entry->model->info->task != ENGINE_GENERATE &&
            !has_expired(entry, now))
            break;
    }
    const bool any = lead < batcher->count;
    if (any)
        take_locked(batcher, lead, now, batch);
    pthread_mutex_unlock(&batcher->lock);
    tell_expired(batch);
    return any;
}

void batcher_close(struct batcher *batcher)
{
    pthread_mutex_lock(&batcher->lock);
    batcher->closed = true;
    pthread_mutex_unlock(&batcher->lock);
    pthread_cond_broadcast(&batcher->filled);
}

unsigned batcher_flush(struct batcher *batcher, struct row **rows, unsigned max)
{
    pthread_mutex_lock(&batcher->lock);
    unsigned taken = batcher->count < max ? batcher->count : max;
    for (unsigned i = 0; i < taken; i++) {
        rows[i] = batcher->entries[i].row;
        leave_locked(batcher, &batcher->entries[i]);
    }
    batcher->count -= taken;
    memmove(batcher->entries, batcher->entries + taken, batcher->count * sizeof *batcher->entries);
    pthread_mutex_unlock(&batcher->lock);
    return taken;
}

struct batcher_progress batcher_progress(struct batcher *batcher)
{
    pthread_mutex_lock(&batcher->lock);
    const struct batcher_progress now = {
        .waiting = batcher->count, .batches = batcher->batches, .rows = batcher->rows};
    pthread_mutex_unlock(&batcher->lock);
    return now;
}

unsigned batcher_idle(struct batcher *batcher)
{
    pthread_mutex_lock(&batcher->lock);
    unsigned idle = batcher->idle;
    pthread_mutex_unlock(&batcher->lock);
    return idle;
}

unsigned batcher_depth(struct batcher *batcher, const struct served_model *model)
{
    pthread_mutex_lock(&batcher->lock);
    unsigned depth = model->lane.depth;
    pthread_mutex_unlock(&batcher->lock);
    return depth;
}
