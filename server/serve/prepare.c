/* prepare.c - see prepare.h.
 *
 * The backlog is counted per kind: units that wait or are in work, times the nanoseconds that one
 * takes. That estimate must rise fast, for many of the slowest images may come at once and each
 * takes seconds: it rises with the first piece of work that was slower, fourfold at most, so that
 * one stall does not count for long, and falls by an eighth of the difference with each that was
 * faster. Work that was not finished (a damaged image, a deadline) tells only that its units take
 * at least so long. A pixel takes 1 to 5 ns to decode from a BMP, 12 from a PNG of one grey value,
 * 71 from a progressive JPEG of noise and 78 from a PNG of 16-bit colours.
 */
#include "server/serve/prepare.h"

#include "engine/base/clock.h"
#include "server/serve/throughput.h"
#include "wire/limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RISE_MAX = 4, FALL_PARTS = 8 };
enum { BESIDE = 2 }; /* threads that have one kind of work only */

/* The backlog of one kind of work. */
struct lane {
    uint64_t units; /* waiting and in work */
    double ns_per_unit;
};

/* Before anything is measured. */
static const struct lane lanes_first[PREPARE_KINDS] = {
    [PREPARE_READ] = {.ns_per_unit = 10},
    [PREPARE_INPUTS] = {.ns_per_unit = 50},
    [PREPARE_EXPLAIN] = {.ns_per_unit = 200},
    [PREPARE_SIMILAR] = {.ns_per_unit = 50},
    [PREPARE_REPLY] = {.ns_per_unit = 10},
    [PREPARE_LABELS] = {.ns_per_unit = 5000 * 1000},
    [PREPARE_GROUPS] = {.ns_per_unit = 100 * 1000},
    [PREPARE_KEPT] = {.ns_per_unit = 100 * 1000 * 1000},
};

struct list {
    struct request *first, *last; /* linked by task.next */
};

struct prepare {
    bool (*work)(void *context, struct request *request); /* immutable, as context */
    void *context;
    unsigned wait_ms_max; /* immutable once used; 0: no bound */
    unsigned width;       /* immutable: threads beside the reader and the labeller */
    pthread_mutex_t lock;
    pthread_cond_t filled; /* with lock: a list became longer, or stopping was set */
    /* Under lock. */
    struct list unread, labels, other;
    struct lane lanes[PREPARE_KINDS];
    bool stopping;
    /* Fields of the main thread. */
    pthread_t *threads; /* [started]; the first is the reader, the second the labeller */
    unsigned started;
};

/* ---- the lists ---- */

static void append_locked(struct list *list, struct request *request)
{
    request->task.next = NULL;
    if (list->first == NULL)
        list->first = request;
    else
        list->last->task.next = request;
    list->last = request;
}

/* The work of a thread; the labeller also groups. */
enum role { READER, LABELLER, PREPARER };

/* The list of a thread's next request, if there is any: the reader only reads, the labeller only
 * encodes labels, the others read when they have no other work. */
static struct list *list_locked(struct prepare *prepare, enum role role)
{
    if (role == LABELLER)
        return &prepare->labels;
    return role == READER || prepare->other.first == NULL ? &prepare->unread : &prepare->other;
}

/* The next request and its task; NULL when the pool stops and none waits for this thread. */
static struct request *take(struct prepare *prepare, enum role role, struct request_task *task)
{
    struct list *list;
    pthread_mutex_lock(&prepare->lock);
    while (list = list_locked(prepare, role), list->first == NULL && !prepare->stopping)
        pthread_cond_wait(&prepare->filled, &prepare->lock);
    struct request *request = list->first;
    if (request != NULL) {
        *task = request->task;
        list->first = task->next;
    }
    pthread_mutex_unlock(&prepare->lock);
    return request;
}

/* ---- the backlog ---- */

static double lane_ms_locked(const struct prepare *prepare, int kind)
{
    return prepare->lanes[kind].ns_per_unit * (double)prepare->lanes[kind].units / CLOCK_NS_PER_MS;
}

/* True if the labeller does this kind of work. */
static bool is_aside(int kind)
{
    return kind == PREPARE_LABELS || kind == PREPARE_GROUPS || kind == PREPARE_KEPT;
}

/* The time that work already queued takes before more work of that kind. The labeller's work waits
 * only for itself, and no other work waits for it. */
static double wait_ms_locked(const struct prepare *prepare, enum prepare_kind wanted)
{
    double ms = 0;
    if (prepare->wait_ms_max == 0)
        return 0;
    for (int kind = 0; kind < PREPARE_KINDS; kind++)
        ms += is_aside(kind) == is_aside(wanted) ? lane_ms_locked(prepare, kind) : 0;
    return is_aside(wanted) ? ms : ms / prepare->width;
}

static void learn_locked(struct lane *lane, uint64_t units, uint64_t ns, bool finished)
{
    double measured = (double)ns / (double)(units > 0 ? units : 1);
    double most = RISE_MAX * lane->ns_per_unit;
    if (measured > lane->ns_per_unit)
        lane->ns_per_unit = measured < most ? measured : most;
    else if (finished)
        lane->ns_per_unit -= (lane->ns_per_unit - measured) / FALL_PARTS;
}

static void settle(struct prepare *prepare, const struct request_task *task, uint64_t ns,
                   bool finished)
{
    struct lane *lane = &prepare->lanes[task->kind];
    pthread_mutex_lock(&prepare->lock);
    lane->units -= task->units;
    learn_locked(lane, task->units, ns, finished);
    pthread_mutex_unlock(&prepare->lock);
}

unsigned prepare_retry_after_s(struct prepare *prepare)
{
    pthread_mutex_lock(&prepare->lock);
    double wait_ms = wait_ms_locked(prepare, PREPARE_INPUTS);
    double labels_ms = wait_ms_locked(prepare, PREPARE_LABELS);
    double over_ms = (labels_ms > wait_ms ? labels_ms : wait_ms) - prepare->wait_ms_max;
    pthread_mutex_unlock(&prepare->lock);
    return throughput_retry_after_s(over_ms);
}

/* ---- the threads ---- */

static void run(struct prepare *prepare, enum role role)
{
    struct request_task task;
    for (struct request *request; (request = take(prepare, role, &task)) != NULL;) {
        uint64_t start = clock_now_ns();
        bool finished = prepare->work(prepare->context, request);
        settle(prepare, &task, clock_now_ns() - start, finished);
    }
}

static void *reader_main(void *context)
{
    run(context, READER);
    return NULL;
}

static void *labeller_main(void *context)
{
    run(context, LABELLER);
    return NULL;
}

static void *prepare_main(void *context)
{
    run(context, PREPARER);
    return NULL;
}

static enum err_code spawn(struct prepare *prepare, struct err *err)
{
    static void *(*const mains[])(void *) = {reader_main, labeller_main, prepare_main};
    for (; prepare->started < prepare->width + BESIDE; prepare->started++) {
        const unsigned role = prepare->started < BESIDE ? prepare->started : BESIDE;
        int failure =
            pthread_create(&prepare->threads[prepare->started], NULL, mains[role], prepare);
        if (failure != 0)
            return err_no_thread(err, failure);
    }
    return ERR_OK;
}

enum err_code prepare_start(struct prepare **out, unsigned threads,
                            bool (*work)(void *context, struct request *request), void *context,
                            struct err *err)
{
    *out = NULL;
    struct prepare *prepare = calloc(1, sizeof *prepare);
    if (prepare == NULL)
        return err_no_memory(err, sizeof *prepare);
    prepare->work = work;
    prepare->context = context;
    prepare->width = threads;
    memcpy(prepare->lanes, lanes_first, sizeof prepare->lanes);
    pthread_mutex_init(&prepare->lock, NULL);
    pthread_cond_init(&prepare->filled, NULL);
    prepare->threads = calloc(threads + BESIDE, sizeof *prepare->threads);
    if (prepare->threads == NULL)
        err_no_memory(err, (threads + BESIDE) * sizeof *prepare->threads);
    else if (!spawn(prepare, err)) {
        *out = prepare;
        return ERR_OK;
    }
    prepare_stop(prepare);
    prepare_free(prepare);
    return err->code;
}

void prepare_limit_wait(struct prepare *prepare, unsigned wait_ms_max)
{
    prepare->wait_ms_max = wait_ms_max;
}

static const char *backlog_of(enum prepare_kind kind)
{
    return kind == PREPARE_LABELS                            ? "labels that wait to be encoded"
           : kind == PREPARE_GROUPS                          ? "inputs that wait to be grouped"
           : kind == PREPARE_SIMILAR || kind == PREPARE_KEPT ? "searches for near inputs that wait"
                                                             : "inputs that wait to be prepared";
}

static struct list *list_of(struct prepare *prepare, enum prepare_kind kind)
{
    return kind == PREPARE_READ ? &prepare->unread
           : is_aside(kind)     ? &prepare->labels
                                : &prepare->other;
}

static enum err_code submit(struct prepare *prepare, struct request *request,
                            enum prepare_kind kind, uint64_t units, bool is_admitted,
                            struct err *err)
{
    pthread_mutex_lock(&prepare->lock);
    double wait_ms = is_admitted ? 0 : wait_ms_locked(prepare, kind);
    bool stopping = prepare->stopping, full = wait_ms > prepare->wait_ms_max;
    if (!stopping && !full) {
        request->task = (struct request_task){.kind = kind, .units = units};
        append_locked(list_of(prepare, kind), request);
        prepare->lanes[kind].units += units;
    }
    pthread_mutex_unlock(&prepare->lock);
    pthread_cond_broadcast(&prepare->filled); /* not every thread would take it */
    if (stopping)
        return err_set(err, ERR_NOT_READY, "the server is stopping");
    if (full)
        return err_set(err, ERR_QUEUE_FULL,
                       "the %s are about %.1f s of work, more than the queue's %.1f s",
                       backlog_of(kind), wait_ms / 1000, prepare->wait_ms_max / 1000.0);
    return ERR_OK;
}

enum err_code prepare_submit(struct prepare *prepare, struct request *request,
                             enum prepare_kind kind, uint64_t units, struct err *err)
{
    return submit(prepare, request, kind, units, kind == PREPARE_EXPLAIN, err);
}

enum err_code prepare_continue(struct prepare *prepare, struct request *request,
                               enum prepare_kind kind, uint64_t units, struct err *err)
{
    return submit(prepare, request, kind, units, true, err);
}

void prepare_stop(struct prepare *prepare)
{
    if (prepare == NULL)
        return;
    pthread_mutex_lock(&prepare->lock);
    prepare->stopping = true;
    pthread_mutex_unlock(&prepare->lock);
    pthread_cond_broadcast(&prepare->filled);
    for (; prepare->started > 0; prepare->started--)
        pthread_join(prepare->threads[prepare->started - 1], NULL);
}

void prepare_free(struct prepare *prepare)
{
    if (prepare == NULL)
        return;
    pthread_cond_destroy(&prepare->filled);
    pthread_mutex_destroy(&prepare->lock);
    free(prepare->threads);
    free(prepare);
}
